"""The command ``dynamo-regime``."""

from dynamo_regime.cli.app import main

__all__ = ["main"]
