"""The latency curve of one worker, with a pole where it saturates."""

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from dynamo_regime.control.checked import Checked, NonNegative

_CLOSEST = 0.5
"""How near to saturation the curve is followed, in requests, as the simulator's engines do."""


class PoleModel(Checked):
    """l(n) = a·n + b + d / (n_sat − n)^β, in seconds, for n requests at once on one worker.

    The form is that of arXiv 2606.17081. From half a request before ``n_sat`` on, the pole grows no
    more, so that a worker beyond it is slow and not dead.

    Attributes:
        a: Seconds for every request.
        b: Seconds of a pass.
        d: Strength of the pole, in seconds · requests^β.
        n_sat: Where the worker saturates, in requests.
        beta: Exponent of the pole.
    """

    a: NonNegative
    b: NonNegative
    d: NonNegative
    n_sat: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    beta: NonNegative

    def seconds(self, requests: ArrayLike) -> NDArray[np.float64]:
        """l(n) for each n, of any shape."""
        n = np.asarray(requests, dtype=np.float64)
        left = np.maximum(self.n_sat - n, _CLOSEST)
        return np.asarray(self.a * n + self.b + self.d / left**self.beta)
