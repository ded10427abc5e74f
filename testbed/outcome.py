"""What came of one request, as its client saw it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished or failed request.

    Attributes:
        index: The request's place in the load.
        phase: Name of the phase it was sent in.
        template: Which shared prefix it began with.
        policy_version: Policy in force when it was sent, if there is one.
        prefill_worker: Worker that processed the prompt, as the frontend reports it; None if it did
            not get so far.
        decode_worker: Worker that generated the answer; the same as ``prefill_worker`` in an
            aggregated pool.
        ttft_seconds: From sending the request to its first token.
        itl_seconds: Gaps between successive tokens.
        prompt_tokens: Length of the prompt.
        cached_tokens: Of these, how many were not computed anew: counted by the worker in an
            aggregated pool; the router's own index at the time of the decision (prompt tokens times
            its hit rate) in a disaggregated one, where the answer's usage speaks of the decode
            worker. None if neither is reported.
        failure: Why it failed, in one sentence; None if it succeeded.
    """

    index: int
    phase: str
    template: int
    policy_version: int | None
    prefill_worker: int | None = None
    decode_worker: int | None = None
    ttft_seconds: float | None = None
    itl_seconds: tuple[float, ...] = ()
    prompt_tokens: int = 0
    cached_tokens: float | None = None
    failure: str | None = None
