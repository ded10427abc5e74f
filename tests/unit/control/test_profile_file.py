import stat
from pathlib import Path

import pytest
import yaml

from dynamo_regime.control import (
    PRESETS,
    ConfigurationError,
    Profile,
    find_profile,
    load_profile,
    save_profile,
)

BY_HAND = """
schema: 1
name: by hand
workload:
  description: the conversation trace
  requests: 3000
pools:
  prefill:
    regimes:
      normal: {temperature: 0, prefill_weight: 3}
      transition: {temperature: 0, prefill_weight: 1}
      saturated: {temperature: 0, prefill_weight: 0.2}
  aggregated:
    load_index:
      - {load: 0, temperature: 0, prefill_weight: 3}
      - {load: 2, temperature: 0, prefill_weight: 0.2}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "profile.yaml"
    path.write_text(text)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_profile(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_a_profile_written_by_hand_needs_no_checksum(tmp_path: Path) -> None:
    profile = load_profile(written(tmp_path, BY_HAND))
    assert profile.name == "by hand"
    assert profile.workload is not None
    assert profile.workload.requests == 3000


@pytest.mark.parametrize("profile", PRESETS.values(), ids=PRESETS)
def test_what_is_saved_is_read_back(tmp_path: Path, profile: Profile) -> None:
    path = tmp_path / "profile.yaml"
    save_profile(profile, path)
    assert load_profile(path) == profile
    assert "checksum: sha256:" in path.read_text()


def test_a_change_after_the_checksum_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    save_profile(load_profile(written(tmp_path, BY_HAND)), path)
    changed = path.read_text().replace("prefill_weight: 3.0", "prefill_weight: 30.0")
    path.write_text(changed)
    assert "checksum" in refusal(path)


def test_layout_comments_order_and_spelling_of_numbers_are_no_change(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    save_profile(load_profile(written(tmp_path, BY_HAND)), path)
    content = yaml.safe_load(path.read_text())
    reordered = dict(reversed(content.items()))
    text = "# mine\n" + yaml.safe_dump(reordered, default_flow_style=True).replace("3.0", "3")
    path.write_text(text)
    assert load_profile(path).name == "by hand"


def test_saving_replaces_the_file_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, "old")
    save_profile(PRESETS["paper"], path)
    assert [each.name for each in tmp_path.iterdir()] == ["profile.yaml"]
    assert load_profile(path) == PRESETS["paper"]


def test_a_failed_save_keeps_the_old_file(tmp_path: Path) -> None:
    folder = tmp_path / "profile.yaml"
    folder.mkdir()  # a folder cannot be replaced by a file
    (folder / "kept").touch()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        save_profile(PRESETS["paper"], folder)
    assert [each.name for each in tmp_path.iterdir()] == ["profile.yaml"]


def test_a_saved_profile_can_be_read_by_others(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    save_profile(PRESETS["paper"], path)
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_newer_schema_is_refused_with_the_way_out(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, BY_HAND.replace("schema: 1", "schema: 2")))
    assert "schema 2" in message
    assert "upgrade" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: x", ["schema", "missing"]),
        ("schema: one", ["schema", "'one'", "whole number"]),
        ("schema: true", ["schema", "whole number"]),
        ("- a\n- b", ["mapping"]),
        ("", ["mapping"]),
        ("1: x", ["mapping"]),
        ("a: [1, 2", ["not valid YAML", "line"]),
        ("a: 1\na: 2", ["'a' comes twice", "line 2"]),
        ("schema: 1\nx: !!python/object/apply:os.getcwd []", ["not valid YAML", "line 2"]),
        ("a: " + "[" * 900, ["nested"]),
        ("a: \x00", ["YAML"]),
        ("a: 2001-99-99", ["YAML"]),
    ],
)
def test_what_is_no_profile_is_refused_with_its_place(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    message = refusal(written(tmp_path, text))
    for word in words:
        assert word in message


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in refusal(path)


def test_a_file_that_is_far_too_large_is_refused(tmp_path: Path) -> None:
    assert "larger" in refusal(written(tmp_path, "#" * (5 * 1024 * 1024)))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(tmp_path)


def test_a_profile_is_found_by_preset_or_by_path(tmp_path: Path) -> None:
    written(tmp_path, BY_HAND)
    assert find_profile("paper", tmp_path) is PRESETS["paper"]
    assert find_profile("profile.yaml", tmp_path).name == "by hand"
    with pytest.raises(ConfigurationError, match=r"no profile 'pepper'.*static, paper, measured"):
        find_profile("pepper", tmp_path)
