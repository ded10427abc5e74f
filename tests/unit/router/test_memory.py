"""What a call costs in memory: nothing is copied that can be read in place, and nothing is kept."""

import gc
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynamo_regime import InputError, Router

MEGABYTE = 2**20

# In a process of its own, since the peak of the resident memory never falls again. VmHWM is the
# peak of this program alone; ru_maxrss would start at that of the process which forked it.
PEAK_GROWTH = """
import re
from pathlib import Path
import numpy as np
from dynamo_regime import Router

def peak_bytes():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

router = Router()
small = np.ones({small}, np.{dtype})
router.{method}(small, small)
prefill_blocks, active_blocks = np.ones({large}, np.{dtype}), np.ones({large}, np.{dtype})
before = peak_bytes()
router.{method}(prefill_blocks, active_blocks)
print(peak_bytes() - before)
"""


def peak_growth_bytes(method: str, dtype: str) -> int:
    """Growth of the peak resident memory by a call on two arrays of 8 Mi entries each."""
    small, large = ((8, 8), (8 * 1024, 1024)) if method == "select_batch" else (8, 8 * MEGABYTE)
    script = PEAK_GROWTH.format(method=method, dtype=dtype, small=small, large=large)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return int(run.stdout)


@pytest.mark.parametrize("method", ["select", "select_batch"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint32"])
def test_an_array_of_a_native_type_is_not_copied(method: str, dtype: str) -> None:
    assert peak_growth_bytes(method, dtype) < 8 * MEGABYTE


@pytest.mark.parametrize("method", ["select", "select_batch"])
def test_the_measurement_sees_the_copy_of_a_type_that_is_converted(method: str) -> None:
    assert peak_growth_bytes(method, "int32") > 100 * MEGABYTE


def exercise(router: Router, prefill_blocks: np.ndarray, active_blocks: np.ndarray) -> None:
    """Every call of a router once, refusals included."""
    router.select(prefill_blocks, active_blocks)
    router.select(prefill_blocks.astype(np.int8), active_blocks.tolist())
    router.select_batch(prefill_blocks.reshape(2, -1), active_blocks.reshape(2, -1))
    wrong: list[Any] = [active_blocks[1:], -active_blocks, None, ["x"]]
    for refused in wrong:
        with pytest.raises(InputError):
            router.select(prefill_blocks, refused)
    with pytest.raises(ValueError, match="temperature"):
        router.swap(temperature=-1.0)
    router.swap(temperature=0.5)
    router.policies()
    router.recent_decisions(10)
    router.decisions()


def test_no_call_keeps_a_reference_or_an_object() -> None:
    router = Router()
    prefill_blocks, active_blocks = np.arange(1.0, 9.0), np.arange(1.0, 9.0)
    for _ in range(300):
        exercise(router, prefill_blocks, active_blocks)
    gc.collect()
    references = sys.getrefcount(prefill_blocks), sys.getrefcount(active_blocks)
    blocks = sys.getallocatedblocks()
    for _ in range(2_000):
        exercise(router, prefill_blocks, active_blocks)
    gc.collect()
    assert (sys.getrefcount(prefill_blocks), sys.getrefcount(active_blocks)) == references
    # One object kept by each round would be 2,000; the interpreter's own caches move by some 100.
    assert sys.getallocatedblocks() - blocks < 1_000


def test_routers_that_are_gone_give_their_memory_back() -> None:
    def use_and_forget() -> None:
        router = Router()
        router.select([1.0], [1.0])

    def resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    for _ in range(50):
        use_and_forget()
    before = resident_bytes()
    for _ in range(200):
        use_and_forget()
    # Each has a ring of half a megabyte: kept, they would be 100 MB.
    assert resident_bytes() - before < 20 * MEGABYTE
