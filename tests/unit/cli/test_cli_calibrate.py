import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from dynamo_regime.sim.latency import PoleModel
from tests.unit.cli.conftest import Run

TRUE = PoleModel(a=0.002, b=0.05, d=1.5, n_sat=110.0, beta=1.0)


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    levels = np.repeat([1.0, 4, 16, 32, 64, 80, 96, 104], 5)
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(levels.size))
    rows = zip(levels, TRUE.seconds(levels) * noise, strict=True)
    path = tmp_path / "measured.csv"
    lines = (f"{n},{y}\n" for n, y in rows)
    path.write_text("concurrency,latency_seconds\n" + "".join(lines))
    return path


def test_a_fit_is_printed_with_intervals_and_written_for_an_engine(
    run: Run, measured: Path, tmp_path: Path
) -> None:
    curve, page = tmp_path / "curve.yaml", tmp_path / "fit.html"
    options = ("--output", str(curve), "--plot", str(page))
    result = run("calibrate", str(measured), *options)
    assert result.exit_code == 0, result.stderr
    assert "n_sat" in result.stdout
    model = PoleModel(**yaml.safe_load(curve.read_text()))
    assert model.n_sat == pytest.approx(110, rel=0.05)
    assert page.read_text().count("<svg") == 2
    printed = json.loads(run("calibrate", str(measured), "--json").stdout)
    assert printed["latency"] == model.model_dump()
    low, high = printed["intervals"]["n_sat"]
    assert low < 110 < high


def test_a_fitted_curve_can_be_simulated(run: Run, measured: Path, tmp_path: Path) -> None:
    curve, cluster = tmp_path / "curve.yaml", tmp_path / "cluster.yaml"
    run("calibrate", str(measured), "--output", str(curve))
    engine = {"latency": yaml.safe_load(curve.read_text())}
    cluster.write_text(yaml.safe_dump({"aggregated": {"workers": 2, "engine": engine}}))
    result = run("simulate", "--cluster", str(cluster), "--requests", "20", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["simulation"]["cluster"]["aggregated"]["workers"] == 2


def test_what_cannot_be_fitted_is_refused_and_nothing_is_written(run: Run, tmp_path: Path) -> None:
    flat, curve = tmp_path / "flat.csv", tmp_path / "curve.yaml"
    rows = "".join(f"{n},{0.1 + 0.01 * n}\n" for n in range(1, 20))
    flat.write_text("concurrency,latency_seconds\n" + rows)
    result = run("calibrate", str(flat), "--output", str(curve))
    assert result.exit_code == 1
    assert "a straight line fits as well" in result.stderr
    assert not curve.exists()


def test_a_cluster_file_with_a_fault_is_refused_by_file_and_key(run: Run, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("aggregated: {wrokers: 2}\n")
    result = run("simulate", "--cluster", str(cluster))
    assert result.exit_code == 1
    assert "cluster.yaml: the key aggregated." in result.stderr
