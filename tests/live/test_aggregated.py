"""Eight aggregated workers behind the linked frontend."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest

from testbed.outcome import Outcome
from testbed.session import Swap
from testbed.topology import Topology
from tests.live.serving import WARM_UP, Served, loyalty, send, serve

pytestmark = pytest.mark.live

REQUESTS = 2_400
SWAP_AT = WARM_UP.requests + 1_200
AFFINITY = Swap(0, temperature=0.0, prefill_weight=100.0)
SPREAD = Swap(SWAP_AT, temperature=10.0, prefill_weight=1.0)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(Topology.parse("8"), AFFINITY.temperature, AFFINITY.prefill_weight) as served:
        yield served


@pytest.fixture(scope="module")
def outcomes(served: Served) -> list[Outcome]:
    return send(served, (AFFINITY, SPREAD), REQUESTS)


def before(outcomes: list[Outcome]) -> list[Outcome]:
    return [one for one in outcomes if one.policy_version == 1 and one.phase == "steady"]


def after(outcomes: list[Outcome]) -> list[Outcome]:
    return [one for one in outcomes if one.policy_version == 2]


def test_no_request_fails_while_the_policy_is_swapped_under_load(outcomes: list[Outcome]) -> None:
    assert [one.failure for one in outcomes if one.failure] == []
    assert len(before(outcomes)) == len(after(outcomes)) == REQUESTS / 2


def test_with_a_large_weight_the_requests_of_one_prefix_stay_on_one_worker(
    outcomes: list[Outcome],
) -> None:
    assert loyalty(before(outcomes)) > 0.8


def test_with_a_high_temperature_they_spread(outcomes: list[Outcome]) -> None:
    assert loyalty(after(outcomes)) < 0.4


def test_with_a_high_temperature_each_worker_has_the_share_that_the_softmax_predicts(
    outcomes: list[Outcome],
) -> None:
    # The dearest of eight workers has weight exp(-1/τ), the cheapest 1, all others between.
    least = math.exp(-1 / SPREAD.temperature)
    low, high = least / (least + 7), 1 / (1 + 7 * least)
    spread = after(outcomes)
    noise = 5 * math.sqrt(high * (1 - high) / len(spread))
    shares = [count / len(spread) for count in Counter(o.prefill_worker for o in spread).values()]
    assert len(shares) == 8
    assert low - noise < min(shares)
    assert max(shares) < high + noise


@pytest.mark.usefixtures("outcomes")
def test_every_decision_after_the_swap_is_by_the_new_policy(served: Served) -> None:
    decisions = served.admin.decisions(limit=1_000)
    assert set(decisions.version[-900:]) == {2}
    assert set(decisions.temperature[-900:]) == {SPREAD.temperature}
    assert all(earlier <= later for earlier, later in pairwise(decisions.version))
    assert set(decisions.pool) == {"aggregated"}


def test_decisions_and_answers_name_the_same_workers(
    served: Served, outcomes: list[Outcome]
) -> None:
    decisions = served.admin.decisions(limit=1_000)
    assert set(decisions.worker_id) == {one.prefill_worker for one in outcomes}
    assert set(decisions.worker_id) == set(served.cluster.worker_ids(served.frontend))
