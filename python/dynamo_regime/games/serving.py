"""The utilities of prefill and decode, from the latency curves of their workers.

C requests in flight are spread evenly, so that one of x prefill workers has C/x of them and takes
l_p(C/x) to the first token; ITL alike is l_d(C/x). A latency counts in multiples of its objective:

    U_p(x_p)      = −l_p(C/x_p) / TTFT objective
    U_d(x_d, x_p) = −(l_d(C/x_d) + l_p(C/x_p) / tokens out) / ITL objective

The last term is the idling of decode. In a closed loop a slot of decode that has finished an answer
of so many tokens waits for the next request as long as that takes to its first token: TTFT / tokens
out is the wait by token, and ITL + TTFT / tokens out is C / (tokens out · requests per second), the
true pace of a slot. If l is convex and nondecreasing, so is l(C/x) in x, and U is concave.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.errors import InputError
from dynamo_regime.games.routing import Curve
from dynamo_regime.games.split import SplitGame
from dynamo_regime.sim import PoleModel


@dataclass(frozen=True, slots=True)
class Objectives:
    """What latencies are measured by.

    Attributes:
        ttft_seconds: Objective of the time to the first token.
        itl_seconds: Objective of the time between two tokens.
    """

    ttft_seconds: float
    itl_seconds: float

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            InputError: One is not positive.
        """
        for name, value in (("TTFT", self.ttft_seconds), ("ITL", self.itl_seconds)):
            if not (np.isfinite(value) and value > 0.0):
                raise InputError(f"the {name} objective is {value:g} s: it must be above 0")

    def welfare(self, ttft_seconds: float, itl_seconds: float, output_tokens: float) -> float:
        """U_p + U_d of these latencies."""
        return (
            -ttft_seconds / self.ttft_seconds
            - (itl_seconds + ttft_seconds / output_tokens) / self.itl_seconds
        )


@dataclass(frozen=True, slots=True)
class WorkerCurve:
    """Latency of a worker by the requests in flight that fall to it.

    Attributes:
        seconds: The curve, nondecreasing and convex below ``saturates_at``.
        saturates_at: Where it has its pole, in requests; infinite without one.
    """

    seconds: Curve
    saturates_at: float = np.inf

    def at(self, requests: float) -> float:
        """Latency in seconds with so many requests."""
        return float(self.seconds(np.asarray(requests, dtype=np.float64)))

    @classmethod
    def of_model(cls, model: PoleModel) -> "WorkerCurve":
        """A calibrated curve. A pole that is not there (d = 0) saturates nowhere."""
        # The model follows its pole up to half a request before it.
        return cls(model.seconds, model.n_sat - 0.5 if model.d > 0.0 else np.inf)

    @classmethod
    def through(cls, requests: Sequence[float], seconds: Sequence[float]) -> "WorkerCurve":
        """The convex, nondecreasing curve next below measured points, straight between them.

        Noise would otherwise make utilities that are not concave. Before the first point it is as
        there; beyond the last it goes on straight.

        Args:
            requests: Where it was measured, two values or more, increasing.
            seconds: What was measured there.

        Raises:
            InputError: There are fewer than two points, or one is not finite.
        """
        x, y = np.asarray(requests, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
        if x.size < 2 or not np.isfinite(y).all():
            raise InputError(
                "a latency curve needs two measured points or more, all of them finite: a run did"
                " not finish a request; simulate for longer"
            )
        # Nondecreasing from the right, so that no point is left below the curve.
        y = np.minimum.accumulate(y[::-1])[::-1]
        corners: list[int] = []
        for k in range(x.size):
            while len(corners) >= 2:
                i, j = corners[-2], corners[-1]
                if (y[j] - y[i]) * (x[k] - x[i]) < (y[k] - y[i]) * (x[j] - x[i]):
                    break
                corners.pop()
            corners.append(k)
        hull_x, hull_y = x[corners], y[corners]
        slope = (hull_y[-1] - hull_y[-2]) / (hull_x[-1] - hull_x[-2])

        def latency(n: NDArray[np.float64]) -> NDArray[np.float64]:
            beyond = np.maximum(n - hull_x[-1], 0.0)
            return np.asarray(np.interp(n, hull_x, hull_y) + slope * beyond)

        return cls(latency)


def serving_game(
    prefill: WorkerCurve,
    decode: WorkerCurve,
    objectives: Objectives,
    *,
    workers: int,
    in_flight: float,
    output_tokens: float,
) -> SplitGame:
    """The split of workers with these curves, see the top of this module.

    Args:
        prefill: TTFT of a prefill worker.
        decode: ITL of a decode worker.
        objectives: What they are measured by.
        workers: To share.
        in_flight: Requests in flight, C.
        output_tokens: Tokens of an answer, in the mean.

    Raises:
        InputError: The load is none, or more than so many workers carry.
    """
    for name, value in (("requests in flight", in_flight), ("output tokens", output_tokens)):
        if not (np.isfinite(value) and value > 0.0):
            raise InputError(f"the {name} are {value:g}: they must be above 0")

    def ttft(workers: float) -> float:
        return prefill.at(in_flight / workers)

    return SplitGame(
        workers=workers,
        prefill=lambda x: -ttft(x) / objectives.ttft_seconds,
        decode=lambda x: -decode.at(in_flight / x) / objectives.itl_seconds,
        idling=lambda x: -ttft(x) / output_tokens / objectives.itl_seconds,
        least_prefill=in_flight / prefill.saturates_at,
        least_decode=in_flight / decode.saturates_at,
    )
