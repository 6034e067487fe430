"""One training step of the MNIST network beside Opacus: what the smoothing hook adds, and what each clipping costs.

Everything takes turns in one process on one thread, on the same batch of 256; ratios are of neighbouring steps, in
processor time, and their median is reported.
"""

import statistics
import time
import warnings

from markdown import table
from pool import progress

BATCH = 256
TARGET = 1.05
MODES = {
    "hooks": "Opacus, hooks (its default)",
    "functorch": "Opacus, functorch",
    "ew": "Opacus, expanded weights",
    "ghost": "Opacus, ghost clipping",
}


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
        seconds = _interleaved(steps, 15 if quick else 60)
    finally:
        torch.set_num_threads(threads)
    plain, hooks = seconds["no privacy"], seconds["hooks"]
    rows = [_row("no privacy", plain, plain), *(_row(name, seconds[name], plain) for name in steps if name in MODES)]
    rows.append(_row("torch.func", seconds["torch.func"], plain))
    rows.append(_row("hooks, smoothed", seconds["hooks, smoothed"], plain))
    smoothed = _row("smoothing", seconds["hooks, smoothed"], hooks)
    titles = MODES | {
        "torch.func": "Tacit: torch.func, float64 sums, noise on the grid, step",
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


def _interleaved(steps: dict, rounds: int) -> dict[str, list[float]]:
    """Processor seconds of every step, in turn; the first two rounds warm up and are not kept."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 2):
        names = list(steps) if turn % 2 else list(reversed(steps))
        for name in names:
            begun = time.process_time()
            steps[name]()
            if turn > 1:
                found[name].append(time.process_time() - begun)
    progress(f"smoothing: {rounds} rounds of {len(steps)} kinds of step")
    return found


def _steps() -> dict:
    """A function for each kind of step; hooks stand beside their smoothed twin, so that ratios are of neighbours."""
    import torch
    from torch import nn

    from tacit.nn import mnist_network

    torch.manual_seed(0)
    x, y = torch.randn(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))
    model = mnist_network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    steps = {"no privacy": _loop(model, optimizer, nn.CrossEntropyLoss(), x, y)}
    for mode in MODES:
        steps[mode] = _opacus(mode, x, y, 0.0)
        if mode == "hooks":
            steps["hooks, smoothed"] = _opacus(mode, x, y, 1.0)
    return steps | {"torch.func": _own(x, y)}


def _loop(model, optimizer, criterion, x, y):
    def step() -> None:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

    return step


def _opacus(mode: str, x, y, sigma: float):
    import torch
    from opacus import PrivacyEngine
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    from tacit.nn import mnist_network, smooth

    warnings.filterwarnings("ignore")  # Opacus and PyTorch warn about the generator and about hooks
    model = mnist_network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(x, y), batch_size=BATCH)
    private = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0,
        poisson_sampling=False, grad_sample_mode=mode, criterion=criterion,
    )  # fmt: skip
    model, optimizer = private[0], private[1]
    if mode == "ghost":
        criterion = private[2]
    if sigma:
        smooth(optimizer, sigma)
    return _loop(model, optimizer, criterion, x, y)


def _own(x, y):
    """A step as ``tacit.nn`` takes it."""
    import torch

    from tacit.mechanisms import Poisson
    from tacit.nn import mnist_network
    from tacit.nn.alone import safe_chunk, settled
    from tacit.nn.train import NetworkPlan, NetworkProblem
    from tacit.privacy.noise import SeededSource

    model = mnist_network()
    with settled():  # once a training, so not part of a step
        chunk = safe_chunk(mnist_network().double(), tuple(x.shape[1:]), float(BATCH))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    plan = NetworkPlan(sampler=Poisson(1.0), steps=1, clip=1.0, scale=1.0, divisor=float(BATCH), events=())
    problem, source = NetworkProblem(model, optimizer, x, y), SeededSource(0)
    return lambda: plan.run(problem, source, chunk)
