import math

import numpy as np
import pytest

from dynamo_regime.control.checked import ConfigurationError, validated
from dynamo_regime.sim import (
    Cluster,
    Engine,
    PoleModel,
    Pool,
    RouterSettings,
    Simulation,
    simulate,
)
from tests.unit.sim.runs import prompts, steady

_CURVE = PoleModel(a=0.002, b=0.03, d=1.5, n_sat=40.0, beta=1.3)


def _curve(requests: float) -> float:
    return 0.002 * requests + 0.03 + 1.5 / math.pow(40.0 - requests, 1.3)


def _engine(latency: PoleModel, prefill_load: str = "pass") -> Engine:
    arguments = {
        "engine": {
            "enable_prefix_caching": False,
            "max_num_seqs": None,
            "max_num_batched_tokens": None,
        }
    }
    return Engine.model_validate(
        {"arguments": arguments, "latency": latency, "prefill_load": prefill_load}
    )


def test_the_curve_is_the_papers_and_grows_no_more_half_a_request_before_the_pole() -> None:
    requests = np.array([[0.0, 1.0], [20.0, 39.0]])
    expected = [[_curve(n) for n in row] for row in requests]
    np.testing.assert_allclose(_CURVE.seconds(requests), expected, rtol=1e-15)
    beyond = _CURVE.seconds([39.5, 40.0, 1000.0]) - 0.002 * np.array([39.5, 40.0, 1000.0])
    np.testing.assert_allclose(beyond, 0.03 + 1.5 / 0.5**1.3)


@pytest.mark.parametrize(
    ("key", "value"), [("a", -1), ("d", math.inf), ("n_sat", 0.5), ("beta", math.nan), ("b", None)]
)
def test_constants_that_no_curve_has_are_refused_by_name(key: str, value: object) -> None:
    content = {"a": 0, "b": 0, "d": 0, "n_sat": 10, "beta": 1} | {key: value}
    with pytest.raises(ConfigurationError, match=f"^model.json: {key}"):
        validated(PoleModel, content, "model.json")


def test_a_request_alone_takes_one_prefill_pass_and_one_decode_pass_a_token() -> None:
    # Ten seconds apart: never two at once. The first token comes with the prefill.
    trace = prompts([0.0, 10.0, 20.0], output_tokens=11)
    cluster = Cluster(aggregated=Pool(workers=1, engine=_engine(_CURVE)))
    requests = simulate(Simulation(cluster, RouterSettings(), trace)).requests
    np.testing.assert_allclose(requests.ttft_seconds, _curve(1), rtol=1e-6)
    np.testing.assert_allclose(requests.itl_seconds, _curve(1), rtol=1e-6)


def test_requests_that_come_together_share_their_passes() -> None:
    trace = prompts([0.0] * 16, output_tokens=5)
    cluster = Cluster(aggregated=Pool(workers=1, engine=_engine(_CURVE)))
    requests = simulate(Simulation(cluster, RouterSettings(), trace)).requests
    np.testing.assert_allclose(requests.ttft_seconds, _curve(16), rtol=1e-6)
    np.testing.assert_allclose(requests.itl_seconds, _curve(16), rtol=1e-6)


def test_a_prefill_pass_can_go_by_all_requests_in_flight() -> None:
    prefill = Pool(workers=1, engine=_engine(_CURVE, "in_flight"))
    flat = PoleModel(a=0, b=0.01, d=0, n_sat=1000, beta=1)
    decode = Pool(workers=2, engine=_engine(flat))
    cluster = Cluster(prefill=prefill, decode=decode)
    requests = simulate(Simulation(cluster, RouterSettings(), steady(32, 30))).requests
    # All clients began together and so go on: a prefill pass, then the first decode pass.
    assert np.quantile(requests.ttft_seconds, 0.9) == pytest.approx(_curve(32) + 0.01, rel=1e-3)
