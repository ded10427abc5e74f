"""Synthetic conversations that begin with one of a few popular prefixes."""

from typing import Annotated

from pydantic import Field

from dynamo_regime.control.checked import Checked, NonNegative, Positive

_Count = Annotated[int, Field(ge=1, lt=2**32)]


class MultiTurn(Checked):
    """Conversations of several turns, each of which sees all that was said before.

    They begin as a Poisson process, with a shared prefix drawn by Zipf's law. Lengths and the time
    to think are exponential. A turn is sent when its predecessor was answered and thought about, so
    that the load follows what the cluster can do; the simulator draws them from its seed.

    Attributes:
        sessions: How many conversations there are.
        turns: Turns of each.
        prefixes: Shared prefixes, such as system prompts.
        zipf_exponent: The k-th prefix is drawn with probability ∝ 1/k^s; 0 draws all alike.
        prefix_tokens: Tokens of a prefix, rounded up to whole blocks of 64.
        input_tokens: Mean tokens that a turn adds.
        output_tokens: Mean tokens of an answer.
        sessions_per_second: Conversations that begin in a second.
        think_seconds: Mean time between an answer and the next turn.
        speed: All times are divided by it.
    """

    sessions: _Count = 1000
    turns: _Count = 4
    prefixes: _Count = 32
    zipf_exponent: NonNegative = 1.0
    prefix_tokens: Annotated[int, Field(ge=0, lt=2**32)] = 2048
    input_tokens: Positive = 256.0
    output_tokens: Positive = 128.0
    sessions_per_second: Positive = 2.0
    think_seconds: NonNegative = 5.0
    speed: Positive = 1.0
