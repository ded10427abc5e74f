"""One file for Dynamo and for the controller.

Dynamo 1.6.1 refuses a router-policy file with a key that it does not know (the struct that it is
parsed into denies unknown fields). So a file that holds our section cannot be given to Dynamo as it
is: our frontend cuts the section out and gives Dynamo the rest, in a file that must stay for as
long as the process runs, for Dynamo reads it again for every model that it discovers.
"""

from typing import Any

import yaml

from dynamo_regime.control.checked import ConfigurationError, parse_mapping

SECTION = "regime_controller"
"""Key of the controller's section in a router-policy file."""


def split_router_policy(text: str, place: str) -> tuple[str | None, dict[str, Any] | None]:
    """Separate Dynamo's part of a router-policy file from the controller's section.

    The text around the section is handed on as it stands, byte for byte: Dynamo reads a later
    version of YAML than Python does, in which the same word can mean something else.

    Args:
        text: The whole file.
        place: Its path, for messages.

    Returns:
        What Dynamo is to read, None if nothing is left for it; and the section, None if there is
        none.

    Raises:
        ConfigurationError: The section is there and cannot be separated or read.
    """
    if SECTION not in text:
        return text, None
    content = parse_mapping(text, place)
    if SECTION not in content:
        return text, None
    section = content[SECTION]
    if not isinstance(section, dict) or not all(isinstance(key, str) for key in section):
        raise ConfigurationError(
            f"{place}: {SECTION} is not a mapping of names to values: write 'key: value'"
        )
    if len(content) == 1:
        return None, section
    rest = _without_section(text, place)
    try:
        remains = set(parse_mapping(rest, place))
    except ConfigurationError:
        remains = set()
    if remains != set(content) - {SECTION}:
        raise ConfigurationError(
            f"{place}: {SECTION} cannot be cut out: move it to the end of the file, and define no"
            " YAML anchor in it that is used elsewhere"
        )
    return rest, section


def _without_section(text: str, place: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise ConfigurationError(
            f"{place}: {SECTION} cannot be cut out of a mapping in braces: write the file's"
            " outermost keys one to a line"
        )
    keys = [key for key, _ in root.value]
    index = next(i for i, key in enumerate(keys) if key.value == SECTION)
    begin = keys[index].start_mark.index
    after = keys[index + 1 :]
    end = after[0].start_mark.index if after else root.end_mark.index
    return text[:begin] + text[end:]
