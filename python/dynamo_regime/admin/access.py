"""Where an admin listener is found, and the bearer token that it asks for."""

import os

from dynamo_regime.errors import RegimeError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 9345
ADDRESS_VARIABLE = "DYNAMO_REGIME_ADMIN"
TOKEN_VARIABLE = "DYNAMO_REGIME_ADMIN_TOKEN"


def token_from_environment() -> str | None:
    """The token in ``DYNAMO_REGIME_ADMIN_TOKEN``, or None if that is not set.

    A token is taken from nowhere else: a command line can be read by every user of the machine.
    """
    return os.environ.get(TOKEN_VARIABLE)


def check_token(token: str) -> None:
    """Refuse a token that an ``Authorization`` header cannot carry unchanged.

    An empty one, or one with the line break of the file it came from, is a deployment gone wrong;
    to serve without a token then would open what was meant to be closed.

    Raises:
        RegimeError: The token is empty or has other characters than visible ASCII.
    """
    if not token:
        raise RegimeError(f"{TOKEN_VARIABLE} is empty: put a token into it, or unset it")
    if not all("!" <= character <= "~" for character in token):
        raise RegimeError(
            f"{TOKEN_VARIABLE} holds white space, a line break or a character outside ASCII: "
            "use a token of visible ASCII characters"
        )
