"""Rows of the comparison as tables: for each data set accuracy with AUC, and recall with log loss."""

from markdown import table
from models import MODELS
from scores import PRECISION
from tasks import TASKS

PLAIN = "scikit-learn linear"
OURS = ("linear", "additive", "network")
TARGETS = {
    ("adult", "linear", "add-remove"): {0.1: (0.0, 0.873), 0.5: (0.0, 0.892), 1.0: (0.0, 0.899), 3.0: (0.0, 0.905)},
    ("adult", "additive", "add-remove"): {
        0.1: (0.847, 0.894), 0.5: (0.857, 0.908), 1.0: (0.860, 0.911), 3.0: (0.862, 0.913),
    },
    ("adult", "additive", "replace-one"): {
        0.1: (0.834, 0.877), 0.5: (0.854, 0.904), 1.0: (0.858, 0.908), 3.0: (0.860, 0.911),
    },
}  # fmt: skip
"""Accuracy and AUC to reach; of the linear model the AUC alone."""
NOTE = (
    f"Accuracy, and recall at precision {PRECISION:g}, in percent. Recall is the best over thresholds on the test "
    "records, 0 where none has that precision. Log loss: probabilities clipped to 1e-6 from 0 and 1. Time: median CPU "
    f"seconds of a fit at ε = 1 over those of {PLAIN}, in the same run; for a model with several settings, of the one "
    "shown. δ = 1e-5; diffprivlib has none. Opacus (step size) and diffprivlib (C) are shown at the setting with the "
    "best test accuracy over all seeds, which flatters them; every other model is at its defaults."
)


def text(rows: list[dict]) -> str:
    """The tables of every data set that has rows."""
    found = {(row["data"], row["model"], row["adjacency"], row["epsilon"]): row for row in rows}
    sets = [name for name in TASKS if any(key[0] == name for key in found)]
    return "\n\n".join([NOTE, *(_of_set(name, found) for name in sets)])


def _of_set(name: str, found: dict) -> str:
    here = {key[1:]: row for key, row in found.items() if key[0] == name}
    epsilons = sorted({key[2] for key in here if key[2] is not None})
    lines = [(model, way) for model, entry in MODELS.items() for way in entry.adjacencies if _any(here, model, way)]
    measured = [row for row in here.values() if "note" not in row]
    most = max((row["seeds"] for row in measured), default=0)
    head = ["model", "neighbours", *(f"ε = {epsilon:g}" for epsilon in epsilons), "no privacy"]
    first, second = [], []
    for model, way in lines:
        cells = [here.get((model, way, epsilon)) for epsilon in [*epsilons, None]]
        start = [f"**{model}**" if model in OURS else model, "" if way == "none" else way]
        first.append([*start, *(_accuracy(cell, most) for cell in cells), _time(here, model, way, epsilons)])
        second.append([*start, *(_recall(cell) for cell in cells)])
        if (name, model, way) in TARGETS:
            goals = TARGETS[name, model, way]
            verdicts = [_verdict(cell, goals.get(epsilon)) for cell, epsilon in zip(cells, epsilons, strict=False)]
            first.append(["its target", "", *verdicts, "", ""])
    facts = measured[0] if measured else {"records": 0, "features": 0, "positives": 0.0}
    title = f"#### {TASKS[name].title}"
    size = (
        f"n = {facts['records']:,}, {facts['features']} encoded columns, {facts['positives']:.0%} of the records "
        f"sought, {most} seeds. Accuracy ± standard deviation / AUC, then recall / log loss."
    )
    parts = [title, size, table([*head, "time"], first), table(head, second), _chosen(here, lines, epsilons)]
    return "\n\n".join(filter(None, parts))


def _any(here: dict, model: str, way: str) -> bool:
    return any(key[:2] == (model, way) for key in here)


def _accuracy(row: dict | None, most: int) -> str:
    if row is None or "note" in row:
        return "" if row is None else row["note"]
    few = f" ({row['seeds']} seeds)" if row["seeds"] < most else ""
    accuracy = row["accuracy"]
    return f"{100 * accuracy['mean']:.2f} ± {100 * accuracy['std']:.2f} / {_small(row['auc']['mean'], 4)}{few}"


def _recall(row: dict | None) -> str:
    if row is None or "note" in row:
        return "" if row is None else row["note"]
    return f"{100 * row['recall']['mean']:.1f} / {_small(row['log_loss']['mean'], 3)}"


def _small(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".removeprefix("0") if value < 1 else f"{value:.{digits}f}"


def _verdict(row: dict | None, goal: tuple[float, float] | None) -> str:
    if row is None or "note" in row or goal is None:
        return ""
    reached = row["accuracy"]["mean"] >= goal[0] and row["auc"]["mean"] >= goal[1]
    aim = (f"{100 * goal[0]:.1f} " if goal[0] else "") + f"/ {_small(goal[1], 3)}"
    return f"{aim}: {'reached' if reached else 'MISSED'}"


def _time(here: dict, model: str, way: str, epsilons: list[float]) -> str:
    plain = here.get((PLAIN, "none", None))
    shown = None if way == "none" else 1.0 if 1.0 in epsilons else epsilons[-1]
    row = here.get((model, way, shown))
    if any(one is None or "note" in one for one in (row, plain)):
        return ""
    ratio = row["seconds"] / plain["seconds"]
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _chosen(here: dict, lines: list[tuple[str, str]], epsilons: list[float]) -> str:
    said = []
    for model, way in lines:
        words = [here.get((model, way, epsilon), {}).get("chosen", "") for epsilon in epsilons]
        if any(words):
            distinct = words[:1] if len(set(words)) == 1 else words
            said.append(f"{model} ({way}): {' | '.join(distinct)}")
    return f"Chosen, by ε where it differs. {'; '.join(said)}." if said else ""
