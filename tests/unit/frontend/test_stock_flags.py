"""Our flags beside those of ``python -m dynamo.frontend``, read off its own parser."""

import argparse
import importlib
import os
import re
import warnings
from argparse import ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynamo_regime.frontend.flags import CARRIED, REFUSED, Flag
from dynamo_regime.frontend.flags.flag import Goes
from dynamo_regime.frontend.flags.parser import build_parser
from dynamo_regime.frontend.flags.serving import ADMIN
from tests.unit.frontend.samples import other_value

pytestmark = [
    pytest.mark.stock,
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # stock's, of its deprecated variables
]

OURS_ALONE = frozenset(ADMIN)
OF_STOCK = tuple(flag for flag in CARRIED if flag not in OURS_ALONE)
REFUSED_FLAGS = tuple(refusal.flag for refusal in REFUSED)
BOTH = (*OF_STOCK, *REFUSED_FLAGS)

# The one default that differs: the plug-in needs KV routing.
STOCK_ROUTER_MODE = "round-robin"
# Stock takes it without keeping a value, and warns of its variable.
VALUELESS = "--admission-control"

TEXTS = ("7", "0.5", "abc", "", "None", " a ", "1e400x", '{"policy": "prefill_load"}', "[1]")


def name_of(flag: Flag) -> str:
    return flag.name


@pytest.fixture(autouse=True)
def clean_environment() -> Iterator[None]:
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(("DYN_", "NATS_"))]:
        del os.environ[name]
    yield
    os.environ.clear()
    os.environ.update(before)


def stock_parser() -> argparse.ArgumentParser:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frontend_args = importlib.import_module("dynamo.frontend.frontend_args")
    parser = argparse.ArgumentParser()
    frontend_args.FrontendArgGroup().add_arguments(parser)
    return parser


def actions(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The actions by their first long name, without --help and --version."""
    return {
        next(name for name in action.option_strings if name.startswith("--")): action
        for action in parser._actions
        if not {"--help", "--version"} & set(action.option_strings)
    }


def test_every_flag_of_stock_is_carried_or_refused_by_name_and_there_are_no_others() -> None:
    assert set(actions(stock_parser())) == {flag.name for flag in BOTH}


@pytest.mark.parametrize("flag", BOTH, ids=name_of)
def test_spellings_destination_choices_and_default_are_stocks(flag: Flag) -> None:
    stock = actions(stock_parser())[flag.name]
    ours = actions(build_parser({}))[flag.name]
    assert ours.option_strings == stock.option_strings
    assert (ours.dest, ours.nargs) == (stock.dest, stock.nargs)
    assert tuple(ours.choices or ()) == tuple(stock.choices or ())
    if flag.name == VALUELESS:
        assert stock.default is argparse.SUPPRESS
    elif flag.name == "--router-mode":
        assert stock.default == STOCK_ROUTER_MODE
    else:
        assert ours.default == stock.default


@pytest.mark.parametrize("flag", [flag for flag in OF_STOCK if not flag.switch], ids=name_of)
def test_values_are_read_as_stock_reads_them(flag: Flag, tmp_path: Path) -> None:
    action = actions(stock_parser())[flag.name]
    for text in (*TEXTS, str(tmp_path)):
        assert read(flag.read, text) == read(action.type or str, text), text


def read(reader: object, text: str) -> object:
    """What ``reader`` makes of ``text``; ``ValueError`` if it refuses it."""
    assert callable(reader)
    try:
        value = reader(text)
    except (ValueError, ArgumentTypeError):
        return ValueError
    return str(value) if isinstance(value, Path) else value


@pytest.mark.parametrize(
    ("flag", "variable"), [(flag, variable) for flag in OF_STOCK for variable in flag.variables]
)
def test_a_variable_sets_what_it_sets_in_stock(flag: Flag, variable: str, tmp_path: Path) -> None:
    os.environ[variable] = other_value(flag, str(tmp_path))
    theirs = vars(stock_parser().parse_args([]))[flag.key]
    ours = vars(build_parser(os.environ).parse_args([]))[flag.key]
    assert ours != flag.default
    assert ours == (str(theirs) if isinstance(theirs, Path) else theirs)


@pytest.mark.parametrize(
    "flag", [flag for flag in REFUSED_FLAGS if flag.name != VALUELESS], ids=name_of
)
def test_the_variable_of_a_refused_flag_is_stocks(flag: Flag, tmp_path: Path) -> None:
    before = actions(stock_parser())[flag.name].default
    os.environ[flag.variables[0]] = other_value(flag, str(tmp_path))
    if flag.name == "--router-mode":
        os.environ[flag.variables[0]] = "direct"
    assert actions(stock_parser())[flag.name].default != before


def test_every_variable_that_stocks_help_names_is_known() -> None:
    text = " ".join(action.help or "" for action in actions(stock_parser()).values())
    named = set(re.findall(r"env var: (\w+)|(DYN_AIS_\w+)", text))
    ours = {variable for flag in BOTH for variable in flag.variables}
    assert named
    assert {first or second for first, second in named} <= ours


def test_router_flags_are_named_as_in_dynamos_router_configuration() -> None:
    kv_router_args = importlib.import_module("dynamo.common.configuration.groups.kv_router_args")
    router_args = importlib.import_module("dynamo.common.configuration.groups.router_args")
    ours = {flag.key for flag in CARRIED if flag.goes is Goes.KV_ROUTER}
    thresholds = {flag.key for flag in CARRIED if flag.goes is Goes.LOAD_THRESHOLDS}
    assert ours <= set(kv_router_args._KV_ROUTER_FIELDS)
    assert thresholds <= set(router_args._ROUTER_FIELDS)
