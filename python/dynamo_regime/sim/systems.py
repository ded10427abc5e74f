"""The three systems that arXiv 2606.17081 measured, as clusters with latency curves.

What the paper prints of them, and what the curves are fitted to:

* 340B, 1P/2D: TTFT P99 goes from 0.544 s to 16.2 s at the knee;
* 70B, 1P/2D: from 0.354 s to 10.0 s;
* the knee lies above 96 and at or below 128 requests in flight, in every system;
* ITL P99 stays near 22 ms throughout, so that decode has no pole.

The paper prints no curve, so every constant below is fitted, on the paper's closed loop (5 prompts
of 128 tokens, 256 tokens out) with 96 and with 128 clients:

* ``n_sat`` = 112 is the middle of (96, 128];
* ``a`` and ``b`` set the level far below the knee, of which nothing is printed: they are a guess;
* ``d`` and ``beta`` then follow from the two TTFTs, of which a decode pass is a part;
* 1P/5D has the curves of 70B 1P/2D, whose engines it has.

n is the number of requests in flight, as in the paper's figures. Cache hits are within the measured
TTFT, so the engines cache nothing, and a pass is as large as the curve allows.
"""

from collections.abc import Mapping
from types import MappingProxyType

from dynamo_regime.sim.cluster import Cluster, Engine, Pool
from dynamo_regime.sim.latency import PoleModel

_DECODE = PoleModel(a=2e-5, b=0.0206, d=0.0, n_sat=1e6, beta=1.0)
_PREFILL_340B = PoleModel(a=0.002, b=0.1, d=6.788, n_sat=112.0, beta=1.2208)
_PREFILL_70B = PoleModel(a=0.001, b=0.06, d=4.384, n_sat=112.0, beta=1.159)

_ARGUMENTS = {
    "engine": {
        "enable_prefix_caching": False,
        "max_num_seqs": None,
        "max_num_batched_tokens": None,
    }
}


def _system(prefill: PoleModel, decode_workers: int) -> Cluster:
    return Cluster(
        prefill=Pool(
            workers=1,
            engine=Engine(arguments=_ARGUMENTS, latency=prefill, prefill_load="in_flight"),
        ),
        decode=Pool(workers=decode_workers, engine=Engine(arguments=_ARGUMENTS, latency=_DECODE)),
    )


SYSTEMS: Mapping[str, Cluster] = MappingProxyType(
    {
        "340B-1P2D": _system(_PREFILL_340B, 2),
        "70B-1P2D": _system(_PREFILL_70B, 2),
        "70B-1P5D": _system(_PREFILL_70B, 5),
    }
)
"""By name: model size, then prefill and decode workers."""
