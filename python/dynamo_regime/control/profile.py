"""Profiles: which temperature τ and prefill weight ω each pool has at which load.

A profile is a value; profile_file.py reads and writes it, presets.py has those that ship.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Literal, Self, get_args

import numpy as np
from pydantic import Field, field_validator, model_validator

from dynamo_regime.control.checked import Checked, NonNegative
from dynamo_regime.control.detectors import DetectorSettings
from dynamo_regime.control.verdict import Regime

SCHEMA = 1
"""The schema of profiles that this version writes, and the newest that it reads."""

Pool = Literal["aggregated", "prefill", "decode", "encode"]
POOLS: tuple[str, ...] = get_args(Pool)
DEFAULT_POOL = "default"
"""Stands for every pool that a profile does not name."""


class Setting(Checked):
    """Temperature τ and prefill weight ω of a pool; finite, not negative."""

    temperature: NonNegative
    prefill_weight: NonNegative


class Regimes(Checked):
    """A setting for every regime."""

    normal: Setting
    transition: Setting
    saturated: Setting

    def at(self, regime: Regime) -> Setting:
        """The setting of a regime."""
        settings: dict[Regime, Setting] = {
            Regime.NORMAL: self.normal,
            Regime.TRANSITION: self.transition,
            Regime.SATURATED: self.saturated,
        }
        return settings[regime]


class Knot(Setting):
    """The setting at one load.

    Attributes:
        load: The load index: 1 where the transition regime begins, 2 where the saturated one does.
    """

    load: NonNegative


class PoolProfile(Checked):
    """The settings of one pool, by regime or by load.

    Attributes:
        regimes: A setting for every regime.
        load_index: Settings at two or more loads, ascending. In between they are interpolated by
            monotone cubics (PCHIP: F. N. Fritsch and J. Butland, SIAM J. Sci. Stat. Comput. 5
            (1984), 300–304), which never leave the range of the two knots around; outside the knots
            the nearest one counts.
    """

    regimes: Regimes | None = None
    load_index: Annotated[tuple[Knot, ...], Field(min_length=2, max_length=100)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.regimes is None) == (self.load_index is None):
            raise ValueError("give either regimes or load_index, and not both")
        return self

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        loads = [knot.load for knot in self.load_index or ()]
        for before, after in pairwise(loads):
            # Closer knots would make slopes that overflow.
            if after - before < 1e-3:
                raise ValueError(
                    f"load_index goes from load {before:g} to {after:g}: sort the knots by load,"
                    " at least 0.001 apart"
                )
        # Made now and not within the first step that needs them.
        self._curves()
        return self

    def at(self, regime: Regime, level: float) -> Setting:
        """The setting in a regime, or at a load index, whichever this profile goes by."""
        if self.regimes is not None:
            return self.regimes.at(regime)
        temperature, prefill_weight = self._curves()
        return Setting(temperature=temperature(level), prefill_weight=prefill_weight(level))

    def _curves(self) -> list[Callable[[float], float]]:
        """Temperature and prefill weight over load, if this profile goes by load."""
        knots = self.load_index
        if knots is None:
            return []
        loads = tuple(knot.load for knot in knots)
        temperatures = tuple(knot.temperature for knot in knots)
        weights = tuple(knot.prefill_weight for knot in knots)
        return [_curve(loads, temperatures), _curve(loads, weights)]


@lru_cache(maxsize=256)
def _curve(loads: tuple[float, ...], values: tuple[float, ...]) -> Callable[[float], float]:
    # scipy takes most of a second to import, and a profile that goes by regime does not need it.
    from scipy.interpolate import PchipInterpolator

    lowest, highest = min(values), max(values)
    if lowest == highest:
        return lambda _: lowest
    # Scaled, so that no finite weight overflows on the way; where nearly equal knots make a slope's
    # reciprocal overflow, the slope is 0.
    with np.errstate(over="ignore"):
        interpolate = PchipInterpolator(loads, np.array(values) / highest)

    def at(level: float) -> float:
        share = float(interpolate(min(max(level, loads[0]), loads[-1])))
        return min(max(share * highest, lowest), highest)

    return at


class Workload(Checked):
    """What a profile was measured on.

    Attributes:
        description: In a sentence.
        model: The model that was served.
        topology: The workers, as in 1P/2D.
        trace: The requests that were replayed.
        requests: How many.
    """

    description: str
    model: str | None = None
    topology: str | None = None
    trace: str | None = None
    requests: Annotated[int, Field(ge=0)] | None = None


Metric = Literal["ttft_mean_seconds", "ttft_p99_seconds", "itl_mean_seconds", "itl_p99_seconds"]


class Evidence(Setting):
    """One measurement of one setting.

    Attributes:
        pool: The pool that was set.
        regime: The regime that the fleet was in.
        metric: What was measured.
        value: The result, in seconds.
        deviation: Standard deviation over repetitions, in seconds.
        requests: Over how many requests.
    """

    pool: Pool
    regime: Regime
    metric: Metric
    value: NonNegative
    deviation: NonNegative | None = None
    requests: Annotated[int, Field(gt=0)]


class Profile(Checked):
    """Everything that the controller needs to know about a fleet.

    Attributes:
        name: For people.
        description: For people.
        workload: What it was measured on; None if it was not measured.
        safe: The policy of every pool when nothing can be seen; by default Dynamo's own.
        detector: The detector with the thresholds that were measured; None leaves it to the
            controller's settings.
        pools: The settings of each pool; ``default`` is for pools that are not named, which without
            it are left alone.
        evidence: The measurements behind the settings.
    """

    name: str
    description: str = ""
    workload: Workload | None = None
    safe: Setting = Setting(temperature=0.0, prefill_weight=1.0)
    detector: DetectorSettings | None = None
    pools: Mapping[str, PoolProfile]
    evidence: tuple[Evidence, ...] = ()

    @field_validator("pools")
    @classmethod
    def _known(cls, pools: Mapping[str, PoolProfile]) -> Mapping[str, PoolProfile]:
        known = ", ".join((DEFAULT_POOL, *POOLS))
        if not pools:
            raise ValueError(f"there is no pool in it: add one of {known}")
        for name in pools:
            if name not in (DEFAULT_POOL, *POOLS):
                raise ValueError(f"{name!r} is no pool: use {known}")
        return pools

    def pool(self, name: str) -> PoolProfile | None:
        """The settings of a pool; None if it is to be left alone."""
        return self.pools.get(name, self.pools.get(DEFAULT_POOL))
