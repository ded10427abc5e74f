"""Flags and environment variables: which value counts, and what is refused how."""

from pathlib import Path

import pytest

from dynamo_regime.errors import InputError
from dynamo_regime.frontend.flags import CARRIED, REFUSED, Flag, Refusal
from dynamo_regime.frontend.flags.parser import parse
from tests.unit.frontend.samples import command_line, other_value


def name_of(flag: Flag) -> str:
    return flag.name


def flag_of(refusal: Refusal) -> str:
    return refusal.flag.name


def one_sentence(error: InputError) -> str:
    message = str(error)
    assert "\n" not in message
    assert message
    return message


def test_no_two_flags_share_a_name_a_variable_or_a_key() -> None:
    flags = [*CARRIED, *(refusal.flag for refusal in REFUSED)]
    for of_all in (
        [name for flag in flags for name in flag.names],
        [variable for flag in flags for variable in flag.variables],
        [flag.key for flag in flags],
    ):
        assert len(of_all) == len(set(of_all))


@pytest.mark.parametrize("flag", CARRIED, ids=name_of)
def test_the_command_line_wins_over_the_environment_and_that_over_the_default(
    flag: Flag, tmp_path: Path
) -> None:
    text = other_value(flag, str(tmp_path))
    other = flag.read(text)
    assert parse([], {})[flag.key] == flag.default
    for variable in flag.variables:
        assert parse([], {variable: text})[flag.key] == other
    assert parse(command_line(flag, str(tmp_path)), {})[flag.key] == other
    if flag.switch:
        back = [f"--no-{flag.name.removeprefix('--')}" if other else flag.name]
        assert parse(back, {flag.variables[0]: text})[flag.key] == flag.default


def test_of_two_variables_the_present_spelling_wins() -> None:
    environment = {"DYN_OVERLAP_SCORE_WEIGHT": "2", "DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT": "3"}
    assert parse([], environment)["overlap_score_weight"] == 3.0


@pytest.mark.parametrize("refusal", REFUSED, ids=flag_of)
def test_a_flag_that_is_not_carried_is_refused_by_name_wherever_it_comes_from(
    refusal: Refusal, tmp_path: Path
) -> None:
    flag = refusal.flag
    text = other_value(flag, str(tmp_path))
    for arguments, environment in (
        (command_line(flag, str(tmp_path)), {}),
        ([], {flag.variables[0]: text}),
    ):
        with pytest.raises(InputError) as caught:
            parse(arguments, environment)
        message = one_sentence(caught.value)
        assert message.startswith(f"{flag.name} ({flag.variables[0]}) is not carried")
        assert message.endswith(refusal.instead)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--router-mode", "kv"],
        ["--no-interactive"],
        ["--no-kserve-grpc-server"],
        ["--dyn-chat-processor", "dynamo"],
        ["--router-prefill-load-model", "none"],
    ],
)
def test_a_flag_that_is_not_carried_may_ask_for_what_happens_anyway(arguments: list[str]) -> None:
    assert parse(arguments, {}) == parse([], {})


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        (["--http-port", "65536"], {}, "argument --http-port: must be an integer from 1 to 65535"),
        (["--http-port", "eight"], {}, "but is 'eight'"),
        (["--migration-limit", "-1"], {}, "must be an integer from 0 to 4294967295, but is '-1'"),
        (["--router-temperature", "nan"], {}, "must be a finite number, but is 'nan'"),
        (["--router-prefill-load-scale", "inf"], {}, "must be a finite number, but is 'inf'"),
        (["--discovery-backend", "zookeeper"], {}, "argument --discovery-backend: invalid choice"),
        (["--model-name", "  "], {}, "argument --model-name: must not be blank"),
        (["--model-path", "nowhere"], {}, "must be a folder, but 'nowhere' is none"),
        (["--router-conditional-disagg-config", "[1]"], {}, "must be a JSON object"),
        (["--nonesuch"], {}, "unrecognized arguments: --nonesuch"),
        ([], {"DYN_HTTP_PORT": ""}, "DYN_HTTP_PORT must be an integer from 1 to 65535"),
        ([], {"DYN_EVENT_PLANE": "kafka"}, "DYN_EVENT_PLANE must be one of nats, zmq"),
        ([], {"DYN_ROUTER_REPLICA_SYNC": "maybe"}, "must be true or false, but is 'maybe'"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_place(
    arguments: list[str], environment: dict[str, str], expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        parse(arguments, environment)
    assert expected in one_sentence(caught.value)


def test_help_names_every_carried_flag_with_its_variable_and_every_refused_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")  # so that no name is broken at a hyphen
    with pytest.raises(SystemExit) as caught:
        parse(["--help"], {})
    assert caught.value.code == 0
    shown = capsys.readouterr().out.split()
    words = {word.strip("[],;") for word in shown}
    for flag in CARRIED:
        assert words.issuperset(flag.names)
        assert words.issuperset(flag.variables)
    assert words.issuperset(refusal.flag.name for refusal in REFUSED)
