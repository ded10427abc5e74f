"""What a good setting is."""

from collections.abc import Sequence

from dynamo_regime.control.checked import Checked, NonNegative, Positive
from dynamo_regime.study.paired import over_batches
from dynamo_regime.study.result import Result

Score = tuple[float, float]
"""By how many times the worst P99 misses its limit, at least 1, and then the objective."""

_WORST: Score = (float("inf"), float("inf"))


class Objective(Checked):
    """Mean TTFT, plus so many times the mean ITL, among settings that keep the limits.

    Of settings that all miss a limit, the one that misses it least is the best.

    Attributes:
        itl_weight: The tokens whose delay counts beside the first one's; the number of output
            tokens makes it the mean latency.
        ttft_p99_limit_seconds: The service-level objective for the TTFT P99.
        itl_p99_limit_seconds: The service-level objective for the ITL P99.
    """

    itl_weight: NonNegative = 0.0
    ttft_p99_limit_seconds: Positive | None = None
    itl_p99_limit_seconds: Positive | None = None

    def value(self, result: Result) -> float | None:
        """The objective of a run, in seconds; None if no request got a token."""
        return self._sum(result.overall.ttft_mean_seconds, result.overall.itl_mean_seconds)

    def score(self, results: Sequence[Result]) -> Score:
        """The mean over runs; lower is better."""
        scores = [self._score(result) for result in results]
        misses, values = zip(*scores, strict=True)
        return sum(misses) / len(misses), sum(values) / len(values)

    def batches(self, results: Sequence[Result]) -> list[float | None]:
        """The objective of each batch of a trace's requests, over runs of the same trace."""
        ttft = over_batches([result.ttft_batches for result in results])
        itl = over_batches([result.itl_batches for result in results])
        return [self._sum(first, later) for first, later in zip(ttft, itl, strict=True)]

    def _score(self, result: Result) -> Score:
        value = self.value(result)
        # Whose refused requests are in no latency must not look fast.
        if value is None or result.rejected:
            return _WORST
        overall = result.overall
        ratios = [
            p99 / limit
            for p99, limit in (
                (overall.ttft_p99_seconds, self.ttft_p99_limit_seconds),
                (overall.itl_p99_seconds, self.itl_p99_limit_seconds),
            )
            if p99 is not None and limit is not None
        ]
        return max([1.0, *ratios]), value

    def _sum(self, ttft: float | None, itl: float | None) -> float | None:
        if ttft is None or self.itl_weight == 0.0:
            return ttft
        return None if itl is None else ttft + self.itl_weight * itl
