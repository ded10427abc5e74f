"""Running a study, on all cores, from where it was left."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from dynamo_regime.errors import InputError
from dynamo_regime.sim import simulate
from dynamo_regime.study.case import Case
from dynamo_regime.study.result import Result, measure
from dynamo_regime.study.run_folder import Study, load_result, open_folder, save_result

Progress = Callable[[int, int], None]
"""Is told how many runs are finished, and how many there are."""


def run_study(
    study: Study, folder: Path, *, jobs: int | None = None, progress: Progress | None = None
) -> None:
    """Run what is not finished; every result is in the folder as soon as it is there.

    Args:
        study: What to run.
        folder: Where its results are, and go to.
        jobs: Runs at the same time; by default one a core. The engines run without Python's lock.
        progress: Is told of every finished run.

    Raises:
        ConfigurationError: The folder holds another study.
        RegimeError: A run failed; those that had finished are kept.
    """
    open_folder(folder, study)
    pairs = [(case, seed) for seed in range(study.seeds) for case in study.cases]
    run_pairs(folder, pairs, jobs=jobs, progress=progress)


def run_pairs(
    folder: Path,
    pairs: Sequence[tuple[Case, int]],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Run those cases with those seeds that the folder of a study does not have yet.

    Returns:
        The results of all, in their order.

    Raises:
        RegimeError: A run failed; those that had finished are kept.
    """
    there = {
        (case.name, seed): result
        for case, seed in pairs
        if (result := load_result(folder, case.name, seed)) is not None
    }

    def keep(result: Result) -> None:
        save_result(folder, result)
        there[result.case, result.seed] = result
        tell()

    def tell() -> None:
        if progress is not None:
            progress(len(there), len(pairs))

    tell()
    run_all([pair for pair in pairs if (pair[0].name, pair[1]) not in there], keep, jobs=jobs)
    return [there[case.name, seed] for case, seed in pairs]


def run_all(
    runs: list[tuple[Case, int]], keep: Callable[[Result], None], *, jobs: int | None = None
) -> None:
    """Run cases with seeds, several at a time, and hand each result over in this thread.

    Raises:
        InputError: ``jobs`` is less than 1.
        RegimeError: A run failed.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}: it must be at least 1")
    stop = threading.Event()
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        pending = {pool.submit(run_case, case, seed, stop) for case, seed in runs}
        try:
            while pending:
                done: set[Future[Result]]
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    keep(future.result())
        except BaseException:
            # Ctrl-C too: what runs stops at its next progress, what waits never starts.
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


class _StoppedError(Exception):
    pass


def run_case(case: Case, seed: int, stop: threading.Event | None = None) -> Result:
    """Run a case on this thread.

    Raises:
        RegimeError: It cannot be run.
    """

    def progress(_finished: int, _seconds: float) -> None:
        if stop is not None and stop.is_set():
            raise _StoppedError

    controller = case.controller()
    outcome = simulate(case.simulation(seed), controller=controller, progress=progress)
    return measure(case, seed, outcome, controller)
