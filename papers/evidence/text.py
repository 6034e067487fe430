"""Recorded numbers as the tables of the documentation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def number(value: float) -> str:
    """Two decimals, none from a thousand on; whole numbers as they are."""
    if math.isinf(value):
        return "∞"
    if isinstance(value, int) and value < 1e7:
        return f"{value:,}"
    return f"{value:.2f}" if value < 1000 else f"{value:,.0f}" if value < 1e7 else f"{value:.1e}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def counted(row: dict[str, Any]) -> list[str]:
    """The counts of a set of runs, the bound and what could be shown."""
    trials = f"{row['trials']:,}"
    sides = [f"{row['hits']:,} of {trials}", f"{row['false']:,} of {trials}"]
    return [*sides, f"**{row['epsilon']:.2f}**" if row["epsilon"] > 1 else f"{row['epsilon']:.2f}",
            f"{row['could_show']:.2f}"]  # fmt: skip


def constant(name: str, value: float, source: str) -> dict[str, Any]:
    """A constant of a study, and where in the paper it comes from."""
    return {"constant": name, "value": value, "source": source}


def constants(data: dict[str, Any]) -> list[str]:
    """The constants of a study as a table."""
    rows = [[row["constant"], _plain(row["value"]), row["source"]] for row in data["constants"]]
    return table(["constant", "value", "where it comes from"], rows)


def _plain(value: float) -> str:
    """Whole numbers from a thousand on with all their digits, others with four."""
    return f"{value:,.0f}" if value >= 1000 and value == int(value) else f"{value:.4g}"
