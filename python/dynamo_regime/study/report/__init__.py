"""What a study shows: tables and figures as values, in a terminal and as one HTML file."""

from dynamo_regime.study.report.values import Bars, Figure, Heatmap, Lines, Report, Series, Table

__all__ = ["Bars", "Figure", "Heatmap", "Lines", "Report", "Series", "Table"]
