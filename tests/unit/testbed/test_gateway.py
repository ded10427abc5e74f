from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime import Router
from examples.gateway import Gateway, Worker, prefix_hashes

BLOCK = 4
TOKENS = st.lists(st.integers(0, 5), max_size=40)


def prompt(template: int, tail: int) -> list[int]:
    """Four shared blocks and one of its own."""
    return [template] * 4 * BLOCK + [1000 + tail] * BLOCK


def chosen(gateway: Gateway, token_ids: Sequence[int]) -> str:
    """The worker that a request went to; the request is over."""
    with gateway.route(token_ids) as way:
        way.first_token()
        return way.headers["x-worker-instance-id"]


@given(TOKENS, TOKENS, TOKENS)
def test_prompts_have_as_many_equal_hashes_as_full_equal_blocks(
    shared: list[int], one: list[int], other: list[int]
) -> None:
    a, b = shared + one, shared + other
    equal_tokens = next(
        (at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    equal_hashes = [
        x == y for x, y in zip(prefix_hashes(a, BLOCK), prefix_hashes(b, BLOCK), strict=False)
    ]
    assert equal_hashes.count(True) == equal_tokens // BLOCK
    assert equal_hashes == sorted(equal_hashes, reverse=True)


def test_a_partial_block_at_the_end_has_no_hash() -> None:
    assert len(prefix_hashes(range(11), BLOCK)) == 2
    assert prefix_hashes(range(3), BLOCK) == []


def test_overlap_ends_at_the_first_block_that_is_not_cached() -> None:
    worker = Worker(1, cache_blocks=100)
    worker.begin([10, 11, 12], 3)
    assert worker.overlap_blocks([10, 11, 99, 12]) == 2
    assert worker.overlap_blocks([99, 10]) == 0
    assert worker.overlap_blocks([10, 11, 12]) == 3


def test_a_full_cache_forgets_what_was_used_least_recently() -> None:
    worker = Worker(1, cache_blocks=4)
    for hashes in ([1, 2], [3, 4], [1, 2], [5, 6]):
        worker.begin(hashes, 0)
    assert worker.overlap_blocks([1, 2]) == 2
    assert worker.overlap_blocks([3, 4]) == 0
    assert worker.overlap_blocks([5, 6]) == 2


def test_a_block_that_two_running_requests_share_is_held_once_and_until_both_are_over() -> None:
    worker = Worker(1, cache_blocks=100)
    worker.begin([1, 2, 3], 3)
    worker.begin([1, 2, 4], 1)
    assert worker.active_blocks == 4
    worker.end([1, 2, 3])
    assert worker.active_blocks == 3
    worker.end([1, 2, 4])
    assert worker.active_blocks == 0


def test_the_prefill_backlog_is_what_was_sent_and_has_not_begun_to_answer() -> None:
    gateway = Gateway(
        Router(temperature=0.0, prefill_weight=1.0, seed=1), [7], BLOCK, cache_blocks=100
    )
    [worker] = gateway._workers
    with gateway.route(prompt(1, tail=1)) as first:
        assert worker.prefill_backlog_blocks == 5
        with gateway.route(prompt(1, tail=2)) as second:
            assert worker.prefill_backlog_blocks == 6, (
                "four of the second prompt's blocks are cached"
            )
            first.first_token()
            assert worker.prefill_backlog_blocks == 1
            second.first_token()
            second.first_token()
            assert worker.prefill_backlog_blocks == 0


def test_a_request_that_fails_leaves_nothing_behind() -> None:
    gateway = Gateway(
        Router(temperature=0.0, prefill_weight=1.0, seed=1), [7], BLOCK, cache_blocks=100
    )
    [worker] = gateway._workers
    with pytest.raises(ConnectionError), gateway.route(prompt(1, tail=1)):
        raise ConnectionError
    assert (worker.prefill_backlog_blocks, worker.active_blocks) == (0, 0)


def test_with_a_large_prefill_weight_prompts_of_one_prefix_stay_on_one_worker() -> None:
    gateway = Gateway(
        Router(temperature=0.0, prefill_weight=100.0, seed=1), range(8), BLOCK, cache_blocks=1000
    )
    assert len({chosen(gateway, prompt(1, tail)) for tail in range(50)}) == 1


def test_with_a_high_temperature_prompts_of_one_prefix_spread() -> None:
    gateway = Gateway(
        Router(temperature=10.0, prefill_weight=100.0, seed=1), range(8), BLOCK, cache_blocks=1000
    )
    assert len({chosen(gateway, prompt(1, tail)) for tail in range(200)}) == 8


def test_requests_under_way_push_new_ones_to_other_workers() -> None:
    gateway = Gateway(
        Router(temperature=0.0, prefill_weight=1.0, seed=1), [7, 8], BLOCK, cache_blocks=1000
    )
    with gateway.route(prompt(1, tail=1)) as first, gateway.route(prompt(2, tail=1)) as second:
        assert first.headers != second.headers


def test_the_route_tells_which_policy_version_decided() -> None:
    router = Router(temperature=0.0, prefill_weight=1.0, seed=1)
    gateway = Gateway(router, [7, 8], BLOCK, cache_blocks=100)
    with gateway.route(prompt(1, tail=1)) as before:
        router.swap(prefill_weight=2.0)
        with gateway.route(prompt(1, tail=2)) as after:
            assert (before.policy_version, after.policy_version) == (1, 2)
