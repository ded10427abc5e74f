"""Where simulated requests come from."""

from dynamo_regime.sim.workload.closed import ClosedLoop, Phase
from dynamo_regime.sim.workload.multi_turn import MultiTurn
from dynamo_regime.sim.workload.trace import BadLine, Trace

Workload = Trace | ClosedLoop | MultiTurn

__all__ = ["BadLine", "ClosedLoop", "MultiTurn", "Phase", "Trace", "Workload"]
