"""Two prefill and three decode workers behind the linked frontend: a policy for each pool."""

from collections.abc import Iterator

import pytest

from testbed.outcome import Outcome
from testbed.session import Swap
from testbed.topology import Topology
from tests.live.serving import WARM_UP, Served, loyalty, send, serve

pytestmark = pytest.mark.live

REQUESTS = 2_000
SWAP_AT = WARM_UP.requests + 1_000
AFFINITY = Swap(0, temperature=0.0, prefill_weight=100.0)
SPREAD = Swap(SWAP_AT, temperature=10.0, prefill_weight=1.0)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(Topology.parse("2P3D"), AFFINITY.temperature, AFFINITY.prefill_weight) as served:
        yield served


@pytest.fixture(scope="module")
def outcomes(served: Served) -> list[Outcome]:
    return send(served, (AFFINITY, SPREAD), REQUESTS, pool="prefill")


def test_no_request_fails_while_one_pools_policy_is_swapped_under_load(
    outcomes: list[Outcome],
) -> None:
    assert [one.failure for one in outcomes if one.failure] == []
    assert len(outcomes) == WARM_UP.requests + REQUESTS


def test_prefill_and_decode_are_done_by_workers_of_their_role(
    served: Served, outcomes: list[Outcome]
) -> None:
    roles = served.cluster.worker_ids(served.frontend)
    prefill = {worker for worker, role in roles.items() if role == "prefill"}
    decode = {worker for worker, role in roles.items() if role == "decode"}
    assert {one.prefill_worker for one in outcomes} == prefill
    assert {one.decode_worker for one in outcomes} == decode


def test_prefixes_stay_on_a_prefill_worker_until_the_swap_spreads_them(
    outcomes: list[Outcome],
) -> None:
    before = [one for one in outcomes if one.policy_version == 1 and one.phase == "steady"]
    after = [one for one in outcomes if one.policy_version == 2]
    assert loyalty(before) > 0.9
    assert loyalty(after) < 0.7


@pytest.mark.usefixtures("outcomes")
def test_a_swap_of_the_prefill_pool_leaves_the_decode_pool_alone(served: Served) -> None:
    versions = {policy.pool: policy.version for policy in served.admin.policies()}
    assert versions == {"prefill": 2, "decode": 1}
    decisions = served.admin.decisions(limit=400)
    of_pool = {pool: set(decisions.version[decisions.pool == pool]) for pool in versions}
    assert of_pool == {"prefill": {2}, "decode": {1}}


def test_a_swap_by_instance_changes_the_pools_that_it_routes(served: Served) -> None:
    [changed] = served.admin.set_policy(temperature=0.3, instance="decode-router")
    assert (changed.pool, changed.temperature, changed.prefill_weight) == ("decode", 0.3, 100.0)
