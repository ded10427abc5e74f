"""Reports in a terminal."""

from rich.console import Console
from rich.table import Table as RichTable

from dynamo_regime.study.report.values import Report, Table


def print_report(report: Report) -> None:
    """Print the tables."""
    console = Console(highlight=False)
    for table in report.tables:
        console.print(_rich(table))
        for note in table.notes:
            console.print(note)


def _rich(table: Table) -> RichTable:
    shown = RichTable(title=table.title, title_justify="left")
    for number, column in enumerate(table.columns):
        numeric = number > 0 and all(len(row[number]) <= 24 for row in table.rows)
        # Folded, never cut: half a number is another number.
        shown.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    return shown
