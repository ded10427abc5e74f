"""Readings and clocks as bad as they come."""

import math

from hypothesis import strategies as st

from dynamo_regime.control import Latency, Quantile, Reading, WorkerLoad

INTERVAL = 0.25

numbers = st.one_of(
    st.floats(0, 100),
    st.sampled_from([0.0, -1.0, math.nan, math.inf, -math.inf, 5e-324, 1e-300, 1e300]),
    st.floats(),
)
maybe = st.one_of(st.none(), numbers)

quantiles = st.one_of(st.none(), st.builds(Quantile, numbers, st.booleans()))
latencies = st.one_of(
    st.none(), st.builds(Latency, st.integers(0, 1000), p50=quantiles, p99=quantiles)
)
workers = st.one_of(
    st.none(),
    st.lists(
        st.builds(
            WorkerLoad,
            worker_id=st.integers(0, 3),
            dp_rank=st.just(0),
            prefill_tokens=maybe,
            decode_blocks=maybe,
            active_requests=maybe,
            pool=st.sampled_from([None, "aggregated", "prefill", "decode"]),
            kv_blocks=maybe,
        ),
        max_size=4,
    ).map(tuple),
)
readings = st.builds(
    Reading,
    time=numbers,
    window=numbers,
    ttft=latencies,
    itl=latencies,
    workers=workers,
    queue_length=maybe,
    decision_rate=maybe,
    overlap_chosen=maybe,
    overlap_best=maybe,
    prefill_tokens_per_second=maybe,
    dropped=st.integers(0, 10),
)

forward_steps = st.sampled_from([0.0, *[INTERVAL] * 6, 0.5, 0.5, 1.0, 5.0, 300.0])
"""Of a clock that only runs forward; exact in binary."""

set_clocks = st.one_of(forward_steps, st.sampled_from([-INTERVAL, -2.0, -4096.0, 4096.0]))
"""Of a clock that is set now and then; exact in binary."""

jumps = st.one_of(
    forward_steps,
    st.sampled_from([-INTERVAL, -1e9, 1e9, 1e300, -1e300, math.nan, math.inf, -math.inf]),
)
"""Of a clock that does not; NaN and infinity stand for a clock that says so."""


def clock(steps: list[float]) -> list[float]:
    """The times that a clock shows which makes these steps."""
    times = []
    time = 0.0
    for step in steps:
        if math.isfinite(step):
            time += step
            times.append(time)
        else:
            times.append(step)
    return times
