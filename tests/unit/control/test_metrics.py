"""The page of metrics: what it says, that it is OpenMetrics, bounded, and documented."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from dynamo_regime import Decisions
from dynamo_regime.anarchy.live import LiveAnarchy
from dynamo_regime.control.fleet.participation import Participation
from dynamo_regime.control.metrics import MAX_WORKERS
from dynamo_regime.control.settings import Mode
from tests.unit.admin.two_pools import TwoPools, decisions
from tests.unit.control.fleet.fake_fleet import FakeFleet
from tests.unit.control.live_parts import Rig, rig

parse: Callable[[str], Iterable[Metric]] = text_string_to_metric_families

TABLE = Path(__file__).parents[3] / "docs" / "metrics.md"


def after_a_spike(mode: Mode = Mode.ACT, pools: TwoPools | None = None) -> Rig:
    one = rig(mode, pools)
    one.run(10, backlog_seconds=0.01)
    one.live.override(60.0, "prefill")
    one.run(20, backlog_seconds=30.0)
    return one


def test_the_page_is_open_metrics_and_says_what_is_in_force() -> None:
    one = after_a_spike()
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parse(one.metrics.page().decode())
        for sample in family.samples
    }
    weight = "dynamo_regime_policy_prefill_weight"
    assert samples[weight, (("instance", "cold"), ("pool", "prefill"))] == 2.0
    assert samples[weight, (("instance", "wärm"), ("pool", "decode"))] == 0.3
    regime = "dynamo_regime_regime"
    assert samples[regime, ((regime, "saturated"),)] == 1.0
    assert samples[regime, ((regime, "normal"),)] == 0.0
    change = (("after", "transition"), ("before", "normal"), ("cause", "load"))
    assert samples["dynamo_regime_transitions_total", change] == 1.0
    assert samples["dynamo_regime_swaps_total", (("pool", "decode"),)] == 3.0
    assert samples["dynamo_regime_detection_delay_seconds_count", ()] == 2.0
    assert 0 < samples["dynamo_regime_detection_delay_seconds_sum", ()] < 10.0
    assert samples["dynamo_regime_override_remaining_seconds", (("pool", "prefill"),)] == 40.0
    assert samples["dynamo_regime_lost_records_total", ()] == 3.0
    share = (("dp_rank", str(2**32 - 1)), ("pool", "prefill"), ("worker_id", str(2**63 + 1)))
    assert samples["dynamo_regime_worker_share_ratio", share] == 1.0
    imbalance = (("load", "prefill_tokens"), ("pool", "prefill"))
    assert samples["dynamo_regime_load_imbalance_ratio", imbalance] == 1.5


def test_shadow_counts_what_it_would_have_swapped() -> None:
    lines = after_a_spike(Mode.SHADOW).lines()
    assert 'dynamo_regime_shadow_swaps_total{pool="decode"} 3.0' in lines
    assert not any(line.startswith("dynamo_regime_swaps_total") for line in lines)


def test_the_time_of_a_choice_is_counted_where_it_was_taken() -> None:
    one = rig(Mode.ACT)
    made = decisions(5)
    made.elapsed_seconds[:] = [2.5e-7, np.nan, 4e-6, np.nan, np.nan]
    one.metrics.decided(made)
    lines = one.lines()
    name = "dynamo_regime_selection_seconds"
    assert f"{name}_count 2.0" in lines
    assert f'{name}_bucket{{le="2e-07"}} 0.0' in lines
    assert f'{name}_bucket{{le="3e-07"}} 1.0' in lines
    assert f'{name}_bucket{{le="5e-06"}} 2.0' in lines


def test_a_dead_controller_is_told() -> None:
    lines = rig(Mode.ACT).lines()
    assert "dynamo_regime_controller_up 0.0" in lines


class ManyWorkers(TwoPools):
    def recent_decisions(self, limit: int) -> Decisions:
        rows = decisions(limit)
        rows.worker_id[:] = np.arange(limit)
        return rows


def test_beyond_so_many_workers_the_others_are_one_series() -> None:
    one = rig(Mode.ACT, ManyWorkers())
    one.run(1, backlog_seconds=0.01)
    shares = [line for line in one.lines() if line.startswith("dynamo_regime_worker_share_ratio{")]
    assert len(shares) == MAX_WORKERS + 1
    [other] = [line for line in shares if 'worker_id="other"' in line]
    assert float(other.split()[-1]) == 1 - MAX_WORKERS / 1_000


def test_every_metric_is_in_the_table_and_nothing_else_is() -> None:
    spiked = after_a_spike()
    anarchy = LiveAnarchy(spiked.finished)
    anarchy.round(0.0)
    spiked.metrics.show(anarchy)
    pages = spiked.lines(), rig(Mode.ACT, fleet=Participation(FakeFleet())).lines()
    served = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for page in pages
        for family in parse("\n".join(page) + "\n")
    }
    documented = set(re.findall(r"^\| `(dynamo_regime_\w+)`", TABLE.read_text(), re.MULTILINE))
    assert served == documented
