from pathlib import Path

import pytest

from dynamo_regime.control import PRESETS, ConfigurationError, Controller, ControllerSettings, Mode
from dynamo_regime.control.checked import validated

PLACE = "router.yaml, section regime_controller"


def settings(**content: object) -> ControllerSettings:
    return validated(ControllerSettings, content, PLACE)


def test_a_first_deployment_changes_nothing() -> None:
    assert settings().mode is Mode.SHADOW


def test_the_profile_is_a_preset_a_file_or_written_in_place(tmp_path: Path) -> None:
    assert settings().resolved_profile(PLACE, tmp_path) is PRESETS["measured"]
    here = {
        "schema": 1,
        "name": "here",
        "pools": {
            "prefill": {
                "load_index": [
                    {"load": 0, "temperature": 0, "prefill_weight": 2},
                    {"load": 2, "temperature": 0, "prefill_weight": 1},
                ]
            }
        },
    }
    assert settings(profile=here).resolved_profile(PLACE, tmp_path).name == "here"
    with pytest.raises(ConfigurationError, match=r"section regime_controller\.profile: .* schema"):
        settings(profile={"name": "here"}).resolved_profile(PLACE, tmp_path)


def test_settings_make_a_controller(tmp_path: Path) -> None:
    content = {"mode": "act", "detector": {"kind": "paper", "preset": "340B"}}
    controller = Controller.from_settings(settings(**content), PLACE, tmp_path)
    assert controller.mode is Mode.ACT
    assert controller.reading_interval_seconds == 5.0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"mode": "auto"}, ["mode is 'auto'", "'act', 'shadow' or 'off'"]),
        ({"modus": "act"}, ["modus", "unknown"]),
        ({"detector": {"kind": "fft"}}, ["detector.kind", "'fft'"]),
        ({"regime": {"debounce_readings": 0}}, ["regime.debounce_readings", "0"]),
        ({"regime": {"min_dwell_seconds": 0}}, ["regime.min_dwell_seconds", "above 0"]),
        ({"profile": 3}, ["profile: 3 must be a preset's name"]),
    ],
)
def test_a_wrong_setting_is_refused_in_one_sentence(
    content: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        settings(**content)
    message = str(caught.value)
    assert message.startswith(PLACE)
    assert "\n" not in message
    for word in words:
        assert word in message
