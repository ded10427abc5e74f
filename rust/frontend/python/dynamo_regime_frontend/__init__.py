"""Dynamo's HTTP frontend with the dynamo-regime plug-in linked in.

Start it with ``python -m dynamo_regime.frontend``, or in one's own process with
:meth:`Frontend.start`.
"""

import dynamo_regime
from dynamo_regime_frontend._native import Frontend, __version__

if dynamo_regime.__version__ != __version__:
    raise ImportError(
        f"dynamo-regime-frontend {__version__} needs dynamo-regime {__version__}, but "
        f"{dynamo_regime.__version__} is installed: pip install dynamo-regime=={__version__}"
    )

__all__ = ["Frontend", "__version__"]
