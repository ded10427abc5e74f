"""A closed loop: a number of clients, each with one request in flight, by phases."""

from typing import Annotated

from pydantic import Field

from dynamo_regime.control.checked import Checked, Positive

_Count = Annotated[int, Field(ge=1, lt=2**32)]


class Phase(Checked):
    """A time with a constant number of clients.

    Attributes:
        concurrency: Requests in flight. When it falls, what is in flight is finished.
        duration_seconds: How long it lasts.
    """

    concurrency: _Count
    duration_seconds: Positive


class ClosedLoop(Checked):
    """Clients that send one of a few prompts again when they have the answer to the last one.

    The default is the load of arXiv 2606.17081: 5 templates of 128 tokens, 256 tokens out, and
    32/128/32 clients for 120/180/120 s.

    Attributes:
        phases: How many clients there are, and for how long.
        templates: Different prompts, each as likely as the others.
        input_tokens: Tokens of a prompt.
        output_tokens: Tokens of an answer.
    """

    phases: Annotated[tuple[Phase, ...], Field(min_length=1)] = (
        Phase(concurrency=32, duration_seconds=120.0),
        Phase(concurrency=128, duration_seconds=180.0),
        Phase(concurrency=32, duration_seconds=120.0),
    )
    templates: _Count = 5
    input_tokens: _Count = 128
    output_tokens: _Count = 256
