"""One training step of the MNIST network beside Opacus: what the smoothing hook adds, and what each clipping costs.

Everything takes turns in one process on one thread, on the same batch of 256; ratios are of neighbouring steps, in
processor time, and their median is reported.
"""

import statistics

from markdown import table
from network_steps import MODES, interleaved, loop, opacus_step, own_step
from pool import progress

BATCH = 256
TARGET = 1.05


def run(seeds: int, quick: bool, workers: int) -> tuple[list[dict], str]:
    """All rows, and the table."""
    del workers, seeds  # nothing runs beside a measurement; the number of steps is what makes a median steady
    try:
        import opacus
        import torch
    except ImportError as missing:
        return [], f"Not measured: {missing}."
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        steps = _steps()
        rounds = 15 if quick else 60
        seconds = interleaved(steps, rounds)
        progress(f"smoothing: {rounds} rounds of {len(steps)} kinds of step")
    finally:
        torch.set_num_threads(threads)
    plain, hooks = seconds["no privacy"], seconds["hooks"]
    rows = [_row("no privacy", plain, plain), *(_row(name, seconds[name], plain) for name in steps if name in MODES)]
    rows.append(_row("Tacit", seconds["Tacit"], plain))
    rows.append(_row("hooks, smoothed", seconds["hooks, smoothed"], plain))
    smoothed = _row("smoothing", seconds["hooks, smoothed"], hooks)
    titles = MODES | {
        "Tacit": "Tacit: factored gradients, all in float64, noise on the grid, step",
        "hooks, smoothed": "Opacus, hooks, with `tacit.nn.smooth`",
    }
    lines = [
        [titles.get(row["name"], row["name"]), f"{row['milliseconds']:.1f}", f"{row['ratio']:.2f}"] for row in rows
    ]
    verdict = "met" if smoothed["ratio"] < TARGET else "missed"
    text = (
        f"### One step of the MNIST network, batch {BATCH}, one thread, opacus {opacus.__version__}, torch "
        f"{torch.__version__}: processor time\n\n{table(['step', 'ms', 'over no privacy'], lines)}\n\n"
        f"With the smoothing hook over without (Opacus, hooks; median of {len(hooks)} neighbouring pairs): "
        f"{smoothed['ratio']:.3f}; target below {TARGET}: {verdict}."
    )
    return [*rows, smoothed], text


def _row(name: str, ours: list[float], theirs: list[float]) -> dict:
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return {"name": name, "milliseconds": 1e3 * statistics.median(ours), "ratio": statistics.median(ratios)}


def _steps() -> dict:
    """A function for each kind of step; hooks stand beside their smoothed twin, so that ratios are of neighbours."""
    import torch
    from torch import nn

    from tacit.nn import mnist_network

    torch.manual_seed(0)
    x, y = torch.randn(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))
    model = mnist_network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    steps = {"no privacy": loop(model, optimizer, nn.CrossEntropyLoss(), x, y)}
    for mode in MODES:
        steps[mode] = opacus_step(mnist_network, mode, x, y)
        if mode == "hooks":
            steps["hooks, smoothed"] = opacus_step(mnist_network, mode, x, y, 1.0)
    return steps | {"Tacit": own_step(mnist_network, x, y)}
