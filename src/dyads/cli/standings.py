"""What `dyads.evaluate` found of several models, as one table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dyads.cli.table import Table

if TYPE_CHECKING:
    from dyads.evaluate import Report

BASELINE = "popularity"


def standings(reports: Mapping[str, Report]) -> Table:
    """A row for each metric and model; popularity comes once, where no model of the list is it."""
    rows: list[tuple[str, str, float, float, float]] = []
    metrics = list(dict.fromkeys(row.metric for report in reports.values() for row in report.rows))
    for metric in metrics:
        measured = {name: row for name, report in reports.items() for row in report.rows if row.metric == metric}
        rows += [(metric, name, row.value, row.low, row.high) for name, row in measured.items()]
        beside = [row for row in measured.values() if not math.isnan(row.popularity)]
        if beside and BASELINE not in reports:
            rows.append((metric, BASELINE, beside[0].popularity, beside[0].popularity_low, beside[0].popularity_high))
    return dict(zip(("metric", "model", "value", "low", "high"), map(list, zip(*rows, strict=True)), strict=True))


def heading(report: Report) -> str:
    """What the table was measured on."""
    return f"{report.n_users} users, {report.n_pairs} held-out pairs; low and high: {report.level:.0%} over users"
