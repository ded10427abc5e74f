"""The change-point test that was not chosen: Hinkley's, on the logarithm of the load index.

D. V. Hinkley, Biometrika 58 (1971), 509–523. The sum runs over deviations from the running mean
since the last change, less an allowance; a change is found when it has risen by ``decision`` from
its minimum (for a fall: fallen from its maximum). Then the mean begins anew with the values since.
The logarithm, because the noise of a queue is proportional to its level.
"""

import math

from dynamo_regime.control.detectors.thresholds import Hysteresis
from dynamo_regime.control.verdict import Regime

OFFSET = 0.25
NOISE = 0.5
ALLOWANCE = 0.5


class HinkleyLevel:
    """A load index without its noise: the mean since the last change."""

    def __init__(self, decision: float) -> None:
        self._decision = decision
        self._hysteresis = Hysteresis(0.2)
        self._begin([])

    def _begin(self, values: list[float]) -> None:
        self._count = len(values)
        self._mean = sum(values) / len(values) if values else 0.0
        self._rise = self._fall = 0.0
        self._rising: list[float] = []
        self._falling: list[float] = []

    def regime(self, index: float) -> Regime:
        value = math.log1p(index / OFFSET)
        if self._count == 0:
            self._begin([value])
        deviation = min(max((value - self._mean) / NOISE, -4.0), 4.0)
        self._rise = max(self._rise + deviation - ALLOWANCE, 0.0)
        self._fall = max(self._fall - deviation - ALLOWANCE, 0.0)
        self._rising = [*self._rising, value] if self._rise > 0 else []
        self._falling = [*self._falling, value] if self._fall > 0 else []
        if self._rise > self._decision:
            self._begin(self._rising)
        elif self._fall > self._decision:
            self._begin(self._falling)
        else:
            self._count += 1
            self._mean += (value - self._mean) / min(self._count, 120)
        return self._hysteresis.regime(OFFSET * math.expm1(self._mean))
