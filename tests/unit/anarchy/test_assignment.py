"""The assignment, against scipy's Hungarian method on slots."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from dynamo_regime.anarchy.assignment import cheapest


@pytest.mark.parametrize("kind", ["rising", "flat", "full", "ties"])
def test_it_costs_as_much_as_the_hungarian_method_finds(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(60):
        n, workers = int(rng.integers(1, 80)), int(rng.integers(1, 7))
        own = rng.exponential(1.0, (n, workers))
        marginal = np.sort(rng.exponential(1.0, (workers, n)), axis=1)
        if kind == "flat":
            marginal[:] = rng.uniform(0.0, 1.0, (workers, 1))
        elif kind == "full":
            marginal[:, -(-n // workers) :] = np.inf
        elif kind == "ties":
            own, marginal = np.round(own), np.round(marginal)
        chosen = cheapest(own, marginal)
        slots = np.repeat(own, n, axis=1) + marginal.ravel()
        allowed = np.where(np.isfinite(slots), slots, 1e6)
        rows, columns = linear_sum_assignment(allowed)
        counts = np.bincount(chosen, minlength=workers)
        found = own[np.arange(n), chosen].sum() + sum(
            marginal[w, :count].sum() for w, count in enumerate(counts)
        )
        assert found == pytest.approx(allowed[rows, columns].sum(), rel=1e-9)
