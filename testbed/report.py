"""A summary on the terminal: the live table while the load runs, and the closing one."""

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.session import Session
from testbed.summary import PolicyChange, Stage, Summary

_HOW_OVERLAP_IS_COUNTED = {
    False: "prompt tokens that the workers did not compute anew, as they counted themselves "
    "(usage.prompt_tokens_details.cached_tokens of each answer) / prompt tokens",
    True: "prompt tokens × KV hit rate that the router knew when it chose the prefill worker "
    "(nvext.timing.kv_hit_rate of each answer) / prompt tokens",
}


class LiveTable:
    """What rich shows while the session runs, anew at every refresh."""

    def __init__(self, session: Session) -> None:
        """Show ``session``."""
        self._session = session

    def __rich__(self) -> RenderableType:
        """The stages so far and how far the load is."""
        summary = self._session.summary()
        planned = self._session.scenario.requests
        progress = f"{summary.requests} of {planned} requests in {summary.duration_seconds:.0f} s"
        return Group(stage_table(summary), Text(progress, style="dim"))


def swap_line(change: PolicyChange, under_way: int) -> str:
    """One line on a swap that just happened."""
    return (
        f"swapped before request {change.before_request}, with {under_way} under way, "
        f"in {_duration(change)}: "
        f"τ = {change.temperature:g}, ω = {change.prefill_weight:g} (version {change.version})"
    )


def print_summary(console: Console, summary: Summary, *, disaggregated: bool) -> None:
    """The closing summary."""
    console.rule("Summary")
    rate = summary.requests / summary.duration_seconds if summary.duration_seconds else 0.0
    failed = sum(summary.failures.values())
    console.print(
        f"{summary.requests} requests in {summary.duration_seconds:.1f} s ({rate:.1f} a second), "
        f"[bold {'red' if failed else 'green'}]{failed} failures[/]"
    )
    for reason, count in summary.failures.items():
        console.print(f"  {count} x {reason}", markup=False)
    console.print(stage_table(summary))
    for role in sorted({role for stage in summary.stages for role in stage.shares}):
        console.print(_share_table(summary.stages, role))
    console.print(f"Cache overlap: {_HOW_OVERLAP_IS_COUNTED[disaggregated]}.", style="dim")
    swaps = [
        f"v{change.version} {_duration(change)}"
        for change in summary.policies
        if change.swap_seconds is not None
    ]
    times = ", ".join(swaps) or "none was made"
    console.print(f"Time that a swap took, as its caller saw it: {times}.", style="dim")


def stage_table(summary: Summary) -> Table:
    """Requests, latencies and cache overlap, a row for each phase and policy."""
    table = _table("By phase and policy (TTFT and ITL in ms)", "phase")
    for column in (
        *("policy", "τ", "ω"),
        *("sent", "failed"),
        *("TTFT p50", "p90", "p99"),
        *("ITL p50", "p99"),
        "cache overlap",
    ):
        table.add_column(column, justify="right", overflow="fold")
    policies = {change.version: change for change in summary.policies}
    for stage in summary.stages:
        policy = policies.get(stage.policy_version or 0)
        table.add_row(
            stage.phase,
            *(
                (f"v{policy.version}", f"{policy.temperature:g}", f"{policy.prefill_weight:g}")
                if policy
                else ("-", "-", "-")
            ),
            str(stage.requests),
            str(stage.failures),
            *(_milliseconds(value) for value in (stage.ttft.p50, stage.ttft.p90, stage.ttft.p99)),
            *(_milliseconds(value) for value in (stage.itl.p50, stage.itl.p99)),
            "-" if stage.cache_overlap is None else f"{stage.cache_overlap:.1%}",
        )
    return table


def _share_table(stages: list[Stage], role: str) -> Table:
    table = _table(f"Share of requests by {role} worker", f"{role} worker")
    for stage in stages:
        version = "" if stage.policy_version is None else f" v{stage.policy_version}"
        table.add_column(f"{stage.phase}{version}", justify="right", overflow="fold")
    for worker in sorted({worker for stage in stages for worker in stage.shares.get(role, {})}):
        shares = (stage.shares.get(role, {}).get(worker, 0.0) for stage in stages)
        table.add_row(str(worker), *(f"{share:.1%}" for share in shares))
    return table


def _table(title: str, first_column: str) -> Table:
    """A table for 80 columns. In fewer, cells are folded: a cut number is a wrong one."""
    table = Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    table.add_column(first_column, overflow="fold")
    return table


def _duration(change: PolicyChange) -> str:
    seconds = change.swap_seconds or 0.0
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    milliseconds = seconds * 1e3
    return f"{milliseconds:.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"
