"""Reports as values; terminal.py and page.py show them."""

from dataclasses import dataclass
from typing import Any

from dynamo_regime.study.statistics import Estimate


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under columns.

    Attributes:
        title: Above it.
        columns: Headings.
        rows: One text a column.
        notes: Below it, each a sentence.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON, with rows by column."""
        return {
            "title": self.title,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind: y over x, with deviations where they are known."""

    name: str
    x: tuple[float, ...]
    y: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Curves over a quantity; both axes may be logarithmic."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """One bar a group and name; ``values[i][j]`` is of name i in group j."""

    title: str
    y_label: str
    groups: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[tuple[Estimate | None, ...], ...]
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Values over two settings; ``values[i][j]`` is of row i and column j."""

    title: str
    x_label: str
    y_label: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


Figure = Lines | Bars | Heatmap


@dataclass(frozen=True, slots=True)
class Report:
    """What a study shows.

    Attributes:
        title: Of the whole.
        tables: In order.
        figures: In order.
    """

    title: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()


def shown(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, as a person writes it; a dash for None."""
    if value is None:
        return "–"
    if value != 0.0 and abs(value) >= 10**digits:
        return f"{value:.0f}"
    text = f"{value:.{digits}g}"
    return f"{value:.6f}".rstrip("0").rstrip(".") if "e" in text else text


def with_deviation(found: Estimate | None, scale: float = 1.0) -> str:
    """Mean ± standard deviation; the mean alone where there is none."""
    if found is None:
        return "–"
    mean = shown(found.mean * scale)
    return mean if found.deviation is None else f"{mean} ± {shown(found.deviation * scale, 2)}"


def percent(share: float | None) -> str:
    """A share as signed percents."""
    if share is None:
        return "–"
    # Without it, a share just below 0 would be -0.0.
    return f"{round(share * 100, 1) + 0.0:+.1f} %"
