"""``python -m dynamo_regime``: the command ``dynamo-regime``."""

from dynamo_regime.cli import main

main()
