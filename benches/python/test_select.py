"""pytest-benchmark of ``Router`` beside numpy; the gate on their ratio is ``ratio.py``."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dynamo_regime import Router

WORKERS = [8, 64, 1024]
REQUESTS = 1_000

pytestmark = pytest.mark.bench


def blocks(*shape: int, dtype: type[np.generic] = np.float64) -> tuple[NDArray[Any], NDArray[Any]]:
    """Prefill and active blocks as a loaded pool has them."""
    rng = np.random.default_rng(shape[-1])
    return rng.integers(0, 512, shape).astype(dtype), rng.integers(0, 4_096, shape).astype(dtype)


@pytest.mark.parametrize("workers", WORKERS)
def test_select_at_temperature_zero(benchmark: Any, workers: int) -> None:
    benchmark.group = f"one request, {workers} workers"
    benchmark(Router().select, *blocks(workers))


@pytest.mark.parametrize("workers", WORKERS)
def test_select_by_softmax(benchmark: Any, workers: int) -> None:
    benchmark.group = f"one request, {workers} workers"
    benchmark(Router(temperature=0.7).select, *blocks(workers))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint32])
def test_select_of_another_type_in_place(benchmark: Any, dtype: type[np.generic]) -> None:
    benchmark.group = "one request, 64 workers"
    benchmark(Router().select, *blocks(64, dtype=dtype))


@pytest.mark.parametrize("workers", WORKERS)
def test_numpy_sum_and_argmin(benchmark: Any, workers: int) -> None:
    benchmark.group = f"one request, {workers} workers"
    prefill_blocks, active_blocks = blocks(workers)
    benchmark(lambda: int(np.argmin(1.0 * prefill_blocks + active_blocks)))


@pytest.mark.parametrize("workers", WORKERS)
def test_select_batch(benchmark: Any, workers: int) -> None:
    benchmark.group = f"{REQUESTS} requests, {workers} workers"
    benchmark(Router().select_batch, *blocks(REQUESTS, workers))


@pytest.mark.parametrize("workers", WORKERS)
def test_numpy_sum_and_argmin_of_a_batch(benchmark: Any, workers: int) -> None:
    benchmark.group = f"{REQUESTS} requests, {workers} workers"
    prefill_blocks, active_blocks = blocks(REQUESTS, workers)
    benchmark(lambda: np.argmin(1.0 * prefill_blocks + active_blocks, axis=1))


@pytest.mark.parametrize("rows", [4_096])
def test_decisions(benchmark: Any, rows: int) -> None:
    router = Router()
    benchmark.group = f"reading {rows} decisions"

    def fill() -> None:
        router.select_batch(*blocks(rows, 8))

    benchmark.pedantic(router.decisions, setup=fill, rounds=50)


def test_swap(benchmark: Any) -> None:
    benchmark.group = "swap"
    benchmark(Router().swap, temperature=0.7, prefill_weight=0.1)
