"""A controller that remembers the load index it saw."""

from collections.abc import Sequence
from typing import Any

from dynamo_regime.control import Controller, Reading
from dynamo_regime.control.controller import Step
from dynamo_regime.control.orders import Orders
from dynamo_regime.target import PoolPolicy


class MeteredController(Controller):
    """The controller as it is, and the load index of every reading that told one.

    Attributes:
        levels: In the order of the readings.
    """

    def __init__(self, **settings: Any) -> None:
        """As :class:`Controller`."""
        super().__init__(**settings)
        self.levels: list[float] = []

    def step(
        self,
        time: float,
        reading: Reading | None,
        current: Sequence[PoolPolicy],
        orders: Orders | None = None,
    ) -> Step:
        """As :meth:`Controller.step`."""
        step = super().step(time, reading, current, orders)
        if step.verdict is not None and step.verdict.level is not None:
            self.levels.append(step.verdict.level)
        return step
