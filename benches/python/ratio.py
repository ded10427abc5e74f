"""Time ``Router.select`` beside numpy computing the same costs and their argmin, and compare.

Calls of both alternate in one run, so that whatever slows the machine slows both. What is gated is
the ratio of the medians; absolute times are only reported.

Run it as ``python benches/python/ratio.py``; ``--json FILE`` also writes the figures to a file. It
exits with 1 when a ratio is above its limit.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import numpy as np

from dynamo_regime import Router

# Most that the median call of `select` may take, in median calls of numpy.
RATIO_LIMITS = {8: 1.0, 64: 1.0, 1024: 2.0}
CALLS = 20_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """Medians of one number of workers.

    Attributes:
        workers: Number of workers.
        select_p50_us: Median time of ``Router.select``, in microseconds.
        numpy_p50_us: Median time of numpy's sum and argmin, in microseconds.
        ratio: The first by the second.
        ratio_limit: What the ratio may be at most.
    """

    workers: int
    select_p50_us: float
    numpy_p50_us: float
    ratio: float
    ratio_limit: float


def compare(workers: int) -> Comparison:
    """Time both on the same arrays, call by call in turn."""
    rng = np.random.default_rng(workers)
    prefill_blocks = rng.integers(0, 512, workers).astype(np.float64)
    active_blocks = rng.integers(0, 4_096, workers).astype(np.float64)
    prefill_weight = 0.7
    router = Router(prefill_weight=prefill_weight)

    def by_select() -> int:
        return router.select(prefill_blocks, active_blocks).worker

    def by_numpy() -> int:
        return int(np.argmin(prefill_weight * prefill_blocks + active_blocks))

    assert by_select() == by_numpy()
    select_ns, numpy_ns = alternate(by_select, by_numpy)
    return Comparison(
        workers=workers,
        select_p50_us=select_ns / 1_000,
        numpy_p50_us=numpy_ns / 1_000,
        ratio=select_ns / numpy_ns,
        ratio_limit=RATIO_LIMITS[workers],
    )


def alternate(first: Callable[[], int], second: Callable[[], int]) -> tuple[float, float]:
    """Median nanoseconds of each, the cost of an empty call included in both."""
    times: tuple[list[int], list[int]] = ([], [])
    for _ in range(CALLS):
        for function, taken in zip((first, second), times, strict=True):
            start = perf_counter_ns()
            function()
            taken.append(perf_counter_ns() - start)
    return median(times[0]), median(times[1])


def main() -> int:
    """Print a line for each number of workers; 1 if one is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    json_path: Path | None = parser.parse_args().json
    comparisons = [compare(workers) for workers in RATIO_LIMITS]
    print(f"{'workers':>8}{'select p50':>14}{'numpy p50':>14}{'ratio':>8}{'limit':>8}")
    for row in comparisons:
        print(
            f"{row.workers:>8}{row.select_p50_us:>11.2f} µs{row.numpy_p50_us:>11.2f} µs"
            f"{row.ratio:>8.2f}{row.ratio_limit:>8.2f}"
        )
    if json_path:
        json_path.write_text(json.dumps([asdict(row) for row in comparisons], indent=2) + "\n")
    too_slow = [row for row in comparisons if row.ratio > row.ratio_limit]
    for row in too_slow:
        print(
            f"select takes {row.ratio:.2f} times as long as numpy at {row.workers} workers; "
            f"the limit is {row.ratio_limit:.2f}",
            file=sys.stderr,
        )
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
