"""What is seen of the fleet at one moment: the value that every source makes and detectors take.

What a source does not know is None. There is no sentinel: a zero is a measured zero.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile of a latency.

    Attributes:
        value_seconds: The quantile, or a lower bound of it if ``in_last_bucket``.
        in_last_bucket: It lies above the highest finite bound of the histogram it comes from.
    """

    value_seconds: float
    in_last_bucket: bool = False


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies of what was finished within a window.

    Attributes:
        count: Number of observations.
        p50: The median; None below the source's minimum count.
        p99: The 99th percentile; None below the source's minimum count.
    """

    count: int
    p50: Quantile | None = None
    p99: Quantile | None = None


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """What one worker has in hand.

    Attributes:
        worker_id: Dynamo's instance id.
        dp_rank: Data-parallel rank.
        prefill_tokens: Tokens sent there and not prefilled yet.
        decode_blocks: KV-cache blocks of its running requests.
        active_requests: Running requests.
        pool: ``aggregated``, ``prefill``, ``decode`` or ``encode``.
        kv_blocks: KV-cache blocks that it has in all.
    """

    worker_id: int
    dp_rank: int
    prefill_tokens: float | None = None
    decode_blocks: float | None = None
    active_requests: float | None = None
    pool: str | None = None
    kv_blocks: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The fleet at one moment, and what finished within the window before it.

    Attributes:
        time: When, in seconds on a monotonic or virtual clock.
        window: Length of the window in seconds.
        ttft: Times to first token within the window.
        itl: Inter-token latencies within the window.
        workers: Load of every known worker at ``time``.
        queue_length: Requests that wait in the router at ``time``.
        decision_rate: Routing decisions per second within the window.
        overlap_chosen: Share of prompt blocks cached on the chosen worker, 0 to 1.
        overlap_best: Share of prompt blocks cached on the best worker for each request, 0 to 1.
        prefill_tokens_per_second: Tokens that one worker computes in a second spent on prefill:
            its speed, not its throughput, which at low load says only how much was asked.
        dropped: Records that were lost within the window before anybody read them.
    """

    time: float
    window: float
    ttft: Latency | None = None
    itl: Latency | None = None
    workers: tuple[WorkerLoad, ...] | None = None
    queue_length: float | None = None
    decision_rate: float | None = None
    overlap_chosen: float | None = None
    overlap_best: float | None = None
    prefill_tokens_per_second: float | None = None
    dropped: int = 0
