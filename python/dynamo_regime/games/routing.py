"""Game 3, routing: every request picks a worker, and is slowed by those that picked the same.

It is an atomic congestion game (Rosenthal 1973) with a cost of its own for each request on each
worker, such as the prefill of what is not cached there (arXiv 2606.17081, the routing game):

* player i, who takes strategy s, pays own[i, s] + Σ_r l_r(n_r) over the resources r of s, where n_r
  players use r. In routing a strategy is a worker, and its one resource is that worker;
* the potential Φ = Σ_i own[i, s_i] + Σ_r Σ_{k ≤ n_r} l_r(k) changes by exactly what a player who
  alone moves gains or loses, so that its minima are Nash equilibria and best responses end in one;
* the toll of a player is the delay it causes to others, Σ_r (n_r − 1)·(l_r(n_r) − l_r(n_r − 1)).
  With tolls charged, the potential is the social cost, and every optimum is an equilibrium
  (Pigou 1920; for atomic players Caragiannis, Kaklamanis and Kanellopoulos 2010).

With linear latencies the price of anarchy is at most 5/2, and that is attained (Christodoulou and
Koutsoupias 2005; Awerbuch, Azar and Epstein 2005). The own costs change none of this: each is a
resource of constant latency that no one else can use.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamo_regime.errors import InputError

Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Latency in seconds of a worker, for each number of requests at once on it, of any shape."""

MOST_PROFILES = 1_000_000
"""Brute force goes through so many profiles at most."""
_CHUNK = 4096
_GAIN = 1e-12
"""A move must gain more than this share of what the player pays, or rounding would count."""


@dataclass(frozen=True, slots=True, eq=False)
class CongestionGame:
    """Players who share resources; n players, m strategies each, r resources.

    Attributes:
        curves: Latency of each resource by the number of its users, r of them.
        uses: Which resources a player's strategy takes, shape (n, m, r).
        own_seconds: What a player pays for a strategy besides, shape (n, m); infinite where the
            player does not have it.
        latency_seconds: l_r(k) for k = 0 … n users, 0 for none, shape (r, n + 1).

    Raises:
        InputError: Shapes that do not fit, a latency that is negative or not finite, or a player
            without a strategy.
    """

    curves: tuple[Curve, ...]
    uses: NDArray[np.bool_]
    own_seconds: NDArray[np.float64]
    latency_seconds: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Tabulate the curves and refuse what cannot be."""
        if self.uses.shape != (*self.own_seconds.shape, len(self.curves)):
            raise InputError(
                f"uses has shape {self.uses.shape}, own_seconds {self.own_seconds.shape}, and there"
                f" are {len(self.curves)} curves: give (n, m, r), (n, m) and r"
            )
        players = self.own_seconds.shape[0]
        if players == 0:
            raise InputError("the game has no player: there is nothing to route")
        # The negation finds NaN, too.
        for player, own in enumerate(self.own_seconds):
            if not (own >= 0.0).all() or np.isinf(own).all():
                raise InputError(
                    f"own_seconds of player {player} must be 0 or more, and finite for a strategy"
                )
        users = np.arange(1, players + 1, dtype=np.float64)
        table = np.zeros((len(self.curves), players + 1))
        for number, curve in enumerate(self.curves):
            table[number, 1:] = curve(users)
            if not ((table[number] >= 0.0) & np.isfinite(table[number])).all():
                raise InputError(
                    f"the latency of resource {number} is negative or not finite within {players}"
                    " users: give a curve that is neither"
                )
        object.__setattr__(self, "latency_seconds", table)

    @classmethod
    def routing(cls, curves: Sequence[Curve], own_seconds: ArrayLike) -> Self:
        """Requests that pick one worker each.

        Args:
            curves: Latency of each worker.
            own_seconds: What each request pays on each worker whoever else is there, such as the
                prefill of what is not cached, shape (requests, workers); infinite where it may not
                go.
        """
        own = np.atleast_2d(np.asarray(own_seconds, dtype=np.float64))
        one = np.eye(len(curves), dtype=np.bool_)
        uses = np.broadcast_to(one, (own.shape[0], *one.shape))
        return cls(tuple(curves), uses, own)


def loads(game: CongestionGame, choice: ArrayLike) -> NDArray[np.int64]:
    """How many players use each resource, shape (r,).

    Args:
        game: The game.
        choice: The strategy of each player, shape (n,), as in all functions below.

    Raises:
        InputError: A player does not have its strategy.
    """
    chosen = _checked(game, choice)
    users: NDArray[np.int64] = game.uses[np.arange(chosen.size), chosen].sum(axis=0)
    return users


def alternatives_seconds(game: CongestionGame, choice: ArrayLike) -> NDArray[np.float64]:
    """What each player would pay with each strategy, if all others keep theirs, shape (n, m)."""
    chosen = _checked(game, choice)
    players = np.arange(chosen.size)
    taken = game.uses[players, chosen]
    # With the player itself counted once on each resource.
    users = taken.sum(axis=0) - taken + 1
    latency = game.latency_seconds[np.arange(users.shape[1]), users]
    shared: NDArray[np.float64] = np.einsum("nmr,nr->nm", game.uses, latency)
    return game.own_seconds + shared


def costs_seconds(game: CongestionGame, choice: ArrayLike) -> NDArray[np.float64]:
    """What each player pays, shape (n,)."""
    chosen = _checked(game, choice)
    paid: NDArray[np.float64] = alternatives_seconds(game, chosen)[np.arange(chosen.size), chosen]
    return paid


def social_cost_seconds(game: CongestionGame, choice: ArrayLike) -> float:
    """What all players pay together."""
    return float(costs_seconds(game, choice).sum())


def potential_seconds(game: CongestionGame, choice: ArrayLike) -> float:
    """Rosenthal's potential Φ, see the top of this module."""
    chosen = _checked(game, choice)
    summed = np.cumsum(game.latency_seconds, axis=1)
    users = loads(game, chosen)
    own = game.own_seconds[np.arange(chosen.size), chosen].sum()
    return float(own + summed[np.arange(users.size), users].sum())


def regret_seconds(game: CongestionGame, choice: ArrayLike) -> NDArray[np.float64]:
    """What each player would gain by its best move, 0 or more, shape (n,)."""
    chosen = _checked(game, choice)
    would_pay = alternatives_seconds(game, chosen)
    regret: NDArray[np.float64] = would_pay[np.arange(chosen.size), chosen] - would_pay.min(axis=1)
    return regret


def is_nash(game: CongestionGame, choice: ArrayLike, tolerance: float = 1e-9) -> bool:
    """Whether no player gains more than this share of what it pays by moving alone."""
    regret, paid = regret_seconds(game, choice), costs_seconds(game, choice)
    return bool((regret <= tolerance * paid).all())


def tolls_seconds(game: CongestionGame, choice: ArrayLike) -> NDArray[np.float64]:
    """The delay that each player causes to others, shape (n,): what it would have to be charged."""
    chosen = _checked(game, choice)
    users = loads(game, chosen)
    resources = np.arange(users.size)
    before = np.maximum(users - 1, 0)
    # Of one user alone there is no one to delay.
    caused = before * (
        game.latency_seconds[resources, users] - game.latency_seconds[resources, before]
    )
    toll: NDArray[np.float64] = game.uses[np.arange(chosen.size), chosen] @ caused
    return toll


def with_tolls(game: CongestionGame) -> CongestionGame:
    """The same game with every toll charged: its potential is the social cost of this one."""

    def charged(latency: NDArray[np.float64]) -> Curve:
        users = np.arange(latency.size)
        marginal = np.diff(users * latency, prepend=0.0)
        return lambda n: marginal[np.asarray(n, dtype=np.int64)]

    return CongestionGame(
        tuple(charged(row) for row in game.latency_seconds), game.uses, game.own_seconds
    )


def best_response(game: CongestionGame, choice: ArrayLike) -> NDArray[np.int64]:
    """The Nash equilibrium that best responses in turn lead to from a profile, shape (n,).

    The player who gains most moves, until no one gains. Every move lowers the potential, which has
    finitely many values, so that it ends.
    """
    chosen = _checked(game, choice).copy()
    while True:
        would_pay = alternatives_seconds(game, chosen)
        pays = would_pay[np.arange(chosen.size), chosen]
        gain = pays - would_pay.min(axis=1) - _GAIN * pays
        mover = int(gain.argmax())
        if gain[mover] <= 0.0:
            return chosen
        chosen[mover] = would_pay[mover].argmin()


@dataclass(frozen=True, slots=True)
class Extremes:
    """The best and the worst of a game, by brute force.

    Attributes:
        optimum_seconds: The least social cost.
        best_equilibrium_seconds: The least of a Nash equilibrium.
        worst_equilibrium_seconds: The largest of one.
    """

    optimum_seconds: float
    best_equilibrium_seconds: float
    worst_equilibrium_seconds: float

    @property
    def price_of_anarchy(self) -> float:
        """Worst equilibrium / optimum; 1 where nothing costs anything."""
        return _ratio(self.worst_equilibrium_seconds, self.optimum_seconds)

    @property
    def price_of_stability(self) -> float:
        """Best equilibrium / optimum; 1 where nothing costs anything."""
        return _ratio(self.best_equilibrium_seconds, self.optimum_seconds)


def brute_force(game: CongestionGame, tolerance: float = 1e-9) -> Extremes:
    """Optimum and pure equilibria by going through every profile.

    Args:
        game: A small game.
        tolerance: As in :func:`is_nash`.

    Raises:
        InputError: It has more than ``MOST_PROFILES`` profiles.
    """
    players, strategies = game.own_seconds.shape
    profiles = strategies**players
    if profiles > MOST_PROFILES:
        raise InputError(
            f"{players} players with {strategies} strategies have {profiles} profiles, more than"
            f" {MOST_PROFILES}: take fewer, or best_response and a bound on the optimum"
        )
    optimum, best, worst = math.inf, math.inf, -math.inf
    row, resource = np.arange(players), np.arange(len(game.curves))
    digits = strategies ** row.astype(np.int64)
    for start in range(0, profiles, _CHUNK):
        number = np.arange(start, min(start + _CHUNK, profiles))[:, None]
        choice = number // digits % strategies
        taken = game.uses[row, choice]
        users = taken.sum(axis=1, keepdims=True) - taken + 1
        would_pay = game.own_seconds + np.einsum(
            "nmr,pnr->pnm", game.uses, game.latency_seconds[resource, users]
        )
        pays = np.take_along_axis(would_pay, choice[:, :, None], axis=2)[:, :, 0]
        total = pays.sum(axis=1)
        optimum = min(optimum, float(total.min()))
        stable = np.isfinite(total) & (
            (pays <= (1.0 + tolerance) * would_pay.min(axis=2)).all(axis=1)
        )
        best = min(best, float(total[stable].min(initial=math.inf)))
        worst = max(worst, float(total[stable].max(initial=-math.inf)))
    return Extremes(optimum, best, worst)


def _ratio(cost: float, optimum: float) -> float:
    if optimum == 0.0:
        return 1.0 if cost == 0.0 else math.inf
    return cost / optimum


def _checked(game: CongestionGame, choice: ArrayLike) -> NDArray[np.int64]:
    chosen = np.asarray(choice, dtype=np.int64)
    players, strategies = game.own_seconds.shape
    if chosen.shape != (players,):
        raise InputError(f"a choice of shape {chosen.shape} for {players} players: give one each")
    for player in np.flatnonzero((chosen < 0) | (chosen >= strategies)):
        raise InputError(
            f"player {player} takes strategy {chosen[player]}, of 0 to {strategies - 1}"
        )
    for player in np.flatnonzero(np.isinf(game.own_seconds[np.arange(players), chosen])):
        raise InputError(f"player {player} does not have strategy {chosen[player]}: it costs inf")
    return chosen
