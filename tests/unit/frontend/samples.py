"""Values that a flag takes and that are not its default, as text."""

from argparse import ArgumentTypeError

from dynamo_regime.frontend.flags import Flag

_TEXTS = ("no", "yes", "7", '{"policy": "prefill_load"}', "nonesuch")


def other_value(flag: Flag, folder: str) -> str:
    """A value for ``flag`` that is not its default; ``folder`` is one that exists."""
    for text in (*flag.choices, *_TEXTS, folder):
        try:
            value = flag.read(text)
        except ArgumentTypeError:
            continue
        if value != flag.default and (not flag.choices or value in flag.choices):
            return text
    raise AssertionError(f"no sample suits {flag.name}")


def command_line(flag: Flag, folder: str) -> list[str]:
    """Arguments that set ``flag`` to :func:`other_value`."""
    if flag.switch:
        return [f"--no-{flag.name.removeprefix('--')}" if flag.default else flag.name]
    return [flag.name, other_value(flag, folder)]
