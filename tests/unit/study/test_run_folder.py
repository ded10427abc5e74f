import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dynamo_regime.control.checked import ConfigurationError
from dynamo_regime.errors import InputError, RegimeError
from dynamo_regime.sim import Cluster, RouterSettings, simulate
from dynamo_regime.sim.workload import Workload
from dynamo_regime.study.case import Case, Segment
from dynamo_regime.study.policy import static_policy
from dynamo_regime.study.result import Result, delayed_at
from dynamo_regime.study.run_folder import Study, load_finished, load_result
from dynamo_regime.study.running import run_all, run_case, run_study
from tests.unit.sim.runs import prompts, steady

_WORKLOAD = prompts([0.1 * i for i in range(30)])


def _case(name: str, weight: float = 1.0, workload: Workload = _WORKLOAD) -> Case:
    segments = (Segment("first", 0.0, 1.0), Segment("rest", 1.0))
    labels = {"weight": weight}
    policy = static_policy(0.0, weight)
    return Case(name, labels, Cluster.parse("2"), workload, policy, RouterSettings(), segments)


def _study(seeds: int = 2, weight: float = 1.0) -> Study:
    return Study("sweep", (_case("a", weight), _case("b", 3.0)), seeds, {"system": "2"})


def _stop_after(count: int) -> Callable[[int, int], None]:
    def progress(finished: int, _total: int) -> None:
        if finished == count:
            raise KeyboardInterrupt

    return progress


def test_a_result_is_what_the_simulation_says(tmp_path: Path) -> None:
    case = _case("a")
    run_study(_study(), tmp_path)
    kept = load_finished(tmp_path).results["a"][1]
    requests = simulate(case.simulation(1)).requests
    assert kept.overall.ttft_mean_seconds == pytest.approx(requests.ttft_seconds.mean())
    first = requests.ttft_seconds[requests.arrival_seconds < 1.0]
    assert kept.segments[0].requests == first.size
    assert kept.segments[0].ttft_p99_seconds == pytest.approx(np.quantile(first, 0.99))
    assert sum(each.requests for each in kept.segments) == len(requests)
    assert kept.rejected == 0


def test_metering_the_load_changes_nothing_of_a_run() -> None:
    case = replace(_case("a", workload=steady(4, 5.0)), metered=True)
    plain = simulate(case.simulation(3)).requests
    watched = simulate(case.simulation(3), controller=case.controller()).requests
    assert np.array_equal(plain.ttft_seconds, watched.ttft_seconds)
    assert np.array_equal(plain.decode_worker, watched.decode_worker)


def test_the_load_index_of_a_run_is_that_at_which_requests_are_delayed() -> None:
    # Three quarters of the time nothing waits: all delay is incurred at 2.
    assert delayed_at(np.array([0.0, 0.0, 0.0, 2.0])) == 2.0
    assert delayed_at(np.array([1.0, 3.0])) == pytest.approx(2.5)
    assert delayed_at(np.zeros(3)) == 0.0
    assert delayed_at(np.array([])) is None


def test_one_job_and_many_have_the_same_results(tmp_path: Path) -> None:
    loaded = []
    for jobs in (1, 3):
        run_study(_study(), tmp_path / str(jobs), jobs=jobs)
        results = load_finished(tmp_path / str(jobs)).results
        loaded.append(
            {
                name: [result.model_copy(update={"wall_seconds": 0.0}) for result in each]
                for name, each in results.items()
            }
        )
    assert loaded[0] == loaded[1]


def test_an_interrupted_study_goes_on_where_it_was_left(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_study(_study(), tmp_path, jobs=1, progress=_stop_after(2))
    finished = sorted((tmp_path / "results").iterdir())
    assert len(finished) == 2
    before = [path.stat().st_mtime_ns for path in finished]
    with pytest.raises(ConfigurationError, match="is not finished"):
        load_finished(tmp_path)
    told: list[tuple[int, int]] = []
    run_study(_study(), tmp_path, progress=lambda *counts: told.append(counts))
    assert told == [(2, 4), (3, 4), (4, 4)]
    assert [path.stat().st_mtime_ns for path in finished] == before
    assert not list(tmp_path.rglob("*.tmp"))


def test_more_seeds_are_added_and_fewer_are_read(tmp_path: Path) -> None:
    run_study(_study(seeds=1), tmp_path)
    told: list[tuple[int, int]] = []
    run_study(_study(seeds=2), tmp_path, progress=lambda *counts: told.append(counts))
    assert told[0] == (2, 4)
    run_study(_study(seeds=1), tmp_path)
    assert len(load_finished(tmp_path).results["a"]) == 1


def test_the_folder_of_another_study_is_refused_in_one_sentence(tmp_path: Path) -> None:
    run_study(_study(seeds=1), tmp_path)
    with pytest.raises(ConfigurationError, match="differs in cases: name another folder"):
        run_study(_study(seeds=1, weight=2.0), tmp_path)
    other = prompts([0.2 * i for i in range(30)])
    changed = Study("sweep", (_case("a", workload=other), _case("b", 3.0)), 1, {"system": "2"})
    with pytest.raises(ConfigurationError, match="differs in cases"):
        run_study(changed, tmp_path)


def test_the_digest_is_of_all_but_the_number_of_seeds() -> None:
    assert _study(seeds=1).digest == _study(seeds=5).digest
    assert _study().digest != _study(weight=2.0).digest


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    run_study(_study(seeds=1), tmp_path)
    path = tmp_path / "results" / "a.seed-0.json"
    path.write_text(path.read_text()[:40])
    with pytest.raises(ConfigurationError, match=r"a.seed-0.json is damaged"):
        load_result(tmp_path, "a", 0)
    path.write_text(json.dumps({"case": "a"}))
    with pytest.raises(ConfigurationError, match="the key seed is missing"):
        load_result(tmp_path, "a", 0)


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="name the folder of a study"):
        load_finished(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "x.json").write_text("{}")
    with pytest.raises(ConfigurationError, match=r"holds results but no study.json"):
        run_study(_study(), tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ConfigurationError, match="name another folder"):
        run_study(_study(), blocked)


def test_a_failed_run_stops_the_others_and_is_told() -> None:
    kept: list[Result] = []
    # 4,000 virtual seconds, which a stop cuts short.
    runs = [(_case("long", workload=steady(64, 4000.0)), 0), (_case("bad"), -1)]
    with pytest.raises(RegimeError, match="the seed is -1"):
        run_all(runs, kept.append, jobs=2)
    assert kept == []


def test_jobs_below_one_are_refused() -> None:
    with pytest.raises(InputError, match="jobs is 0"):
        run_all([(_case("a"), 0)], lambda _: None, jobs=0)


def test_a_case_may_be_run_alone() -> None:
    assert run_case(_case("a"), 0).case == "a"
