"""Workers that are lost with what runs on them."""

import dataclasses

import numpy as np
import pytest

from dynamo_regime.control import PRESETS, Controller, Mode
from dynamo_regime.errors import InputError
from dynamo_regime.sim import (
    ClosedLoop,
    Cluster,
    Lifetime,
    Outcome,
    RouterSettings,
    Simulation,
    Trace,
    simulate,
)
from dynamo_regime.sim.workload.mooncake import conversation


def simulation(lifetimes: tuple[Lifetime, ...], topology: str = "3", requests: int = 120):  # type: ignore[no-untyped-def]
    trace = dataclasses.replace(conversation().slice(0, requests), speed=2.0)
    cluster = Cluster.parse(topology)
    name = "aggregated" if cluster.aggregated is not None else "decode"
    pool = getattr(cluster, name).model_copy(update={"lifetimes": lifetimes})
    return Simulation(cluster.model_copy(update={name: pool}), RouterSettings(), trace, seed=1)


def lost(worker: int, time: float) -> Lifetime:
    return Lifetime(worker=worker, until_seconds=time, lost=True)


@pytest.fixture(scope="module")
def whole() -> Outcome:
    return simulate(simulation(()))


@pytest.mark.parametrize("topology", ["3", "1P/3D"])
def test_every_request_is_answered_once_and_nothing_differs_before_the_loss(topology: str) -> None:
    undisturbed = simulate(simulation((), topology))
    time = float(np.median(undisturbed.requests.arrival_seconds)) + 0.01
    hit = simulate(simulation((lost(0, time),), topology))
    assert hit.requests.index.tolist() == list(range(120))
    assert hit.summary.completed == hit.summary.arrived == 120
    assert hit.summary.retried > 0
    before = undisturbed.requests.arrival_seconds + undisturbed.requests.latency_seconds < time
    assert before.sum() > 5
    for name, column in undisturbed.requests.to_dict().items():
        np.testing.assert_allclose(
            getattr(hit.requests, name)[before], column[before], rtol=1e-9, err_msg=name
        )


def test_what_was_on_the_worker_ends_elsewhere_and_later_and_keeps_its_first_token(
    whole: Outcome,
) -> None:
    time = 20.0
    hit = simulate(simulation((lost(0, time),)))
    requests = whole.requests
    end = requests.arrival_seconds + requests.latency_seconds
    was_there = (requests.decode_worker == 0) & (requests.arrival_seconds < time) & (end > time)
    assert was_there.sum() == hit.summary.retried > 0
    assert (hit.requests.decode_worker[was_there] != 0).all()
    late = hit.requests.arrival_seconds + hit.requests.latency_seconds
    assert (late[was_there] > time).all()
    began = was_there & (requests.arrival_seconds + requests.ttft_seconds <= time)
    np.testing.assert_allclose(
        hit.requests.ttft_seconds[began], requests.ttft_seconds[began], rtol=1e-9
    )
    waiting = was_there & ~began
    assert (hit.requests.arrival_seconds + hit.requests.ttft_seconds)[waiting].min(
        initial=time + 1
    ) > time
    np.testing.assert_array_equal(hit.requests.output_tokens, requests.output_tokens)


def test_a_second_loss_hits_what_the_first_sent_anew_and_a_new_worker_takes_over() -> None:
    lifetimes = (lost(0, 15.0), lost(1, 15.5), Lifetime(worker=3, from_seconds=16.0))
    hit = simulate(simulation(lifetimes, "4"))
    assert hit.summary.completed == 120
    assert 3 in hit.requests.decode_worker
    after = hit.requests.arrival_seconds > 15.5
    assert not np.isin(hit.requests.decode_worker[after], [0, 1]).any()


def test_the_same_losses_have_the_same_outcome() -> None:
    one, other = (simulate(simulation((lost(0, 20.0),))) for _ in range(2))
    np.testing.assert_array_equal(one.requests.latency_seconds, other.requests.latency_seconds)
    assert one.summary == other.summary


def test_a_worker_that_leaves_in_peace_finishes_what_it_has() -> None:
    left = simulate(simulation((Lifetime(worker=0, until_seconds=20.0),)))
    assert left.summary.retried == 0
    assert left.summary.completed == 120


def test_what_cannot_lose_workers_is_refused() -> None:
    one = simulation((lost(0, 20.0),))
    with pytest.raises(InputError, match="takes a trace at its recorded times"):
        simulate(dataclasses.replace(one, workload=ClosedLoop()))
    assert isinstance(one.workload, Trace)
    with pytest.raises(InputError, match="takes a trace at its recorded times"):
        simulate(
            dataclasses.replace(one, workload=dataclasses.replace(one.workload, concurrency=4))
        )
    with pytest.raises(InputError, match="leave the controller out"):
        simulate(one, controller=Controller(mode=Mode.ACT, profile=PRESETS["measured"]))
    with pytest.raises(ValueError, match="say when it is lost"):
        Lifetime(worker=0, lost=True)
