"""One load with swaps of the policy under way, from the first request to the summary."""

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from testbed import load, prompts
from testbed.outcome import Outcome
from testbed.prompts import Phase, PromptMix
from testbed.summary import PolicyChange, Summary, summarise


@dataclass(frozen=True, slots=True)
class Swap:
    """Change the policy to (τ, ω) right before the request of this index is sent."""

    before_request: int
    temperature: float
    prefill_weight: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is asked, and which policy is in force meanwhile.

    Attributes:
        phases: Load over time.
        mix: The prompts.
        swaps: The policies, the first of which (before request 0) is the one to start with.
        seed: Fixes every prompt and their order.
    """

    phases: tuple[Phase, ...]
    mix: PromptMix
    swaps: tuple[Swap, ...]
    seed: int

    @property
    def requests(self) -> int:
        """Number of requests in all phases."""
        return sum(phase.requests for phase in self.phases)


@dataclass
class Session:
    """The load of ``scenario`` on one frontend; its summary can be asked for at any moment.

    Attributes:
        url: The frontend's, without a path.
        scenario: What to send and when to swap.
        apply: Swaps the policy and returns its new version.
        route: Chooses each request's way; by default the frontend does.
        on_swap: Told of every swap, and how many requests were under way.
    """

    url: str
    scenario: Scenario
    apply: Callable[[Swap], Awaitable[int]]
    route: load.Router | None = None
    on_swap: Callable[[PolicyChange, int], None] | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    policies: list[PolicyChange] = field(default_factory=list)
    _began: float | None = None
    _ended: float | None = None

    async def run(self) -> None:
        """Send everything."""
        scenario = self.scenario
        first, *later = scenario.swaps
        self.policies.append(PolicyChange(0, 1, first.temperature, first.prefill_weight))
        self._began = time.perf_counter()
        await load.run(
            self.url,
            prompts.requests(scenario.phases, scenario.mix, scenario.seed),
            self.outcomes.append,
            route=self.route or self._frontend_decides,
            interludes={swap.before_request: partial(self._swap, swap) for swap in later},
        )
        self._ended = time.perf_counter()

    def summary(self) -> Summary:
        """What has come of it so far."""
        now = time.perf_counter() if self._ended is None else self._ended
        duration_seconds = 0.0 if self._began is None else now - self._began
        return summarise(self.outcomes, self.policies, duration_seconds)

    async def _swap(self, swap: Swap) -> None:
        asked = time.perf_counter()
        version = await self.apply(swap)
        seconds = time.perf_counter() - asked
        change = PolicyChange(
            swap.before_request, version, swap.temperature, swap.prefill_weight, seconds
        )
        self.policies.append(change)
        if self.on_swap is not None:
            self.on_swap(change, swap.before_request - len(self.outcomes))

    def _frontend_decides(self, _: Sequence[int]) -> AbstractContextManager[load.Route]:
        return nullcontext(load.FrontendDecides(self.policies[-1].version))
