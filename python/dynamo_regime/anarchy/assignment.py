"""The cheapest assignment of requests to workers whose costs rise with every request."""

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-12


def cheapest(
    own_seconds: NDArray[np.float64], marginal_seconds: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Minimise Σ_r own[r, w(r)] + Σ_w Σ_{k < n_w} marginal[w, k], exactly.

    It is a min-cost flow, solved by successive shortest paths (Ahuja, Magnanti and Orlin, Network
    Flows, 1993, section 9.7): requests are put in one after the other, and each may push others on
    from worker to worker. Between workers the shortest path goes over one arc a pair, the request
    that is cheapest to move, so that a request takes O(workers²), and O(n) for each worker that
    others left: the slots of a worker, of which there are as many as requests, are never looked at.

    Args:
        own_seconds: Of each request on each worker, finite, shape (n, workers).
        marginal_seconds: What one request more costs on a worker that has k, not falling in k,
            shape (workers, n); infinite where it is full. There is room for all requests.

    Returns:
        Worker of each request, shape (n,).
    """
    n, workers = own_seconds.shape
    every = np.arange(workers)
    chosen = np.full(n, -1, dtype=np.int64)
    loads = np.zeros(workers, dtype=np.int64)
    # What the cheapest move from worker to worker costs, and which request makes it.
    arcs = np.full((workers, workers), np.inf)
    mover = np.zeros((workers, workers), dtype=np.int64)
    rounding = _ROUNDING * float(np.abs(own_seconds).max(initial=0.0))
    for request in range(n):
        cost = own_seconds[request].copy()
        before = np.full(workers, -1)
        while True:
            through = cost[:, None] + arcs
            best = through.argmin(axis=0)
            shortest = through[best, every]
            shorter = shortest < cost - rounding
            if not shorter.any():
                break
            cost[shorter] = shortest[shorter]
            before[shorter] = best[shorter]
        last = int((cost + marginal_seconds[every, loads]).argmin())
        loads[last] += 1
        left = []
        while before[last] >= 0:
            source = int(before[last])
            chosen[mover[source, last]] = last
            left.append(source)
            if not left[:-1]:
                gained = last
            last = source
        chosen[request] = last
        if not left:
            _offer(arcs, mover, own_seconds, last, np.array([request]))
            continue
        for source in left:
            arcs[source] = np.inf
            _offer(arcs, mover, own_seconds, source, np.flatnonzero(chosen == source))
        _offer(arcs, mover, own_seconds, gained, np.flatnonzero(chosen == gained))
    return chosen


def _offer(
    arcs: NDArray[np.float64],
    mover: NDArray[np.int64],
    own: NDArray[np.float64],
    worker: int,
    requests: NDArray[np.int64],
) -> None:
    """Let these requests of a worker be moved, where they are cheaper to move than others."""
    if requests.size == 0:
        return
    moves = own[requests] - own[requests, worker][:, None]
    best = moves.argmin(axis=0)
    cheapest_move = moves[best, np.arange(own.shape[1])]
    cheaper = cheapest_move < arcs[worker]
    cheaper[worker] = False
    arcs[worker, cheaper] = cheapest_move[cheaper]
    mover[worker, cheaper] = requests[best[cheaper]]
