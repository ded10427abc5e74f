"""Reports as one HTML file that needs no other."""

from html import escape

from dynamo_regime.study.report.values import Report, Table

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: .5em 0; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #ccc; padding: .25em .7em; text-align: left; }
h2 { margin-top: 2em; } p.note { color: #444; } svg { max-width: 100%; height: auto; }
"""


def html(report: Report) -> str:
    """The whole page, figures inlined as SVG."""
    # Matplotlib takes most of a second to import.
    from dynamo_regime.study.report.plots import svg

    parts = [_table(table) for table in report.tables]
    parts += [f"<figure>{svg(figure)}</figure>" for figure in report.figures]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(report.title)}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return f"<h2>{escape(table.title)}</h2>\n<table><tr>{head}</tr>\n{body}</table>{notes}"
