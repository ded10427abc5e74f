"""The exponentially weighted moving average."""


class Ewma:
    """s ← α·x + (1 − α)·s, beginning with the first x.

    A step of x from a to b is followed with a lag: after n values s = b + (a − b)·(1 − α)^n.
    """

    def __init__(self, weight: float) -> None:
        """Begin without a value; ``weight`` is α, within (0, 1]."""
        self._weight = weight
        self._value: float | None = None

    @property
    def value(self) -> float | None:
        """The average; None before the first value."""
        return self._value

    def update(self, value: float) -> float:
        """Take the next value, which must be finite, and return the average."""
        if self._value is None:
            self._value = value
        else:
            self._value = self._weight * value + (1.0 - self._weight) * self._value
        return self._value
