"""Many windows: together and by load."""

import numpy as np
import pytest

from dynamo_regime.anarchy import Costs
from dynamo_regime.anarchy.judge import by_load, evenly, flags, judge, together
from dynamo_regime.errors import InputError
from tests.unit.anarchy.games import linear, requests

LINE = Costs(linear(1.0), 0.0, "line", None)


def test_windows_together_are_sums_and_their_parts_add_up_to_one() -> None:
    # Two at once on one of two workers, then one alone: 4 against 2, and 1 against 1.
    table = requests([0, 0, 1], [2.0, 2.0, 1.0], start=[0.0, 0.0, 2.0])
    windows = judge(table, LINE, evenly(table, 3))
    assert [each.price.in_flight for each in windows] == [2, 2, 1]
    found = together(windows)
    assert found.low.price == found.high.price == pytest.approx(9 / 5)
    assert found.equilibrium.price == 1.0
    assert found.imbalance + found.queueing + found.cache_loss == pytest.approx(1.0)
    assert found.imbalance == pytest.approx(1.0)
    assert found.excess_seconds == pytest.approx(4 / 5)
    assert {name: len(members) for name, members in by_load(windows).items()} == {
        "1": 1,
        "2–3": 2,
    }
    assert [sentence.split()[0] for sentence in flags(windows, LINE)] == ["3", "The"]


def test_a_moment_without_requests_gives_no_window() -> None:
    table = requests([0, 1], [1.0, 1.0], start=[0.0, 9.0])
    assert len(judge(table, LINE, evenly(table, 10))) == 2
    with pytest.raises(InputError, match="no request was in flight at any of 1 moments"):
        judge(table, LINE, evenly(table, 1))
    with pytest.raises(InputError, match="there is no request"):
        evenly(requests([], []), 1)


def test_the_best_of_random_routing_is_nearer_the_optimum_than_the_worst() -> None:
    rng = np.random.default_rng(0)
    n = 200
    start = np.sort(rng.uniform(0.0, 50.0, n))
    even = requests((np.arange(n) % 4).tolist(), [2.0] * n, start=start.tolist(), workers=4)
    crowded = requests([0] * n, [2.0] * n, start=start.tolist(), workers=4)
    good, bad = (together(judge(each, LINE, evenly(each, 50))).low for each in (even, crowded))
    assert 1.0 <= good.price < 1.2
    assert bad.price > 2.0
