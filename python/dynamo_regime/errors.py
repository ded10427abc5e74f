"""The exceptions of dynamo-regime: one tree, whose messages can be shown to people as they are."""


class RegimeError(Exception):
    """Root of every error that dynamo-regime raises on purpose."""


class PolicyError(RegimeError, ValueError):
    """A temperature or a prefill weight that no policy can have; the old policy stays."""


class InputError(RegimeError, ValueError):
    """Block counts, a seed or a limit that cannot be used; nothing was decided or recorded."""


class UnknownPoolError(RegimeError, LookupError):
    """A pool or an instance that this router does not have; the message names those it has."""
