"""``dynamo-regime cache-game``."""

import json
from pathlib import Path

import pytest

from dynamo_regime.games.cache import selfish, social_cost_seconds, without_link
from dynamo_regime.games.cache_study import find_braess
from tests.unit.cli.conftest import Run

_SMALL = ("--workers", "4", "--items", "6", "--seeds", "1", "--zipf", "1")


def test_a_row_for_every_network_and_capacity(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "cache.html"
    result = run("cache-game", *_SMALL, "--slots", "1,1,0", "--page", str(page), "--json")
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["tables"][0]["rows"]
    prices = {row["network"]: float(row["price ≥"]) for row in rows}
    assert len(prices) == 4
    assert prices["no links"] == 1.0
    assert min(prices.values()) >= 1.0
    assert "<table>" in page.read_text()


def test_the_braess_instance_is_one() -> None:
    found = find_braess()
    assert found is not None
    dear = social_cost_seconds(found.game, selfish(found.game)[0])
    without = without_link(found.game, *found.link)
    assert dear == pytest.approx(found.with_link_seconds)
    assert social_cost_seconds(without, selfish(without)[0]) == found.without_link_seconds
    assert dear > 1.02 * found.without_link_seconds


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--slots", "1,1"), "--slots is '1,1': write three numbers"),
        (("--zipf", "-1"), "exponents are 0 or more"),
    ],
)
def test_wrong_use_is_one_sentence(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    result = run("cache-game", *_SMALL, *arguments)
    assert result.exit_code == 1
    assert sentence in result.stderr
