"""Profiles as YAML files: read with one clear sentence for every fault, and written whole."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dynamo_regime.control.checked import (
    ConfigurationError,
    parse_mapping,
    read_text,
    validated,
)
from dynamo_regime.control.presets import PRESETS
from dynamo_regime.control.profile import SCHEMA, Profile


def find_profile(reference: str, folder: Path) -> Profile:
    """The profile that a setting names.

    Args:
        reference: A preset, or else the path of a file.
        folder: What a relative path is relative to.

    Raises:
        ConfigurationError: There is no such preset or file, or the file cannot be used.
    """
    if reference in PRESETS:
        return PRESETS[reference]
    path = folder / reference
    if not path.exists():
        known = ", ".join(PRESETS)
        raise ConfigurationError(
            f"there is no profile {reference!r}: name a preset ({known}) or a file; {path} is none"
        )
    return load_profile(path)


def load_profile(path: Path) -> Profile:
    """Read a profile.

    Raises:
        ConfigurationError: It cannot be read, is no profile, has a newer schema, or was changed
            since its checksum was made.
    """
    return profile_from(parse_mapping(read_text(path), str(path)), str(path))


def profile_from(content: Mapping[str, Any], place: str) -> Profile:
    """A profile from plain data, as they stand in a file or in a section of one.

    Raises:
        ConfigurationError: As :func:`load_profile`; ``place`` names file and section in it.
    """
    content = dict(content)
    schema = content.pop("schema", None)
    if schema is None:
        raise ConfigurationError(f"{place}: the key schema is missing: add 'schema: {SCHEMA}'")
    if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
        raise ConfigurationError(
            f"{place}: schema is {schema!r} and must be a whole number: write 'schema: {SCHEMA}'"
        )
    if schema > SCHEMA:
        raise ConfigurationError(
            f"{place} has schema {schema} and this dynamo-regime reads up to {SCHEMA}: upgrade"
            " dynamo-regime, or have the profile written by this version"
        )
    checksum = content.pop("checksum", None)
    if checksum is not None and checksum != checksum_of(schema, content):
        raise ConfigurationError(
            f"{place}: the checksum does not fit the content, so it was changed since it was"
            " measured: restore it, or remove the key checksum to answer for the change yourself"
        )
    return validated(Profile, content, place)


def save_profile(profile: Profile, path: Path) -> None:
    """Write a profile with its checksum, whole or not at all, in place of what was there.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    content = profile.model_dump(mode="json", exclude_none=True)
    document = {"schema": SCHEMA, "checksum": checksum_of(SCHEMA, content), **content}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror}): mend its folder or its permissions"
        ) from None


def checksum_of(schema: int, content: Mapping[str, Any]) -> str:
    """SHA-256 over what a profile says, whatever its layout, comments and order of keys."""
    canonical = json.dumps(
        _canonical({"schema": schema, **content}), sort_keys=True, separators=(",", ":")
    )
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _canonical(value: object) -> object:
    """With one spelling for every number: 1 and 1.0 say the same."""
    match value:
        case dict():
            return {str(key): _canonical(each) for key, each in value.items()}
        case list() | tuple():
            return [_canonical(each) for each in value]
        case bool() | None | str():
            return value
        case int() | float():
            return repr(float(value))
        case _:
            return str(value)
