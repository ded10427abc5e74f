"""``dynamo-regime report``: the tables and plots of a finished study."""

from pathlib import Path
from typing import Annotated

import typer

from dynamo_regime.cli.study_options import AsJson, one_sentence, show_folder


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a study.")],
    as_json: AsJson = False,
) -> None:
    """Show a finished study again, and write its report.html anew."""
    with one_sentence():
        from dynamo_regime.study.run_folder import load_finished

        show_folder(load_finished(folder), folder, as_json)
