"""Wrong arguments are refused in one sentence, and leave nothing behind."""

import re
from typing import Any

import numpy as np
import pytest

from dynamo_regime import InputError, Router

ONE_ROW = "select takes (workers,), and select_batch (requests, workers)"
MANY_ROWS = "select_batch takes (requests, workers), and select (workers,)"
RULE = "every block count must be finite and not negative"


def refusal(method: str, prefill_blocks: Any, active_blocks: Any) -> str:
    """The sentence of the refusal; also checks that nothing was recorded."""
    router = Router()
    with pytest.raises(InputError) as caught:
        getattr(router, method)(prefill_blocks, active_blocks)
    decisions = router.decisions()
    assert (len(decisions), decisions.dropped) == (0, 0)
    return str(caught.value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_a_value_that_is_no_block_count_is_named_with_its_index(
    dtype: type[np.floating],
) -> None:
    for value in (np.nan, np.inf, -np.inf, -1.0, -np.finfo(dtype).smallest_subnormal):
        good = np.ones(5, dtype)
        bad = good.copy()
        bad[3] = value
        for name, pair in (("prefill_blocks", (bad, good)), ("active_blocks", (good, bad))):
            place, shown, rule = re.split(" is |; ", refusal("select", *pair))
            assert (place, rule) == (f"{name}[3]", RULE)
            assert float(shown) == bad[3] or shown == repr(float(bad[3]))


@pytest.mark.parametrize("dtype", [np.int64, np.int8])
def test_a_negative_integer_is_named_with_its_index(dtype: type[np.integer]) -> None:
    assert (
        refusal("select", np.array([0, 1, -7], dtype), [1, 1, 1])
        == f"prefill_blocks[2] is -7.0; {RULE}"
    )


def test_the_first_of_several_faults_is_named() -> None:
    assert refusal("select", [1, 2, -3], [-1, 2, 3]) == f"prefill_blocks[2] is -3.0; {RULE}"
    assert refusal("select", [-1, -2, -3], [1, 2, 3]) == f"prefill_blocks[0] is -1.0; {RULE}"


def test_a_wrong_value_in_a_batch_is_named_with_row_and_worker_and_refuses_every_row() -> None:
    good = np.ones((4, 6))
    bad = good.copy()
    bad[2, 5] = np.nan
    assert refusal("select_batch", bad, good) == f"prefill_blocks[2, 5] is nan; {RULE}"
    assert (
        refusal("select_batch", good, np.asfortranarray(bad))
        == f"active_blocks[2, 5] is nan; {RULE}"
    )


def test_arrays_of_unequal_length_are_refused_with_both_shapes() -> None:
    tail = "both need an entry for each worker"
    assert refusal("select", [1, 2, 3], [1, 2]) == (
        f"prefill_blocks has shape (3,) but active_blocks has shape (2,); {tail}"
    )
    assert refusal("select_batch", np.ones((2, 3)), np.ones((3, 2))) == (
        f"prefill_blocks has shape (2, 3) but active_blocks has shape (3, 2); {tail}"
    )


@pytest.mark.parametrize(
    ("array", "shape"),
    [
        (np.ones((2, 3)), "(2, 3)"),
        (np.float64(1.0), "()"),
        (np.ones((1, 1, 1), np.int16), "(1, 1, 1)"),
    ],
)
def test_select_refuses_any_other_number_of_axes_and_says_what_takes_them(
    array: Any, shape: str
) -> None:
    assert refusal("select", array, array) == f"prefill_blocks has shape {shape}; {ONE_ROW}"


@pytest.mark.parametrize(
    ("array", "shape"), [(np.ones(3), "(3,)"), (np.ones((1, 1, 1)), "(1, 1, 1)")]
)
def test_select_batch_refuses_any_other_number_of_axes_and_says_what_takes_them(
    array: Any, shape: str
) -> None:
    expected = f"active_blocks has shape {shape}; {MANY_ROWS}"
    assert refusal("select_batch", [[1.0]], array) == expected


def test_no_worker_at_all_is_refused() -> None:
    assert (
        refusal("select", [], []) == "prefill_blocks has shape (0,): there is no worker to choose"
    )
    assert refusal("select_batch", np.ones((3, 0)), np.ones((3, 0))) == (
        "prefill_blocks has shape (3, 0): there is no worker to choose"
    )


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["1"], "<U1"),
        ([None], "object"),
        ([True], "bool"),
        ([1j], "complex128"),
        ([10**30], "object"),
        (np.array([1], "timedelta64[s]"), "timedelta64[s]"),
    ],
)
def test_what_is_not_an_array_of_real_numbers_is_refused_with_its_type(
    values: Any, dtype: str
) -> None:
    expected = f"prefill_blocks has dtype {dtype}; block counts must be integers or floats"
    assert refusal("select", values, [1.0]) == expected


def test_nested_lists_of_unequal_length_are_refused() -> None:
    assert refusal("select_batch", [[1, 2], [3]], [[1, 2], [3, 4]]).startswith(
        "prefill_blocks is not an array of block counts: "
    )


def test_an_error_of_the_arguments_own_conversion_is_passed_on() -> None:
    class Broken:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        Router().select(Broken(), [1.0])


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(InputError) as caught:
        Router(seed=seed)
    assert str(caught.value) == f"seed must be from 0 to 2**64 - 1, but is {seed}"
    Router(seed=2**64 - 1)
    Router(seed=0)


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        Router().recent_decisions(-1)
    assert str(caught.value) == "limit must be 0 or more, but is -1"


@pytest.mark.parametrize("value", [True, 1.5, "3"])
def test_a_seed_or_a_limit_that_is_no_integer_is_refused_by_type(value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(TypeError, match=f"seed must be an integer, but is of type {kind}"):
        Router(seed=value)
    with pytest.raises(TypeError, match=f"limit must be an integer, but is of type {kind}"):
        Router().recent_decisions(value)
