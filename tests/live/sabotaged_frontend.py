"""Our frontend, whose controller hangs or dies when the file that SABOTAGE names says so."""

import os
import sys
import threading
from pathlib import Path

from dynamo_regime.control.reading import Reading
from dynamo_regime.frontend import main, source

ORDER = Path(os.environ["SABOTAGE"])


class Sabotaged(source.FrontendSource):
    """Reads as ever, until it is told not to."""

    def read(self, time: float) -> Reading:
        match ORDER.read_text() if ORDER.exists() else "":
            case "hang":
                threading.Event().wait()
            case "die":
                raise SystemExit  # Ends the thread, which survives all other exceptions.
        return super().read(time)


if __name__ == "__main__":
    source.FrontendSource = Sabotaged  # type: ignore[misc]
    sys.exit(main(sys.argv[1:]))
