"""The command ``dynamo-regime``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C, also while it is still loading, ends it with 130."""
    try:
        # Loaded here, so that a Ctrl-C meanwhile is one line, too, and no traceback.
        from dynamo_regime.cli.app import main as run

        run()
    except KeyboardInterrupt:
        print("dynamo-regime: interrupted", file=sys.stderr)
        sys.exit(130)


__all__ = ["main"]
