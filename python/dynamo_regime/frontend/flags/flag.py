"""What a flag is: its names, its environment variable, its default, and where its value goes."""

import json
import math
from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

Value = str | int | float | bool | list[str] | dict[str, object] | None

U16_MAX = 2**16 - 1
U32_MAX = 2**32 - 1


class Goes(Enum):
    """Where a flag's value goes."""

    HOST = auto()
    """Into the options of the native frontend, under the flag's key."""
    KV_ROUTER = auto()
    """Into Dynamo's KV-router configuration."""
    LOAD_THRESHOLDS = auto()
    """Into Dynamo's thresholds for busy workers."""
    ENVIRONMENT = auto()
    """Into the environment variable of the same meaning, where Dynamo's runtime reads it."""
    LAUNCHER = auto()
    """Nowhere: what starts the frontend acts on it."""


def text(value: str) -> str:
    """Any text."""
    return value


def nonblank(value: str) -> str:
    """Text without the white space around it, of which something must be left."""
    if not value.strip():
        raise ArgumentTypeError("must not be blank")
    return value.strip()


def path(value: str) -> str:
    """A path, as ``pathlib`` writes it."""
    return str(Path(value))


def folder(value: str) -> str:
    """The path of a folder that exists."""
    if not value or not Path(value).is_dir():
        raise ArgumentTypeError(f"must be a folder, but {value!r} is none")
    return value


def number(value: str) -> float:
    """A finite number."""
    try:
        parsed = float(value)
    except ValueError:
        parsed = math.nan
    if not math.isfinite(parsed):
        raise ArgumentTypeError(f"must be a finite number, but is {value!r}")
    return parsed


def integer(minimum: int = 0, maximum: int = U32_MAX) -> Callable[[str], int]:
    """A reader of integers from ``minimum`` to ``maximum``."""

    def read(value: str) -> int:
        try:
            parsed = int(value)
        except ValueError:
            parsed = minimum - 1
        if not minimum <= parsed <= maximum:
            raise ArgumentTypeError(
                f"must be an integer from {minimum} to {maximum}, but is {value!r}"
            )
        return parsed

    return read


def optional(read: Callable[[str], Value]) -> Callable[[str], Value]:
    """A reader that also takes ``None`` and nothing at all, for a setting that is off."""
    return lambda value: None if value in ("", "None") else read(value)


def truth(value: str) -> bool:
    """What an environment variable says of a switch."""
    match value.strip().lower():
        case "1" | "true" | "on" | "yes":
            return True
        case "" | "0" | "false" | "off" | "no":
            return False
    raise ArgumentTypeError(f"must be true or false, but is {value!r}")


def words(value: str) -> list[str]:
    """Words between white space."""
    return value.split()


def json_object(value: str) -> dict[str, object]:
    """A JSON object."""
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise ArgumentTypeError(f"must be a JSON object, but is {value!r}")
    return parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag.

    Attributes:
        names: Its spellings, the present one first. A switch also has each as ``--no-...``.
        variables: Environment variables that set it when the command line does not; the first that
            is there counts.
        default: Its value when nothing sets it.
        help: What it is for, in a sentence.
        read: Makes a value of text; raises ``ArgumentTypeError`` with what is wrong.
        choices: The values that are allowed; empty for any.
        repeated: Whether it may be given several times, each adding to a list.
        key: Name of the value where it goes.
        goes: Where the value goes.
    """

    names: tuple[str, ...]
    variables: tuple[str, ...]
    default: Value
    help: str
    read: Callable[[str], Value]
    choices: tuple[str, ...]
    repeated: bool
    key: str
    goes: Goes

    @property
    def name(self) -> str:
        """Its present spelling."""
        return next(name for name in self.names if name.startswith("--"))

    @property
    def switch(self) -> bool:
        """Whether it takes no value, but is there, is there as ``--no-...``, or is not there."""
        return self.read is truth


def flag(
    names: str,
    variables: str,
    default: Value,
    help_sentence: str,
    *,
    read: Callable[[str], Value] = text,
    choices: tuple[str, ...] = (),
    repeated: bool = False,
    key: str | None = None,
    goes: Goes = Goes.HOST,
) -> Flag:
    """A flag, its names and its variables written as words; its key is its name unless given."""
    spellings = tuple(names.split())
    return Flag(
        names=spellings,
        variables=tuple(variables.split()),
        default=default,
        help=help_sentence,
        read=read,
        choices=choices,
        repeated=repeated,
        key=key or spellings[0].lstrip("-").replace("-", "_"),
        goes=goes,
    )
