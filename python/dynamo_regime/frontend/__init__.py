"""Dynamo's OpenAI frontend with the plug-in linked in: ``python -m dynamo_regime.frontend``."""

from dynamo_regime.frontend.launch import main

__all__ = ["main"]
