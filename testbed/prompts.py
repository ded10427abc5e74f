"""What is asked, and when: phases of load over prompts that share prefixes, all from one seed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from testbed.model import VOCABULARY_SIZE


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of ``requests`` requests, of which ``concurrency`` are under way at a time."""

    name: str
    concurrency: int
    requests: int


@dataclass(frozen=True, slots=True)
class PromptMix:
    """Prompts made of a shared prefix and a tail of their own.

    Attributes:
        templates: Number of different prefixes.
        zipf_exponent: The k-th most popular prefix is asked for with weight 1 / k ** zipf_exponent.
        prefix_tokens: Length of a prefix.
        tail_tokens: Length of a tail, which no other request shares.
        answer_tokens: Tokens to generate.
    """

    templates: int = 24
    zipf_exponent: float = 1.0
    prefix_tokens: int = 2048
    tail_tokens: int = 128
    answer_tokens: int = 32


@dataclass(frozen=True, slots=True)
class Request:
    """One request; ``index`` counts from 0 through all phases."""

    index: int
    phase: Phase
    template: int
    token_ids: tuple[int, ...]
    answer_tokens: int


def requests(phases: Sequence[Phase], mix: PromptMix, seed: int) -> Iterator[Request]:
    """The requests of all phases in the order in which they are sent."""
    generator = random.Random(seed)
    prefixes = [_tokens(generator, mix.prefix_tokens) for _ in range(mix.templates)]
    popularity = [1.0 / rank**mix.zipf_exponent for rank in range(1, mix.templates + 1)]
    index = 0
    for phase in phases:
        for _ in range(phase.requests):
            [template] = generator.choices(range(mix.templates), popularity)
            token_ids = prefixes[template] + _tokens(generator, mix.tail_tokens)
            yield Request(index, phase, template, token_ids, mix.answer_tokens)
            index += 1


def _tokens(generator: random.Random, length: int) -> tuple[int, ...]:
    return tuple(generator.choices(range(2, VOCABULARY_SIZE), k=length))
