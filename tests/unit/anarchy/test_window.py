"""Windows: who was in flight together, and what is known of caches."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime.anarchy import at_moment, in_flight
from dynamo_regime.errors import InputError
from tests.unit.anarchy.games import requests

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.floats(0.0, 10.0), st.floats(0.01, 5.0)), min_size=1
)


@given(ROWS, st.floats(0.1, 3.0))
def test_a_window_holds_whoever_was_in_flight_at_its_moment(
    rows: list[tuple[int, float, float]], every: float
) -> None:
    worker, start, latency = (list(column) for column in zip(*rows, strict=True))
    table = requests(worker, latency, start=start, workers=3)
    found = {}
    for window in in_flight(table, every):
        found[round((window.time_seconds - min(start)) / every)] = window
        assert window.loads.sum() == len(window) > 0
    for k in range(int((max(start) + max(latency) - min(start)) / every) + 2):
        wanted = at_moment(table, min(start) + k * every)
        there = found.get(k)
        assert (0 if there is None else len(there)) == pytest.approx(len(wanted), abs=1)


@given(ROWS)
def test_the_mean_load_is_what_counting_at_many_moments_says(
    rows: list[tuple[int, float, float]],
) -> None:
    worker, start, latency = (np.array(column) for column in zip(*rows, strict=True))
    table = requests(worker.tolist(), latency.tolist(), start=start.tolist(), workers=3)
    load = table.mean_load()
    for row in range(min(len(rows), 5)):
        begin, end = start[row], start[row] + latency[row]
        together = np.minimum(end, start + latency) - np.maximum(begin, start)
        shared = np.clip(together, 0.0, None)[worker == worker[row]].sum()
        assert load[row] == pytest.approx(shared / (end - begin), rel=1e-6)


def test_of_other_workers_it_is_known_that_they_have_nothing_up_to_the_best_of_all() -> None:
    table = requests([0], [1.0], prompt=[10.0], cached=[4.0], best=[6.0], workers=3)
    window = at_moment(table, 0.5)
    nowhere = window.prefill_seconds(0.1, cached_elsewhere=False)
    np.testing.assert_allclose(nowhere, [[0.6, 1.0, 1.0]])
    np.testing.assert_allclose(
        window.prefill_seconds(0.1, cached_elsewhere=True), [[0.6, 0.4, 0.4]]
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"worker": [0, 2]}, "row 2 has a worker that does not exist"),
        ({"latency": [1.0, -1.0]}, "row 2 has a latency that is not a number of seconds above 0"),
        ({"latency": [float("nan"), 1.0]}, "row 1 has a latency"),
        ({"start": [0.0, float("inf")]}, "row 2 has a start that is no finite time"),
        ({"cached": [0.0, 3.0], "prompt": [1.0, 2.0]}, "row 2 has cached blocks"),
        ({"best": [5.0, 0.0], "prompt": [1.0, 1.0]}, "row 1 has more blocks cached than"),
    ],
)
def test_a_row_that_cannot_be_is_named(wrong: dict[str, list[float]], sentence: str) -> None:
    columns: dict[str, Any] = {"worker": [0, 1], "latency": [1.0, 1.0], **wrong}
    with pytest.raises(InputError, match=sentence):
        requests(**columns)
