"""Grids, pictures and checks of the networks: Figures 1 (its network), 5 and 6. PyTorch is needed in ``convolutional``.

A statement holds, or not, when the 95% interval of a difference says so, paired by seed; otherwise the rows cannot
tell.
"""

import itertools
from dataclasses import replace

from papers.engine.figure import Finding, TextTable, panels
from papers.wang_2020.comparing import Difference, against, difference

STEPS = {"sgd": 0.15, "adam": 0.001}
"""The paper's learning rates."""
METHODS = ("DP-SGD", "DP-LSSGD", "DP-Adam", "DP-LSAdam")
MULTIPLIERS = (2.0, 5.0, 10.0)
LARGE = 5.0
"""What counts as the large noise multipliers of which the paper says that DP-SGD is unstable there."""
EPOCHS = {"mnist": 60, "cifar10": 20}
RUNS = {"mnist": 5, "cifar10": 3}
CIFAR_ROWS = 20_000
DECAYED = 42
"""The last epoch of MNIST before the learning rate falls tenfold (step 10,000)."""
FALL = 0.5
"""Points that the best of several epochs may be above the last by the draw alone."""
OURS = "Not in the paper: "


def name_of(optimizer, smoothing):
    """The paper's names."""
    return f"DP-{'LS' if smoothing else ''}{'SGD' if optimizer == 'sgd' else 'Adam'}"


def measure(**settings):
    """One network; see ``convolutional.measure``."""
    from papers.wang_2020.convolutional import measure as trained

    return trained(**settings)


def cells(size, data, optimizers, sigmas, multipliers, steps=(None,)):
    """The product of these; ``steps`` None is the paper's learning rate. Quick: a few images and steps."""
    if size.quick:
        rest = {"batch": 64, "epochs": 2, "rows": 1_000} if data == "mnist" else {"batch": 16, "epochs": 1, "rows": 32}
    else:
        rest = {"batch": 256, "epochs": EPOCHS[data], "rows": None if data == "mnist" else CIFAR_ROWS}
    grid = itertools.product(multipliers, optimizers, sigmas, steps, range(size.pick(RUNS[data], 1)))
    return [
        {"data": data, "optimizer": optimizer, "smoothing": sigma, "noise_multiplier": noise,
         "step": STEPS[optimizer] if step is None else step, **rest, "run": run}
        for noise, optimizer, sigma, step, run in grid
    ]  # fmt: skip


def last(points):
    """The last epoch of every network."""
    end = max((p["epoch"] for p in points), default=0)
    return [p for p in points if p["epoch"] == end]


def values(points, **where):
    """Accuracies of the points that match, by run."""
    return {p["run"]: p["accuracy"] for p in points if all(p[k] == v for k, v in where.items())}


def compared(points, one, other, **where):
    """The method ``one`` minus ``other`` at the points that match."""
    return difference(values(points, method=one, **where), values(points, method=other, **where))


def curves(points, **where):
    """Accuracies over epochs up to the fall of the learning rate, by run."""
    found = {}
    for p in points:
        if p["epoch"] <= DECAYED and all(p[k] == v for k, v in where.items()):
            found.setdefault(p["run"], []).append(p["accuracy"])
    return found


def falls(points, **where):
    """How far each run is below its best before the learning rate falls, by run."""
    return {run: max(curve) - curve[-1] for run, curve in curves(points, **where).items()}


def swings(points, **where):
    """How far the accuracy moves from one epoch to the next on average, before the learning rate falls, by run."""
    found = {}
    for run, curve in curves(points, **where).items():
        moves = [abs(b - a) for a, b in itertools.pairwise(curve[min(5, len(curve) - 2) :])]
        found[run] = sum(moves) / len(moves)
    return found


def whole(points):
    """Whether these are not the few images of the quick size."""
    return all(p["rows"] is None or p["rows"] >= CIFAR_ROWS for p in points)


def optimizer_cells(size):
    """Figure 5: four optimisers, several noise multipliers."""
    return cells(size, "mnist", ("sgd", "adam"), (0.0, 1.0), (1.0,) if size.quick else MULTIPLIERS)


def cifar_cells(size):
    """Figure 6: four optimisers at a noise multiplier of 2."""
    return cells(size, "cifar10", ("sgd", "adam"), (0.0, 1.0), (2.0,))


def show_optimizers(points):
    """Accuracy over epochs, one panel a noise multiplier, with the epsilon spent below."""
    drawn = panels(points, x="epoch", y="accuracy", by="noise_multiplier", y_name="test accuracy, percent")
    drawn = [replace(panel, title=f"noise multiplier {panel.title}") for panel in drawn]
    spent = [{**p, "method": f"noise multiplier {p['noise_multiplier']:g}"} for p in points]
    drawn += [replace(panel, title="privacy spent") for panel in panels(spent, x="epoch", y="epsilon", y_name="ε")]
    return [*drawn, _summary(points)]


def check_optimizers(points, expected):
    """Smoothing improves SGD and Adam, and calms SGD; Adam is better; epsilon is the same for all four."""
    del expected
    found, end, enough, mnist = [], last(points), whole(points), points[0]["data"] == "mnist"
    cut = "" if points[0]["rows"] is None else f", {points[0]['rows']:,} images"
    for noise in sorted({p["noise_multiplier"] for p in points}):
        place, where = f"noise multiplier {noise:g}{cut}", {"noise_multiplier": noise}
        stated = "" if noise >= LARGE or not mnist else OURS
        for other, one in (METHODS[:2], METHODS[2:], (METHODS[1], METHODS[2])):
            seen, said = compared(end, one, other, **where), stated
            if (other, one) == METHODS[1:3] and not mnist:
                said = OURS  # of CIFAR-10 the paper says that smoothing improves both optimisers, and no more
            found.append(Finding(
                f"{said}{one} is better than {other} ({place}).",
                seen.above() if enough else None, f"At the end {seen}.",
            ))  # fmt: skip
        if mnist and end[0]["epoch"] > 2:
            found += _unstable(points, stated, place, where, enough)
        prices = {round(p["epsilon"], 9) for p in end if p["noise_multiplier"] == noise}
        found.append(Finding(
            f"All four spend the same ({place}).", len(prices) == 1, f"ε = {max(prices):.3g} at δ = 1e-5 in the end."
        ))  # fmt: skip
    return found


def _unstable(points, stated, place, where, enough):
    """DP-SGD falls again and swings, and DP-LSSGD less; of the paper where the noise multiplier is large."""
    down, smooth = (falls(points, method=m, **where) for m in METHODS[:2])
    fallen = against(down)
    yield Finding(
        f"{stated}Accuracy of DP-SGD falls again after a few epochs ({place}).",
        fallen.above(FALL) if enough else None,
        f"{fallen.mean:.2f} ± {fallen.half:.2f} points from the best to the last epoch before the learning "
        f"rate falls; more than {FALL:g} counts.",
    )  # fmt: skip
    yield _calmer(f"{stated}DP-LSSGD falls less than DP-SGD ({place}).", down, smooth, enough)
    yield _calmer(
        f"{stated}DP-LSSGD moves less from epoch to epoch than DP-SGD ({place}).",
        *(swings(points, method=m, **where) for m in METHODS[:2]), enough,
    )  # fmt: skip


def _calmer(statement, plain, smooth, enough):
    seen: Difference = difference(plain, smooth)
    return Finding(statement, seen.above() if enough else None, f"Points without and with smoothing: {seen}.")


def network_panels(points):
    """Figure 1's network: the last accuracy over epsilon, with the one that no privacy gives."""
    end = last(points)
    private = [p for p in end if p["epsilon"] is not None]
    plain = [
        {**p, "epsilon": place, "method": "no privacy, no clipping"}
        for p in end if p["epsilon"] is None for place in {q["epsilon"] for q in private}
    ]  # fmt: skip
    drawn = panels(
        private + plain, x="epsilon", y="accuracy", x_scale="log", x_name="ε", y_name="test accuracy, percent"
    )
    return [replace(panel, title="network on MNIST") for panel in drawn]


def check_network(points):
    """Figure 1's network: far below the one without privacy, where the guarantee is strongest."""
    end = last(points)
    plain = values(end, noise_multiplier=0.0)
    seen = {
        p["epsilon"]: difference(plain, values(end, noise_multiplier=p["noise_multiplier"]))
        for p in sorted(end, key=lambda p: -p["noise_multiplier"]) if p["epsilon"] is not None
    }  # fmt: skip
    least = min(seen)
    return Finding(
        "The network trained by DP-SGD has a much lower accuracy than the non-private one (by more than a point at "
        f"ε = {least:.2g}, the smallest).",
        seen[least].above(1.0) if whole(end) else None,
        "Without privacy against DP-SGD: " + "; ".join(f"ε = {e:.2g}: {gap}" for e, gap in seen.items()) + ".",
    )


def _summary(points):
    end, rows = last(points), []
    for noise, method in dict.fromkeys((p["noise_multiplier"], p["method"]) for p in end):
        mine = [p for p in end if (p["noise_multiplier"], p["method"]) == (noise, method)]
        rows.append((f"{noise:g}", method, f"{mine[0]['epsilon']:.3g}", spread(values(mine))))
    head = ("noise multiplier", "method", "ε", "test accuracy, percent")
    return TextTable("After the last epoch: mean ± half of the 95% interval", head, tuple(rows))


def spread(accuracies):
    """Mean and half-width of its 95% interval, of values by run."""
    seen = against(accuracies)
    return f"{seen.one:.2f}" + (f" ± {seen.half:.2f}" if len(accuracies) > 1 else "")
