"""The workers that are simulated, and the router in front of them."""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from dynamo_regime.control.checked import Checked, ConfigurationError, NonNegative
from dynamo_regime.sim.latency import PoleModel

# JSON knows no infinity.
_Until = Annotated[
    float,
    BeforeValidator(lambda seconds: math.inf if seconds is None else seconds),
    PlainSerializer(lambda seconds: seconds if math.isfinite(seconds) else None, when_used="json"),
]


class Engine(Checked):
    """What a worker runs.

    Attributes:
        arguments: Scheduler, cache and built-in timing as Dynamo's mocker takes them in the JSON of
            ``--extra-engine-args``, such as ``{"engine": {"block_size": 64, "speedup_ratio": 2}}``.
        latency: How long its passes take, in place of the built-in timing: a prefill pass l(n),
            scaled by the share of its prompts that is not cached, and a decode pass l(n).
        prefill_load: Which requests are the n of a prefill pass: the prompts in the ``pass``, or
            all requests ``in_flight`` in the cluster, by worker of the pool. Of a decode pass they
            are those that run in it.
    """

    arguments: Mapping[str, Any] = {}
    latency: PoleModel | None = None
    prefill_load: Literal["pass", "in_flight"] = "pass"


class Lifetime(Checked):
    """When a worker takes requests.

    Attributes:
        worker: Its index in the pool.
        from_seconds: When it joins, with an empty cache.
        until_seconds: When it leaves; infinite if it stays.
        lost: What runs on it then is lost and sent anew, rather than finished there.
    """

    worker: Annotated[int, Field(ge=0)]
    from_seconds: NonNegative = 0.0
    until_seconds: _Until = math.inf
    lost: bool = False

    @model_validator(mode="after")
    def _is_lost_at_a_time(self) -> Self:
        if self.lost and not math.isfinite(self.until_seconds):
            raise ValueError("a lost worker needs until_seconds: say when it is lost")
        return self


class Pool(Checked):
    """Workers of one role.

    Attributes:
        workers: How many there are, those that join later included.
        engine: What each of them runs.
        lifetimes: Of the workers that are not there from the beginning to the end.
    """

    workers: Annotated[int, Field(ge=1)]
    engine: Engine = Engine()
    lifetimes: tuple[Lifetime, ...] = ()


class Cluster(Checked):
    """The topology: one pool that prefills and decodes, or one pool for each.

    Attributes:
        aggregated: Workers that prefill and decode.
        prefill: Workers that prefill, and hand their KV blocks over.
        decode: Workers that decode.
    """

    aggregated: Pool | None = None
    prefill: Pool | None = None
    decode: Pool | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        has = tuple(pool is not None for pool in (self.aggregated, self.prefill, self.decode))
        if has not in ((True, False, False), (False, True, True)):
            raise ValueError(
                "a cluster has either an aggregated pool, or a prefill and a decode pool"
            )
        return self

    @classmethod
    def parse(cls, topology: str, engine: Engine | None = None) -> Self:
        """A cluster of equal workers: ``8``, or ``1P/5D`` for one prefill and five decode workers.

        Args:
            topology: As above; ``1P5D`` is ``1P/5D``.
            engine: What every worker runs; by default Dynamo's mocker with its own defaults.

        Raises:
            ConfigurationError: It is not a topology.
        """
        engine = engine or Engine()
        if match := re.fullmatch(r"([1-9]\d*)", topology):
            return cls(aggregated=Pool(workers=int(match[1]), engine=engine))
        if match := re.fullmatch(r"([1-9]\d*)[Pp]/?([1-9]\d*)[Dd]", topology):
            return cls(
                prefill=Pool(workers=int(match[1]), engine=engine),
                decode=Pool(workers=int(match[2]), engine=engine),
            )
        raise ConfigurationError(
            f"{topology!r} is no topology: write 8 for eight workers that prefill and decode, or"
            " 1P/5D for one prefill and five decode workers"
        )

    @property
    def workers(self) -> int:
        """All workers."""
        pools = (self.aggregated, self.prefill, self.decode)
        return sum(pool.workers for pool in pools if pool is not None)


class Toll(Checked):
    """Coefficients of the toll, in prefill tokens; a term whose coefficient is 0 is switched off.

    A worker's cost is B + u + ω·(k·n + κ·q)·u + l·n + d·A + m·f/(1 - f), with its backlog B, which
    is that of q mean prompts, the tokens u that it would have to compute, its n running requests,
    the A tokens that these hold, and the share f of its KV blocks that they take. docs/toll.md
    derives the terms.

    Attributes:
        interference: k, the share of a prefill's time that each running request loses to it.
        queueing: κ, the share of those who come while a worker has a backlog that are sent to it.
        request_tokens: l, what a running request costs.
        active_token_weight: d, what a token that a running request holds costs.
        pole_tokens: m, what the pole costs where half of the KV blocks are taken.
    """

    interference: NonNegative = 0.2
    queueing: NonNegative = 1.0
    request_tokens: NonNegative = 100.0
    active_token_weight: NonNegative = 0.0
    pole_tokens: NonNegative = 3_000.0


Rival = Literal[
    "least-loaded",
    "round-robin",
    "power-of-two",
    "lmetric",
    "lmetric-queued",
    "two-tier",
    "adaptive-sigmoid",
    "adaptive-aimd",
]
"""Routing policies of others, by their published rules; docs/results.md says which they are."""
RIVALS: tuple[Rival, ...] = get_args(Rival)


class RouterSettings(Checked):
    """The router in front of the cluster.

    Attributes:
        temperature: The τ that every pool starts with.
        prefill_weight: The ω that every pool starts with.
        config: Other keys of Dynamo's ``KvRouterConfig``; those that are not named have Dynamo's
            defaults.
        toll: The plug-in's mode ``toll``, on workers whose KV blocks it is told.
        rival: A policy of someone else in place of the plug-in; τ and ω mean nothing to it.
        replicas: Routers that share the requests in turn and tell each other nothing.
        kv_event_lag_seconds: How long a KV event takes from a worker to the routers.
    """

    temperature: NonNegative = 0.0
    prefill_weight: NonNegative = 1.0
    config: Mapping[str, Any] = {}
    toll: Toll | None = None
    rival: Rival | None = None
    replicas: Annotated[int, Field(ge=1)] = 1
    kv_event_lag_seconds: NonNegative = 0.0

    @model_validator(mode="after")
    def _has_one_policy(self) -> Self:
        names = {"router_temperature": "temperature", "prefill_load_scale": "prefill_weight"}
        for key, name in names.items():
            if key in self.config:
                raise ValueError(f"config has the key {key}: write it as {name}")
        if self.toll is not None and self.rival is not None:
            raise ValueError("toll and rival are both given: leave one out")
        return self
