"""Traces whose load rises and falls again."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.errors import InputError
from dynamo_regime.sim.workload import MultiTurn, Trace
from dynamo_regime.study.case import Segment

_BLOCK_TOKENS = 64
_SECONDS_PER_TOKEN = 0.02
"""What a conversation waits for a token of an answer, where nobody answers."""
_EDGES = (1 / 6, 2 / 6, 4 / 6, 5 / 6)


def ramped(trace: Trace, low: float, high: float) -> tuple[Trace, tuple[Segment, ...]]:
    """The trace with a speed that rises linearly from ``low`` to ``high`` and falls back.

    The speed is linear over the recorded time u of length T, so that a request recorded at u is
    sent at ∫₀ᵘ dv / s(v): for u ≤ T/2 that is T / (2·(high − low)) · ln(s(u) / low).

    Returns:
        The trace, of speed 1, and five segments, whose speeds are in the lower, middle and upper
        third, and in the middle and lower third again.

    Raises:
        InputError: Not 0 < low < high, or the trace has no duration.
    """
    if not 0.0 < low < high < math.inf:
        raise InputError(f"a ramp from {low:g} to {high:g}: speeds must rise from above 0")
    recorded = trace.arrival_seconds - trace.arrival_seconds.min()
    length = float(recorded.max())
    if length <= 0.0:
        raise InputError("all requests of the trace come at once: there is nothing to ramp")
    times = _warped(recorded / length, low, high) * length
    edges = (_warped(np.array(_EDGES), low, high) * length).tolist()
    third = (high - low) / 3.0
    names = (
        f"rising {low:g}–{low + third:.3g}x",
        f"rising {low + third:.3g}–{high - third:.3g}x",
        f"peak {high - third:.3g}–{high:g}x",
        f"falling {high - third:.3g}–{low + third:.3g}x",
        f"falling {low + third:.3g}–{low:g}x",
    )
    bounds = [0.0, *edges, math.inf]
    segments = tuple(
        Segment(name, begin, end)
        for name, begin, end in zip(names, bounds[:-1], bounds[1:], strict=True)
    )
    return replace(trace, arrival_seconds=times, speed=1.0), segments


def _warped(share: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Virtual time, in lengths of the trace, of each share of the recorded time."""
    rise = high - low
    half = math.log(high / low) / (2.0 * rise)
    mirrored = np.minimum(share, 1.0 - share)
    up = np.log1p(2.0 * rise * mirrored / low) / (2.0 * rise)
    return np.where(share <= 0.5, up, 2.0 * half - up)


def open_conversations(load: MultiTurn, seed: int) -> Trace:
    """Conversations as :class:`MultiTurn` has them, as a trace: no turn waits for its answer.

    A turn comes the time to think after the last one, and 20 ms for every token of that answer.
    So the load does not fall when the cluster is slow, and every policy gets the same requests.

    Args:
        load: Its parameters; times are divided by its ``speed``.
        seed: Of all draws.
    """
    rng = np.random.default_rng(seed)
    begins = rng.exponential(1.0 / load.sessions_per_second, load.sessions).cumsum()
    ranks = np.arange(1, load.prefixes + 1, dtype=np.float64)
    weights = ranks**-load.zipf_exponent
    prefix = rng.choice(load.prefixes, load.sessions, p=weights / weights.sum())
    shape = (load.sessions, load.turns)
    inputs = np.ceil(rng.exponential(load.input_tokens, shape)).astype(np.int64)
    outputs = np.ceil(rng.exponential(load.output_tokens, shape)).astype(np.int64)
    think = rng.exponential(load.think_seconds, shape) if load.think_seconds else np.zeros(shape)
    waits = think + _SECONDS_PER_TOKEN * outputs
    times = begins[:, None] + np.cumsum(waits, axis=1) - waits
    prefix_blocks = -(-load.prefix_tokens // _BLOCK_TOKENS)
    said = np.cumsum(inputs + outputs, axis=1) - outputs
    prompts = prefix_blocks * _BLOCK_TOKENS + said
    counts = -(-prompts // _BLOCK_TOKENS)
    order = np.argsort(times, axis=None, kind="stable")
    # Names: those of the prefixes first, then each conversation's own.
    own = load.prefixes * prefix_blocks + np.concatenate(
        ([0], np.cumsum(counts[:, -1] - prefix_blocks)[:-1])
    )
    names = []
    for place in order.tolist():
        session, turn = divmod(place, load.turns)
        shared = prefix[session] * prefix_blocks + np.arange(prefix_blocks)
        names.append(shared)
        names.append(own[session] + np.arange(counts[session, turn] - prefix_blocks))
    return Trace(
        arrival_seconds=times.ravel()[order] / load.speed,
        input_tokens=prompts.ravel()[order],
        output_tokens=outputs.ravel()[order],
        blocks=np.concatenate(names).astype(np.uint64),
        block_offsets=np.concatenate(([0], counts.ravel()[order].cumsum())),
        block_tokens=_BLOCK_TOKENS,
    )
