from pathlib import Path

import numpy as np
import pytest

from dynamo_regime.control import PRESETS, Controller, Mode
from dynamo_regime.control.checked import ConfigurationError, validated
from dynamo_regime.errors import InputError
from dynamo_regime.sim import RIVALS, Cluster, RouterSettings, Simulation, Toll, simulate
from dynamo_regime.sim.workload import Trace
from dynamo_regime.sim.workload.mooncake import conversation
from dynamo_regime.study.policy import parse_policy
from dynamo_regime.study.scenarios import judged_by, tuned_on
from tests.unit.sim.runs import steady


@pytest.mark.parametrize("name", ["toll", *RIVALS])
def test_every_policy_that_has_a_name_routes_every_request(name: str) -> None:
    policy = parse_policy(name, Path())
    router = RouterSettings(toll=policy.toll, rival=policy.rival)
    workload = steady(4, 5.0)
    outcome = simulate(Simulation(Cluster.parse("2P/2D"), router, workload))
    assert outcome.summary.completed == outcome.summary.arrived > 0


def test_a_router_is_no_rival_and_the_toll_at_once() -> None:
    with pytest.raises(ConfigurationError, match="toll and rival are both given: leave one out"):
        validated(RouterSettings, {"toll": Toll(), "rival": "lmetric"}, "router")


def test_a_rival_has_nothing_to_swap() -> None:
    simulation = Simulation(Cluster.parse("2"), RouterSettings(rival="lmetric"), steady(4, 5.0))
    controller = Controller(mode=Mode.ACT, profile=PRESETS["measured"])
    with pytest.raises(InputError, match="lmetric, which has no τ and ω to swap"):
        simulate(simulation, controller=controller)


def test_the_conversation_trace_is_split_between_tuning_and_judging() -> None:
    tuned = next(each.workload for each in tuned_on() if each.name == "conversation ×1")
    judged = next(each.workload for each in judged_by() if each.name == "conversation ×1")
    assert isinstance(tuned, Trace)
    assert isinstance(judged, Trace)
    whole = conversation()
    inputs = np.concatenate((tuned.input_tokens, judged.input_tokens))
    np.testing.assert_array_equal(inputs, whole.input_tokens)
