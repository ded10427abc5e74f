"""The policy of a router and its swap."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dynamo_regime import PolicyError, PolicyTarget, PoolPolicy, Router, UnknownPoolError


def test_a_router_starts_with_dynamos_defaults_as_version_one() -> None:
    assert Router().policy == PoolPolicy("aggregated", "router", 0.0, 1.0, 1)


def test_a_router_is_a_policy_target() -> None:
    target: PolicyTarget = Router(temperature=0.7, prefill_weight=0.1)
    assert target.policies() == [PoolPolicy("aggregated", "router", 0.7, 0.1, 1)]
    assert target.swap(temperature=0.3) == target.policies()
    assert target.swap(temperature=0.3, pool="aggregated", instance="router") == target.policies()
    assert len(target.recent_decisions(10)) == 0


def test_a_swap_keeps_what_it_does_not_name_and_counts_the_version_up() -> None:
    router = Router(temperature=0.7, prefill_weight=0.1)
    router.swap(prefill_weight=2.0)
    assert router.policy == PoolPolicy("aggregated", "router", 0.7, 2.0, 2)
    router.swap(temperature=0.0)
    assert router.policy == PoolPolicy("aggregated", "router", 0.0, 2.0, 3)


def test_the_selection_after_a_swap_is_made_under_the_new_policy() -> None:
    router = Router()
    assert router.select([0, 10], [8, 0]).worker == 0
    router.swap(prefill_weight=0.5)
    decision = router.select([0, 10], [8, 0])
    assert (decision.worker, decision.prefill_weight, decision.version) == (1, 0.5, 2)
    batch = router.select_batch([[0, 10]], [[8, 0]])
    assert (batch.worker.tolist(), batch.prefill_weight, batch.version) == ([1], 0.5, 2)


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float32(2), np.float64(2), np.int64(2), np.uint8(2), Fraction(2)]
)
def test_any_real_number_of_python_and_numpy_is_a_parameter(value: Any) -> None:
    router = Router(temperature=value, prefill_weight=value)
    assert (router.policy.temperature, router.policy.prefill_weight) == (2.0, 2.0)
    router.swap(temperature=value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"temperature": -1}, "temperature must be finite and not negative, but is -1"),
        ({"temperature": float("nan")}, "temperature must be finite and not negative, but is NaN"),
        (
            {"prefill_weight": float("inf")},
            "prefill_weight must be finite and not negative, but is inf",
        ),
        (
            {"prefill_weight": -(10**400)},
            "prefill_weight must be finite and not negative, but is -inf",
        ),
        (
            {"temperature": 1.0, "prefill_weight": -2},
            "prefill_weight must be finite and not negative, but is -2",
        ),
        ({}, "a swap needs a temperature, a prefill_weight or both"),
    ],
)
def test_a_wrong_value_is_refused_in_one_sentence_and_the_policy_stays(
    change: dict[str, Any], sentence: str
) -> None:
    router = Router()
    before = router.policy
    with pytest.raises(PolicyError) as caught:
        router.swap(**change)
    assert str(caught.value) == sentence
    assert router.policy == before
    if change:
        with pytest.raises(PolicyError):
            Router(**change)


@pytest.mark.parametrize("value", [True, np.True_, "0.5", b"1", 1j, [1.0], np.array(1.0)])
def test_what_is_not_a_number_is_refused_by_name_and_type(value: Any) -> None:
    router = Router()
    for name in ("temperature", "prefill_weight"):
        expected = f"{name} must be a number, but is of type {type(value).__name__}"
        with pytest.raises(TypeError, match=expected):
            router.swap(**{name: value})
        with pytest.raises(TypeError, match=expected):
            Router(**{name: value})
    assert router.policy.version == 1


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"pool": "prefill"}, 'there is no pool "prefill"; this router has one pool, "aggregated"'),
        ({"instance": "R"}, 'there is no instance "R"; this router has one instance, "router"'),
        (
            {"pool": "aggregated", "instance": ""},
            'there is no instance ""; this router has one instance, "router"',
        ),
    ],
)
def test_an_unknown_pool_or_instance_is_refused_with_the_one_there_is(
    names: dict[str, Any], sentence: str
) -> None:
    router = Router()
    with pytest.raises(UnknownPoolError) as caught:
        router.swap(temperature=1.0, **names)
    assert str(caught.value) == sentence
    assert router.policy.version == 1


def test_a_router_prints_its_policy() -> None:
    router = Router(temperature=0.7)
    router.swap(prefill_weight=0.1)
    assert repr(router) == "Router(temperature=0.7, prefill_weight=0.1, version=2)"
