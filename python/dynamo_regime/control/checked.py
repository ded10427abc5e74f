"""From what a person wrote to a checked value, or to one sentence that says what is wrong."""

import math
from collections.abc import Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from dynamo_regime.errors import RegimeError

MAX_FILE_BYTES = 4 * 1024 * 1024
"""A file above this is no configuration."""


class ConfigurationError(RegimeError, ValueError):
    """A profile or a setting that cannot be used; the message names the file, key and remedy."""


class Checked(BaseModel):
    """Base of everything that is read from a file: immutable, and no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _number(value: object, *, zero: bool) -> float:
    # YAML's yes and no are booleans, which would count as 1 and 0.
    wanted = "a finite number, 0 or more" if zero else "a finite number above 0"
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{_shown(value)} must be {wanted}") from None
    if not math.isfinite(number) or number < 0.0 or (number == 0.0 and not zero):
        raise ValueError(f"{_shown(value)} must be {wanted}")
    return number


NonNegative = Annotated[float, BeforeValidator(partial(_number, zero=True))]
Positive = Annotated[float, BeforeValidator(partial(_number, zero=False))]

M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], content: Mapping[str, Any], place: str) -> M:
    """Check ``content`` against ``model``.

    Args:
        model: What is expected.
        content: What was written.
        place: The file, and the section in it if it is not all of it, for the message.

    Raises:
        ConfigurationError: It does not fit; of several faults the first is named.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=True)[0]
        raise ConfigurationError(_sentence(place, first)) from None


def read_text(path: Path) -> str:
    """The text of a configuration file.

    Raises:
        ConfigurationError: It cannot be read, is too large, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read ({error.strerror}): mend its name or its permissions"
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise ConfigurationError(
            f"{path} is larger than {MAX_FILE_BYTES} bytes: name a configuration file"
        )
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not UTF-8 text: save it as UTF-8") from None


def parse_mapping(text: str, place: str) -> dict[str, Any]:
    """Parse YAML that must be a mapping with text for keys. Only plain data are made of it.

    Raises:
        ConfigurationError: It is no YAML, no mapping, or has a key twice.
    """
    try:
        content = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigurationError(
            f"{place} is not valid YAML{where} ({error.problem or error.context}): mend it there"
        ) from None
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise ConfigurationError(f"{place} is not valid YAML ({problem}): mend it") from None
    except (RecursionError, ValueError) as error:
        what = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise ConfigurationError(f"{place} cannot be used as YAML ({what}): mend it") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise ConfigurationError(f"{place} is not a mapping of names to values: write 'key: value'")
    return content


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses a key that comes twice, of which YAML's users would lose one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode):
                if key_node.value in seen and key_node.tag != "tag:yaml.org,2002:merge":
                    self._refuse(f"the key {key_node.value!r} comes twice", key_node)
                seen.add(key_node.value)
        return super().construct_mapping(node, deep)

    def _refuse(self, problem: str, node: yaml.Node) -> NoReturn:
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _sentence(place: str, error: Any) -> str:
    """One fault that pydantic found, as a sentence."""
    steps = list(error["loc"])
    kind = error["type"]
    context = error.get("ctx", {})
    found = _shown(error.get("input"))
    if kind == "missing":
        return f"{place}: the key {_key(steps)} is missing: add it"
    if kind == "extra_forbidden":
        return f"{place}: the key {_key(steps)} is unknown: remove it or mend its spelling"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        if kind == "union_tag_not_found":
            return f"{place}: the key {_key([*steps, 'kind'])} is missing: say which kind it is"
        tag, known = context["tag"], context["expected_tags"]
        return f"{place}: {_key([*steps, 'kind'])} is {tag!r}, which is unknown: use one of {known}"
    if kind in ("enum", "literal_error"):
        expected = context.get("expected")
        return f"{place}: {_key(steps)} is {found}, which is unknown: use {expected}"
    if kind == "value_error":
        where = f"{_key(steps)}: " if steps else ""
        return f"{place}: {where}{context['error']}"
    problem = error["msg"][0].lower() + error["msg"][1:]
    return f"{place}: {_key(steps)} is {found}: {problem}"


def _key(steps: list[Any]) -> str:
    # pydantic names the chosen kind of a detector or source as a step, which nobody wrote.
    written = [
        str(step)
        for before, step in zip([None, *steps], steps, strict=False)
        if before not in ("detector", "signals") or step == "kind"
    ]
    return ".".join(written) or "the whole"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes or true" if value else "no or false"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
