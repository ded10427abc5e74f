"""Game 1, the split: prefill and decode share N workers, x_p + x_d = N.

A generalised Nash game of two players with one shared constraint (arXiv 2606.17081, the P/D
resource game; Rosen 1965). Prefill maximises its own concave utility U_p(x_p), decode its own

    U_d(x_d, x_p) = V(x_d) + E(x_p),

where E is what prefill does to decode without being paid for it: the sooner a prompt is prefilled,
the shorter the decode slot that waits for it idles. Then:

* every split at which both would take more is an equilibrium; the *variational* one, in which both
  pay the same price λ for a worker, has U_p'(x_p) = V'(x_d) = λ and is unique;
* the social optimum of U_p + U_d has U_p'(x_p) + E'(x_p) = V'(x_d): it gives prefill more, until
  the marginals differ by just the external term, V' − U_p' = E'.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dynamo_regime.errors import InputError

Utility = Callable[[float], float]
"""Utility of a number of workers; concave and nondecreasing where the game is played."""

_HALVINGS = 60
_STEP = 1e-5
"""Of the central differences, as a share of the workers."""


@dataclass(frozen=True, slots=True)
class SplitGame:
    """Two players who share workers.

    Attributes:
        workers: N.
        prefill: U_p(x_p).
        decode: V(x_d), decode's utility of its own workers.
        idling: E(x_p), what prefill's workers add to decode's utility; by default nothing.
        least_prefill: Prefill's utility is not concave, or minus infinity, below so many.
        least_decode: Decode's alike.

    Raises:
        InputError: There are too few workers for both.
    """

    workers: float
    prefill: Utility
    decode: Utility
    idling: Utility = lambda _: 0.0
    least_prefill: float = 0.0
    least_decode: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not 0.0 <= self.least_prefill + self.least_decode < self.workers:
            raise InputError(
                f"{self.workers:g} workers are too few: prefill needs more than"
                f" {self.least_prefill:.3g} and decode more than {self.least_decode:.3g}: add"
                " workers or take a smaller load"
            )

    def welfare(self, prefill_workers: float) -> float:
        """U_p + U_d with so many of the workers for prefill."""
        return (
            self.prefill(prefill_workers)
            + self.idling(prefill_workers)
            + self.decode(self.workers - prefill_workers)
        )


@dataclass(frozen=True, slots=True)
class Split:
    """A division of the workers, and what one more would be worth to each.

    Attributes:
        prefill_workers: x_p.
        decode_workers: x_d.
        prefill_marginal: U_p'(x_p).
        decode_marginal: V'(x_d).
        external_marginal: E'(x_p), what one more prefill worker is worth to decode.
        welfare: U_p + V + E.
    """

    prefill_workers: float
    decode_workers: float
    prefill_marginal: float
    decode_marginal: float
    external_marginal: float
    welfare: float


def variational_equilibrium(game: SplitGame) -> Split:
    """The split at which a worker is worth the same to both, or the one nearest to it.

    It is the root of U_p'(x) − V'(N − x), which falls with x since both are concave.
    """
    return split_at(game, _balance(game, game.prefill))


def social_optimum(game: SplitGame) -> Split:
    """The split of the largest welfare: U_p'(x) + E'(x) = V'(N − x)."""
    return split_at(game, _balance(game, lambda x: game.prefill(x) + game.idling(x)))


def split_at(game: SplitGame, prefill_workers: float) -> Split:
    """The split with so many workers for prefill."""
    x = prefill_workers
    step = _STEP * game.workers
    return Split(
        prefill_workers=x,
        decode_workers=game.workers - x,
        prefill_marginal=_slope(game.prefill, x, step),
        decode_marginal=_slope(game.decode, game.workers - x, step),
        external_marginal=_slope(game.idling, x, step),
        welfare=game.welfare(x),
    )


def integer_equilibrium(game: SplitGame) -> int:
    """The whole number of prefill workers, from 1 to N − 1, at which neither would pay for a swap.

    U_p(x) + V(N − x) is a potential of the game, whose maximum it is.
    """
    return _best(game, lambda x: game.prefill(x) + game.decode(game.workers - x))


def integer_optimum(game: SplitGame) -> int:
    """The whole number of prefill workers, from 1 to N − 1, of the largest welfare."""
    return _best(game, game.welfare)


def _best(game: SplitGame, value: Utility) -> int:
    if game.workers < 2 or game.workers != int(game.workers):
        raise InputError(
            f"{game.workers:g} workers cannot be split: give a whole number, 2 or more"
        )
    return max(range(1, int(game.workers)), key=value)


def _balance(game: SplitGame, prefill: Utility) -> float:
    step = _STEP * game.workers
    # Within the bounds by as much as the differences reach.
    low = game.least_prefill + step
    high = game.workers - game.least_decode - step
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if _slope(prefill, middle, step) > _slope(game.decode, game.workers - middle, step):
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _slope(utility: Utility, x: float, step: float) -> float:
    # Next to a bound the interval is as wide as fits.
    width = min(step, x / 2.0)
    return (utility(x + width) - utility(x - width)) / (2.0 * width)
