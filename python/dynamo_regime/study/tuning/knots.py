"""From the best setting at each load to a profile that goes by the detector's load index."""

from collections.abc import Sequence

from dynamo_regime.control.profile import (
    Evidence,
    Knot,
    Pool,
    PoolProfile,
    Profile,
    Regimes,
    Workload,
)
from dynamo_regime.control.verdict import Regime
from dynamo_regime.sim import Cluster
from dynamo_regime.study.policy import DYNAMO_DEFAULT
from dynamo_regime.study.statistics import estimate
from dynamo_regime.study.tuning.search import Rung

_APART = 0.05
"""Knots closer in load index than this tell the same load."""


def fitted_profile(rungs: Sequence[Rung], cluster: Cluster, workload: Workload) -> Profile:
    """The profile that has the best setting of every rung at the load index measured there.

    The index is the one at which the ``load`` detector saw requests delayed *under that setting*:
    at that load the controller then finds the setting whose load it sees. A rung whose index is not
    above that of the rung before is left out, and so is one whose load the detector could not tell.
    """
    knots: list[Knot] = []
    for rung in rungs:
        load = rung.load_index
        if load is None or (knots and load < knots[-1].load + _APART):
            continue
        knots.append(Knot(load=load, **rung.best.setting.model_dump()))
    pools = pools_of(cluster)
    if len(knots) >= 2:
        pool = PoolProfile(load_index=tuple(knots))
    else:
        only = rungs[-1].best.setting
        pool = PoolProfile(regimes=Regimes(normal=only, transition=only, saturated=only))
    return Profile(
        name="tuned",
        description=f"Tuned on {workload.description}",
        workload=workload,
        pools=dict.fromkeys(pools, pool),
        evidence=evidence(rungs, cluster),
    )


def default_profile(rungs: Sequence[Rung], cluster: Cluster, workload: Workload) -> Profile:
    """Dynamo's default at every load, with what was measured."""
    pool = PoolProfile(
        regimes=Regimes(normal=DYNAMO_DEFAULT, transition=DYNAMO_DEFAULT, saturated=DYNAMO_DEFAULT)
    )
    return Profile(
        name="default",
        description="Dynamo's default: on the requests held out, no tuned profile beat it",
        workload=workload,
        pools=dict.fromkeys(pools_of(cluster), pool),
        evidence=evidence(rungs, cluster),
    )


def pools_of(cluster: Cluster) -> tuple[Pool, ...]:
    """Names of the cluster's pools, which all get the same setting."""
    return ("prefill", "decode") if cluster.aggregated is None else ("aggregated",)


def evidence(rungs: Sequence[Rung], cluster: Cluster) -> tuple[Evidence, ...]:
    """The mean TTFT of the best setting and of the default, at one load of each regime.

    At one, for what is said of two settings must be of the same load: the one whose index is
    nearest to the regime's middle.
    """
    nearest: dict[Regime, tuple[float, Rung]] = {}
    for rung in rungs:
        load = rung.load_index
        if load is None:
            continue
        regime = _regime(load)
        off = abs(load - regime.rank - 0.5)
        if regime not in nearest or off < nearest[regime][0]:
            nearest[regime] = (off, rung)
    found: list[Evidence] = []
    for regime, (_, rung) in nearest.items():
        sides = {each.setting: each for each in (rung.best, rung.default)}
        for setting, tried in sides.items():
            ttft = estimate([result.overall.ttft_mean_seconds for result in tried.results])
            if ttft is None:
                continue
            found.extend(
                Evidence(
                    pool=pool,
                    regime=regime,
                    metric="ttft_mean_seconds",
                    value=ttft.mean,
                    deviation=ttft.deviation,
                    requests=sum(result.overall.requests for result in tried.results),
                    temperature=setting.temperature,
                    prefill_weight=setting.prefill_weight,
                )
                for pool in pools_of(cluster)
            )
    return tuple(found)


def _regime(load: float) -> Regime:
    if load < 1.0:
        return Regime.NORMAL
    return Regime.TRANSITION if load < 2.0 else Regime.SATURATED
