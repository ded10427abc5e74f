"""Figures that arXiv 2606.17081 prints, to stand beside ours.

Measured there on three nodes of NVIDIA B200 with Dynamo 0.9.0. The system names are those of
:mod:`dynamo_regime.sim.systems`. PoA-hat itself is not measured here.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """One figure.

    Attributes:
        study: The command that measures it.
        system: The system.
        row: The policy or the number of clients that it is of.
        quantity: What it is, with its unit.
        value: As printed, with the deviation if there is one.
        difference: Why ours differs.
    """

    study: str
    system: str
    row: str
    quantity: str
    value: str
    difference: str


_FITTED = "ours is fitted to it, so that they agree by construction"
_ONE_PREFILL = (
    "ours has one prefill worker and decode workers that ignore caches (Dynamo 1.6), so τ and ω"
    " choose the decode worker only; the paper moved traffic between two frontends and lost"
    " throughput, which may have shortened its queues"
)
_IN_STEP = (
    "ours has answers of one length from clients that go on in step, and a pole that holds beyond"
    " the knee: no request is shed"
)
_DETECTOR = "the time a P99 takes to cross θ1 depends on the series, which the paper does not print"
_POA = (
    "the paper's is of PoA-hat, ours of mean TTFT; and ours has one prefill worker, so that τ and ω"
    " choose the decode worker only"
)

PUBLISHED = (
    Published("sweep", "340B-1P2D", "96", "TTFT P99, s", "0.544", _FITTED),
    Published("sweep", "340B-1P2D", "128", "TTFT P99, s", "16.2", _FITTED),
    Published("sweep", "70B-1P2D", "96", "TTFT P99, s", "0.354", _FITTED),
    Published("sweep", "70B-1P2D", "128", "TTFT P99, s", "10.0", _FITTED),
    Published("sweep", "340B-1P2D", "128", "ITL P99, ms", "22", _FITTED),
    Published("sweep", "70B-1P2D", "128", "ITL P99, ms", "22", _FITTED),
    Published("grid", "340B-1P2D", "64 clients", "largest / smallest", "differ by ± 0.1", _POA),
    Published("grid", "340B-1P2D", "128 clients", "largest / smallest", "1.6–2.0", _POA),
    Published("grid", "70B-1P2D", "64 clients", "largest / smallest", "differ by ± 0.1", _POA),
    Published("grid", "70B-1P2D", "128 clients", "largest / smallest", "1.6–2.0", _POA),
    Published("spike", "340B-1P2D", "static", "TTFT P99, s", "28.26 ± 5.9", _IN_STEP),
    Published("spike", "340B-1P2D", "paper", "TTFT P99, s", "5.92 ± 0.06", _ONE_PREFILL),
    Published("spike", "70B-1P2D", "static", "TTFT P99, s", "25.9 ± 2.1", _IN_STEP),
    Published("spike", "70B-1P2D", "paper", "TTFT P99, s", "3.4 ± 0.4", _ONE_PREFILL),
    Published("spike", "340B-1P2D", "static", "requests/s", "18.2", _IN_STEP),
    Published("spike", "340B-1P2D", "paper", "requests/s", "11.6", _ONE_PREFILL),
    Published("spike", "340B-1P2D", "paper", "time to detect, s", "54.8", _DETECTOR),
    Published("spike", "70B-1P2D", "paper", "time to detect, s", "54.8", _DETECTOR),
)


def published(study: str, system: str) -> tuple[Published, ...]:
    """What the paper prints of a system, in the study of this name; empty for other systems."""
    return tuple(each for each in PUBLISHED if (each.study, each.system) == (study, system))
