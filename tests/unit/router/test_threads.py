"""Many threads on one router. No test here looks at a clock."""

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from dynamo_regime import BatchDecision, Decision, Router

SWAPS = 100_000


@pytest.fixture
def no_forced_switch() -> Iterator[None]:
    """Let a thread keep the GIL until it gives it up of its own accord."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1_000)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("no_forced_switch")
def test_the_batch_form_lets_other_threads_run_while_it_computes() -> None:
    router = Router()
    blocks = np.ones((2_000, 256))
    asked, ran = threading.Event(), threading.Event()

    def other() -> None:
        asked.wait()
        ran.set()

    thread = threading.Thread(target=other)
    thread.start()
    asked.set()
    # The other thread now waits for the GIL, and nothing that keeps it lets that thread run ...
    for _ in range(1_000):
        router.select(blocks[0], blocks[0])
    assert not ran.is_set()
    # ... but a batch does. It is repeated, since the other thread may be slow to take its chance.
    for _ in range(1_000):
        router.select_batch(blocks, blocks)
        if ran.is_set():
            break
    assert ran.is_set()
    thread.join()


def test_eight_threads_never_see_a_torn_policy_or_a_version_that_falls() -> None:
    """Every swap publishes τ = v and ω = 2 v as version v + 1, so that a mixture is recognised."""
    router = Router(temperature=0.0, prefill_weight=0.0)
    blocks = np.ones((16, 8))
    done = threading.Event()
    faults: list[str] = []
    seen = [0] * 8

    def watch(thread: int) -> None:
        last = 0
        while not done.is_set():
            if thread % 2:
                decision: Decision | BatchDecision = router.select_batch(blocks, blocks)
            else:
                decision = router.select(blocks[0], blocks[0])
            value = decision.temperature
            if decision.prefill_weight != 2 * value or decision.version != value + 1:
                faults.append(f"torn: {decision!r}")
            if decision.version < last:
                faults.append(f"version {decision.version} after {last}")
            last = decision.version
            seen[thread] += 1

    threads = [threading.Thread(target=watch, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for value in range(1, SWAPS + 1):
        router.swap(temperature=float(value), prefill_weight=2.0 * value)
    done.set()
    for thread in threads:
        thread.join()
    assert faults == []
    assert min(seen) > 0
    assert router.policy.version == SWAPS + 1
    log = router.recent_decisions(8 * 4096)
    assert (log.prefill_weight == 2 * log.temperature).all()
    assert (log.version == log.temperature + 1).all()


def test_every_decision_of_every_thread_is_logged_once() -> None:
    router = Router()
    all_done = threading.Barrier(8)

    def decide(thread: int) -> None:
        for number in range(1_000):
            router.select([0.0], [float(thread * 1_000 + number)])
        # A thread that starts after another has ended would share its part of the log.
        all_done.wait()

    threads = [threading.Thread(target=decide, args=(thread,)) for thread in range(8)]
    costs: list[float] = []
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        costs += router.decisions().cost.tolist()
    costs += router.decisions().cost.tolist()
    assert sorted(costs) == list(range(8_000))


def test_threads_that_follow_each_other_lose_decisions_only_if_the_loss_is_counted() -> None:
    router = Router()

    def decide() -> None:
        for _ in range(1_000):
            router.select([0.0], [1.0])

    for _ in range(8):
        thread = threading.Thread(target=decide)
        thread.start()
        thread.join()
    log = router.decisions()
    assert len(log) >= 4_096
    assert len(log) + log.dropped == 8_000


def test_concurrent_swaps_each_get_a_version_of_their_own() -> None:
    router = Router()
    versions: list[int] = []

    def swap() -> None:
        versions.extend(router.swap(temperature=1.0)[0].version for _ in range(1_000))

    threads = [threading.Thread(target=swap) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(versions) == list(range(2, 4_002))
