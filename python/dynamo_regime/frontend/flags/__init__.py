"""The flags of the frontend: Dynamo's own by name, default and environment variable, and ours."""

from dynamo_regime.frontend.flags.flag import Flag
from dynamo_regime.frontend.flags.kv_router import COST, INDEX, QUEUE, TRACKING
from dynamo_regime.frontend.flags.planes import DISCOVERY, TRANSPORT_TLS
from dynamo_regime.frontend.flags.refused import REFUSED, Refusal
from dynamo_regime.frontend.flags.router import ROUTER
from dynamo_regime.frontend.flags.serving import ADMIN, HTTP, MODEL

GROUPS: dict[str, tuple[Flag, ...]] = {
    "HTTP service": HTTP,
    "admin listener": ADMIN,
    "models": MODEL,
    "discovery and planes": DISCOVERY,
    "TLS between frontend and workers": TRANSPORT_TLS,
    "router": ROUTER,
    "cost of a worker": COST,
    "cache index": INDEX,
    "load": TRACKING,
    "queue and conditional disaggregation": QUEUE,
}
CARRIED: tuple[Flag, ...] = tuple(flag for flags in GROUPS.values() for flag in flags)

__all__ = ["CARRIED", "GROUPS", "REFUSED", "Flag", "Refusal"]
