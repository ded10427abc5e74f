"""From a command line and an environment to a value for every flag."""

import argparse
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from typing import NoReturn

import dynamo_regime
from dynamo_regime.errors import InputError
from dynamo_regime.frontend.flags import CARRIED, GROUPS, REFUSED, Flag
from dynamo_regime.frontend.flags.flag import Value

_DESCRIPTION = """
Dynamo's OpenAI frontend with the router plug-in regime linked in. It takes the flags and the
environment variables of python -m dynamo.frontend, with the same defaults, but always routes by KV
cache. Change a pool's policy while it serves with dynamo-regime set, or over the admin listener.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (--help lists all flags)")


def parse(arguments: Sequence[str], environment: Mapping[str, str]) -> dict[str, Value]:
    """The value of every carried flag by its key.

    Ends the process, as argparse does, for ``--help`` and ``--version``.

    Raises:
        InputError: A flag or a variable is unknown, is not carried, or has a value it cannot have.
    """
    values = vars(build_parser(environment).parse_args(arguments))
    for refusal in REFUSED:
        flag = refusal.flag
        if values[flag.key] != flag.default:
            raise InputError(
                f"{flag.name} ({flag.variables[0]}) is not carried by this frontend: "
                f"{refusal.instead}"
            )
    return {flag.key: values[flag.key] for flag in CARRIED}


def build_parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    """A parser of all flags, carried or not, whose defaults are those of the environment.

    Raises:
        InputError: A variable has a value that its flag cannot have.
    """
    parser = _Parser(
        prog="python -m dynamo_regime.frontend",
        usage="%(prog)s [flag ...]",
        description=_DESCRIPTION,
        epilog="Not carried, and refused unless they ask for what happens anyway: "
        + ", ".join(refusal.flag.name for refusal in REFUSED),
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"dynamo-regime frontend {dynamo_regime.__version__}",
    )
    for title, flags in GROUPS.items():
        group = parser.add_argument_group(title)
        for flag in flags:
            _add(group, flag, help_text=_help(flag))
    for refusal in REFUSED:
        _add(parser, refusal.flag, help_text=argparse.SUPPRESS)
    flags = (*CARRIED, *(refusal.flag for refusal in REFUSED))
    parser.set_defaults(**{flag.key: _default(flag, environment) for flag in flags})
    return parser


def _add(group: argparse._ActionsContainer, flag: Flag, help_text: str) -> None:
    if flag.switch:
        group.add_argument(
            *flag.names, dest=flag.key, action=argparse.BooleanOptionalAction, help=help_text
        )
        return
    group.add_argument(
        *flag.names,
        dest=flag.key,
        action="append" if flag.repeated else "store",
        type=str if flag.repeated else flag.read,
        choices=flag.choices or None,
        metavar=None if flag.choices else "VALUE",
        help=help_text,
    )


def _help(flag: Flag) -> str:
    default = "" if flag.default is None else f"; default {flag.default}"
    return f"{flag.help} [{' or '.join(flag.variables)}{default}]"


def _default(flag: Flag, environment: Mapping[str, str]) -> Value:
    for variable in flag.variables:
        # A choice left empty is one not made: deployment templates write such variables.
        if variable not in environment or (flag.choices and not environment[variable]):
            continue
        try:
            value = flag.read(environment[variable])
        except ArgumentTypeError as error:
            raise InputError(f"{variable} {error}") from error
        if flag.choices and value not in flag.choices:
            raise InputError(
                f"{variable} must be one of {', '.join(flag.choices)}, but is {value!r}"
            )
        return value
    return flag.default
