"""Rows of results as Markdown tables."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table, columns padded so that it reads well as plain text too."""
    rows = [list(head), *(list(line) for line in lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    padded = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([padded[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *padded[1:]])


def spread(row: dict | None, percent: bool = False) -> str:
    """Mean ± standard deviation; a note in its place where there is none; the number of seeds where it is fewer."""
    if row is None:
        return ""
    if "note" in row:
        return row["note"]
    scale, digits = (100.0, 2) if percent else (1.0, 4)
    text = f"{scale * row['mean']:.{digits}f}"
    if row["seeds"] > 1:
        text += f" ± {scale * row['std']:.{digits}f}"
    return text + (f" ({row['seeds']} seeds)" if row["seeds"] < row.get("asked", 0) else "")


def verdict(row: dict | None, percent: bool = False) -> str:
    """The target beside what was measured."""
    if row is None or "target" not in row or "note" in row:
        return ""
    scale, digits = (100.0, 2) if percent else (1.0, 4)
    reached = row["mean"] >= row["target"] if row["higher_is_better"] else row["mean"] <= row["target"]
    return f"{scale * row['target']:.{digits}f}: {'reached' if reached else 'MISSED'}"
