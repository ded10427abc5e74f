import dataclasses
import signal
import threading
from typing import Any

import numpy as np
import pytest

from dynamo_regime.errors import InputError
from dynamo_regime.sim import (
    Cluster,
    Engine,
    Lifetime,
    MultiTurn,
    Outcome,
    Pool,
    RouterSettings,
    Simulation,
    Trace,
    simulate,
)
from tests.unit.sim.runs import conversations, prompts, steady

_EIGHT = Cluster.parse("8")
_ENDLESS = steady(8, 1e9)


def _same(left: Outcome, right: Outcome) -> bool:
    columns = zip(left.requests.to_dict().values(), right.requests.to_dict().values(), strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in columns)


@pytest.mark.parametrize("workload", [conversations(200, 3.0), MultiTurn(sessions=60)])
def test_equal_simulations_have_equal_outcomes_bit_for_bit(workload: Trace | MultiTurn) -> None:
    simulation = Simulation(_EIGHT, RouterSettings(temperature=0.5), workload, seed=2**64 - 1)
    first, second = simulate(simulation), simulate(simulation)
    assert _same(first, second)
    assert first.summary == second.summary


def test_another_seed_draws_other_workers() -> None:
    simulation = Simulation(_EIGHT, RouterSettings(temperature=0.5), conversations(200, 3.0))
    assert not _same(simulate(simulation), simulate(dataclasses.replace(simulation, seed=1)))


def test_the_summary_is_that_of_the_requests() -> None:
    outcome = simulate(Simulation(_EIGHT, RouterSettings(), conversations(300, 3.0)))
    requests, summary = outcome.requests, outcome.summary
    assert summary.completed == summary.arrived == len(requests) == 300
    for name in ("ttft_seconds", "itl_seconds", "latency_seconds"):
        column, said = getattr(requests, name), getattr(summary, name)
        column = column[~np.isnan(column)]
        assert said.mean == pytest.approx(column.mean())
        assert said.max == column.max()
        np.testing.assert_allclose(
            [said.p50, said.p90, said.p99], np.quantile(column, [0.5, 0.9, 0.99])
        )
    ends = requests.arrival_seconds + requests.latency_seconds
    assert summary.duration_seconds == pytest.approx(ends.max())
    assert summary.requests_per_second == pytest.approx(300 / ends.max())
    cached = requests.cached_tokens.sum() / requests.input_tokens.sum()
    assert summary.cached_fraction == pytest.approx(cached)


def test_the_requests_are_those_of_the_trace_at_its_speed() -> None:
    trace = conversations(200, 4.0)
    requests = simulate(Simulation(_EIGHT, RouterSettings(), trace)).requests
    np.testing.assert_array_equal(requests.index, np.arange(200))
    np.testing.assert_allclose(requests.arrival_seconds, trace.arrival_seconds / 4.0)
    np.testing.assert_array_equal(requests.input_tokens, trace.input_tokens)
    np.testing.assert_array_equal(requests.output_tokens, trace.output_tokens)


def test_a_concurrency_takes_the_place_of_the_recorded_times() -> None:
    trace = dataclasses.replace(prompts([0.0, 100.0, 200.0, 300.0]), concurrency=1)
    requests = simulate(Simulation(_EIGHT, RouterSettings(), trace)).requests
    ends = requests.arrival_seconds + requests.latency_seconds
    np.testing.assert_allclose(requests.arrival_seconds[1:], ends[:-1])


def test_disaggregated_requests_have_a_worker_of_each_pool() -> None:
    simulation = Simulation(Cluster.parse("2P/3D"), RouterSettings(), conversations(200, 4.0))
    outcome = simulate(simulation)
    assert set(outcome.requests.prefill_worker.tolist()) == {0, 1}
    assert set(outcome.requests.decode_worker.tolist()) == {0, 1, 2}
    pools = [(at.time_seconds, at.policy.pool) for at in outcome.policies]
    assert pools == [(0.0, "prefill"), (0.0, "decode")]


def test_a_worker_that_left_gets_nothing() -> None:
    times = [float(second) for second in range(20)]
    leaves = Lifetime(worker=1, until_seconds=10.0)
    cluster = Cluster(aggregated=Pool(workers=2, lifetimes=(leaves,)))
    requests = simulate(Simulation(cluster, RouterSettings(), prompts(times))).requests
    workers = requests.decode_worker
    assert 1 in workers[:10]
    assert set(workers[10:].tolist()) == {0}


def test_progress_counts_up_in_virtual_time() -> None:
    seen: list[tuple[int, float]] = []
    simulation = Simulation(_EIGHT, RouterSettings(), conversations(200, 4.0))
    simulate(simulation, progress=lambda finished, seconds: seen.append((finished, seconds)))
    assert [finished for finished, _ in seen] == [64, 128, 192]
    assert seen == sorted(seen, key=lambda step: step[1])


def test_an_exception_in_progress_ends_the_run_and_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        simulate(
            Simulation(_EIGHT, RouterSettings(), _ENDLESS),
            progress=lambda finished, _: print(finished // 0),
        )


def test_ctrl_c_ends_a_run() -> None:
    simulation = Simulation(_EIGHT, RouterSettings(), _ENDLESS)
    # What Ctrl-C sends to the process, while it is in the engines. In a job in the background it is
    # ignored, unless somebody asks for it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            simulate(simulation)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_other_threads_go_on_meanwhile() -> None:
    simulation = Simulation(_EIGHT, RouterSettings(), conversations(600, 1.0))
    thread = threading.Thread(target=simulate, args=[simulation])
    thread.start()
    beats = 0
    while thread.is_alive():
        beats += 1
    # With the GIL held, there would be no more than before and after the run.
    assert beats > 1000


def _engine(**arguments: Any) -> Cluster:
    return Cluster.parse("2", Engine(arguments=arguments))


@pytest.mark.parametrize(
    ("simulation", "sentence"),
    [
        (
            Simulation(_engine(block_size=64), RouterSettings(), _ENDLESS),
            "aggregated pool: .*block_size: unknown field",
        ),
        (
            Simulation(_engine(engine={"block_size": 0}), RouterSettings(), _ENDLESS),
            "aggregated pool: .*block_size",
        ),
        (
            Simulation(_EIGHT, RouterSettings(config={"overlap": 1}), _ENDLESS),
            "router configuration: unknown field `overlap`",
        ),
        (
            Simulation(_EIGHT, RouterSettings(config={"overlap_score_credit": -1}), _ENDLESS),
            "router configuration: overlap_score_credit must be",
        ),
        (Simulation(_EIGHT, RouterSettings(), _ENDLESS, seed=-1), "the seed is -1: it must be"),
        (Simulation(_EIGHT, RouterSettings(), _ENDLESS, seed=2**64), "the seed is .* it must be"),
        (
            Simulation(
                Cluster(aggregated=Pool(workers=1, lifetimes=(Lifetime(worker=1),))),
                RouterSettings(),
                _ENDLESS,
            ),
            "worker 1 has a lifetime, but the aggregated pool has workers 0 to 0",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(simulation: Simulation, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as refused:
        simulate(simulation)
    assert "\n" not in str(refused.value)


def test_requests_that_no_engine_can_hold_are_counted() -> None:
    cluster = _engine(engine={"block_size": 64, "num_gpu_blocks": 4})
    trace = dataclasses.replace(prompts([0.0, 1.0], blocks=8), input_tokens=np.array([512, 64]))
    summary = simulate(Simulation(cluster, RouterSettings(), trace)).summary
    assert (summary.arrived, summary.completed, summary.rejected) == (2, 1, 1)
