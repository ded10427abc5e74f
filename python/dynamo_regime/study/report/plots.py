"""Figures as SVG."""

import io

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from dynamo_regime.study.report.values import Bars, Figure, Heatmap, Lines
from dynamo_regime.study.statistics import Estimate


def svg(figure: Figure) -> str:
    """The figure as an ``<svg>`` element."""
    canvas = Canvas(figsize=(8.0, 4.2), layout="constrained")
    FigureCanvasSVG(canvas)
    axes = canvas.add_subplot()
    match figure:
        case Lines():
            _lines(axes, figure)
        case Bars():
            _bars(canvas, axes, figure)
        case Heatmap():
            _heatmap(canvas, axes, figure)
    axes.set_title(figure.title)
    text = io.StringIO()
    canvas.savefig(text, format="svg", metadata={"Date": None})
    # Without the XML prolog, which has no place within HTML.
    whole = text.getvalue()
    return whole[whole.index("<svg") :]


def _lines(axes: Axes, figure: Lines) -> None:
    for series in figure.series:
        known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
        axes.errorbar(
            [x for x, _ in known],
            [y.mean for _, y in known],
            yerr=[y.deviation or 0.0 for _, y in known],
            marker="o",
            markersize=3,
            capsize=2,
            label=series.name,
        )
    if figure.log_x:
        # Linear up to the smallest value above 0, so that 0 has a place too.
        above = [x for series in figure.series for x in series.x if x > 0.0]
        axes.set_xscale("symlog", linthresh=min(above, default=1.0))
    if figure.log_y:
        axes.set_yscale("log")
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    axes.grid(alpha=0.3)
    if figure.series:
        axes.legend(fontsize="small")


def _bars(canvas: Canvas, axes: Axes, figure: Bars) -> None:
    width = 0.8 / max(len(figure.names), 1)
    colours = colormaps["tab20"]
    for number, (name, values) in enumerate(zip(figure.names, figure.values, strict=True)):
        places = [group + number * width for group in range(len(figure.groups))]
        means = [0.0 if value is None else value.mean for value in values]
        axes.bar(
            places,
            means,
            width,
            yerr=[_error(value) for value in values],
            label=name,
            color=colours(number % colours.N),
        )
    middle = 0.4 - width / 2
    places = [group + middle for group in range(len(figure.groups))]
    # One word a line, so that they do not run into each other.
    axes.set_xticks(places, [group.replace(" ", "\n") for group in figure.groups], fontsize="small")
    if figure.log_y:
        axes.set_yscale("log")
    axes.set_ylabel(figure.y_label)
    canvas.legend(loc="outside right upper", fontsize="x-small")


def _heatmap(canvas: Canvas, axes: Axes, figure: Heatmap) -> None:
    values = [[float("nan") if cell is None else cell for cell in row] for row in figure.values]
    image = axes.imshow(values, cmap="viridis_r", aspect="auto")
    canvas.colorbar(image, ax=axes)
    axes.set_xticks(range(len(figure.columns)), figure.columns)
    axes.set_yticks(range(len(figure.rows)), figure.rows)
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    for row, cells in enumerate(figure.values):
        for column, cell in enumerate(cells):
            if cell is not None:
                axes.text(column, row, f"{cell:.3g}", ha="center", va="center", fontsize=8)


def _error(value: Estimate | None) -> float:
    return 0.0 if value is None or value.deviation is None else value.deviation
