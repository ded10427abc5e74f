from pathlib import Path
from xml.etree import ElementTree

import pytest

from dynamo_regime.control.checked import ConfigurationError
from dynamo_regime.errors import InputError
from dynamo_regime.sim import Cluster
from dynamo_regime.study.case import Segment
from dynamo_regime.study.grid import grid_report, grid_study
from dynamo_regime.study.paired import two_studies_report
from dynamo_regime.study.policy import parse_policy, static_policy
from dynamo_regime.study.published import published
from dynamo_regime.study.report import Bars, Heatmap, Lines, Report, Series, Table
from dynamo_regime.study.report.page import html
from dynamo_regime.study.report.plots import svg
from dynamo_regime.study.report.values import percent, shown, with_deviation
from dynamo_regime.study.run_folder import Finished, Study, load_finished
from dynamo_regime.study.running import run_study
from dynamo_regime.study.side_by_side import (
    headroom_of,
    regrets,
    side_by_side,
    side_by_side_report,
)
from dynamo_regime.study.statistics import Estimate
from dynamo_regime.study.sweep import sweep_report, sweep_study
from tests.unit.sim.runs import conversations, steady

_POLICIES = [static_policy(0.0, 1.0), static_policy(0.0, 10.0)]


def _finished(study: Study, folder: Path) -> Finished:
    run_study(study, folder)
    return load_finished(folder)


def test_numbers_are_shown_as_people_write_them() -> None:
    assert [shown(value) for value in (None, 0.0, 0.35449, 12345.6, 10.0, 0.00012)] == [
        "–",
        "0",
        "0.354",
        "12346",
        "10",
        "0.00012",
    ]
    assert with_deviation(Estimate(2.0, 0.25, 3), 1e3) == "2000 ± 250"
    assert with_deviation(Estimate(2.0, None, 1)) == "2"
    assert percent(-0.1234) == "-12.3 %"


@pytest.mark.parametrize(
    "figure",
    [
        Lines("a", "x", "y", (Series("s", (0.0, 1.0), (Estimate(1.0, 0.1, 2), None)),), True, True),
        Bars("a", "y", ("g",), ("n",), ((Estimate(1.0, None, 1),),), log_y=True),
        Heatmap("a", "x", "y", ("1", "2"), ("1",), ((0.5, None),)),
    ],
)
def test_a_page_holds_its_figures_and_asks_for_nothing_else(
    figure: Lines | Bars | Heatmap,
) -> None:
    page = html(Report("<title>", (Table("t", ("a",), (("<b>",),), ("note",)),), (figure,)))
    assert ElementTree.fromstring(svg(figure)).tag.endswith("svg")
    assert "<svg" in page
    assert "&lt;b&gt;" in page
    for outside in ("<script", "<link", "<img", 'src="', "url(http", "@import"):
        assert outside not in page


def test_the_sweep_stands_beside_what_the_paper_prints_of_the_system(tmp_path: Path) -> None:
    from dynamo_regime.sim.systems import SYSTEMS

    study = sweep_study(
        "70B-1P2D",
        SYSTEMS["70B-1P2D"],
        [_POLICIES[0]],
        concurrencies=(2, 96),
        duration_seconds=20.0,
        seeds=1,
    )
    report = sweep_report(_finished(study, tmp_path))
    assert [row[0] for row in report.tables[0].rows] == ["2", "96"]
    beside = {row[:2]: row[2:] for row in report.tables[1].rows}
    paper, ours, difference = beside["96", "TTFT P99, s"]
    assert paper == "0.354"
    assert float(ours) == pytest.approx(0.354, rel=0.05)
    assert "fitted" in difference
    # What was not run is not made up.
    assert beside["128", "TTFT P99, s"][1] == "–"


def test_every_published_figure_says_why_ours_differs() -> None:
    for study in ("sweep", "grid", "spike"):
        assert all(each.difference for each in published(study, "70B-1P2D"))
    assert published("sweep", "8") == ()


def test_the_grid_names_the_setting_with_the_lowest_mean(tmp_path: Path) -> None:
    study = grid_study(
        "2",
        Cluster.parse("2"),
        [("fast", conversations(60, 4.0))],
        temperatures=(0.0, 1.0),
        prefill_weights=(0.0, 1.0),
        seeds=1,
    )
    finished = _finished(study, tmp_path)
    means = {
        (labels["temperature"], labels["prefill_weight"]): finished.results[case][
            0
        ].overall.ttft_mean_seconds
        or 0.0
        for case, labels in finished.labels.items()
    }
    best = min(means, key=lambda key: means[key])
    row = grid_report(finished).tables[0].rows[0]
    assert row[1] == f"{best[0]:g}, {best[1]:g}"
    warm = min(means[1.0, weight] for weight in (0.0, 1.0))
    cold = min(means[0.0, weight] for weight in (0.0, 1.0))
    assert row[4] == percent(warm / cold - 1.0)
    assert row[3] == percent(means[best] / means[0.0, 1.0] - 1.0)


def test_the_regret_is_against_the_best_static_policy_of_each_segment(tmp_path: Path) -> None:
    policies = [*_POLICIES, parse_policy("measured", tmp_path)]
    segments = (Segment("first", 0.0, 5.0), Segment("rest", 5.0))
    study = side_by_side(
        "replay",
        Cluster.parse("2"),
        conversations(80, 4.0),
        policies,
        segments=segments,
        settings={"cluster": "2", "workload": "conversation"},
        seeds=1,
    )
    finished = _finished(study, tmp_path / "run")
    for segment in (None, 0, 1):
        found = regrets(finished, segment)
        assert min(found["p0"], found["p1"]) == 0.0
        assert set(found) == {"p0", "p1", "p2"}
    halves = [
        [
            part.requests * (part.ttft_mean_seconds or 0.0)
            for part in finished.results[case][0].segments
        ]
        for case in ("p0", "p1")
    ]
    best = sum(min(pair) for pair in zip(*halves, strict=True))
    assert headroom_of(finished) == pytest.approx(best / min(map(sum, halves)) - 1.0)
    report = side_by_side_report(finished, "title")
    assert report.tables[-1].columns == ("policy", "all", "first", "rest")


def test_a_policy_named_twice_is_refused() -> None:
    with pytest.raises(InputError, match="named twice"):
        side_by_side(
            "replay",
            Cluster.parse("2"),
            steady(1, 1.0),
            [_POLICIES[0], _POLICIES[0]],
            settings={},
            seeds=1,
        )


def test_a_policy_is_a_pair_or_a_profile(tmp_path: Path) -> None:
    pair = parse_policy("0.5, 2", tmp_path)
    assert (pair.setting.temperature, pair.setting.prefill_weight) == (0.5, 2.0)
    assert parse_policy("paper", tmp_path).profile is not None
    for wrong in ("0,x", "0,-1", "nan,1"):
        with pytest.raises(InputError, match="is no policy"):
            parse_policy(wrong, tmp_path)
    with pytest.raises(ConfigurationError, match="there is no profile"):
        parse_policy("nothing", tmp_path)


def test_two_studies_are_compared_case_by_case(tmp_path: Path) -> None:
    def study(weight: float, concurrency: int, seeds: int = 1) -> Study:
        return sweep_study(
            "2",
            Cluster.parse("2"),
            [static_policy(0.0, weight)],
            concurrencies=(concurrency,),
            duration_seconds=5.0,
            seeds=seeds,
        )

    one = _finished(study(1.0, 4), tmp_path / "one")
    other = _finished(study(2.0, 4), tmp_path / "other")
    report = two_studies_report(one, other, ("one", "other"))
    assert len(report.tables) == 1
    ttft = next(row for row in report.tables[0].rows if row[0] == "mean TTFT, s")
    assert float(ttft[3]) == pytest.approx(
        one.results["p0-c4"][0].overall.ttft_mean_seconds, rel=1e-3
    )
    apart = _finished(study(1.0, 5), tmp_path / "apart")
    with pytest.raises(InputError, match="no case in common"):
        two_studies_report(one, apart, ("one", "apart"))
    more = _finished(study(1.0, 4, seeds=2), tmp_path / "more")
    with pytest.raises(InputError, match="the same --seeds"):
        two_studies_report(one, more, ("one", "more"))
