"""``python -m dynamo_regime.frontend``."""

import sys

from dynamo_regime.frontend import main

sys.exit(main(sys.argv[1:]))
