"""One training step of a network, beside Opacus in the same precision: perceptrons and the MNIST network, batch 2,000.

All kinds of step take turns in one process on one thread, on the same batch, whole: gradients, clipping, noise, the
optimiser. The shortest processor time of each is reported, and the ratio to Opacus' fastest mode. Tacit computes in
float64 only; Opacus' float32 stands beside it to be seen. A mode that writes out the gradients of a wide perceptron
(10 GB) is left out.

python benchmarks/network_steps.py --rounds 5
"""

import argparse
import time
import warnings
from collections.abc import Callable

from markdown import table
from pool import progress

BATCH = 2_000
Step = Callable[[], None]
MODES = {
    "hooks": "Opacus, hooks (its default)",
    "functorch": "Opacus, functorch",
    "ew": "Opacus, expanded weights",
    "ghost": "Opacus, ghost clipping",
}
WRITTEN_OUT = 200_000
"""The most parameters whose gradients Opacus is asked to write out for the whole batch."""


def loop(model, optimizer, criterion, x, y) -> Step:
    """A plain training step."""

    def step() -> None:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

    return step


def opacus_step(build, mode: str, x, y, sigma: float = 0.0) -> Step:
    """A step as Opacus takes it, in the precision of ``x``; with Laplacian smoothing where sigma is not 0."""
    import torch
    from opacus import PrivacyEngine
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    from tacit.nn import smooth

    warnings.filterwarnings("ignore")  # Opacus and PyTorch warn about the generator and about hooks
    model = build().to(x.dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(x, y), batch_size=len(y))
    private = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0,
        poisson_sampling=False, grad_sample_mode=mode, criterion=criterion,
    )  # fmt: skip
    model, optimizer = private[0], private[1]
    if mode == "ghost":
        criterion = private[2]
    if sigma:
        smooth(optimizer, sigma)
    return loop(model, optimizer, criterion, x, y)


def own_step(build, x, y) -> Step:
    """A step as ``tacit.nn`` takes it. The chunk is chosen once a training, so it is no part of a step."""
    import torch

    from tacit.mechanisms import Poisson
    from tacit.nn.alone import safe_chunk, settled
    from tacit.nn.layered import road_of
    from tacit.nn.train import NetworkPlan, NetworkProblem
    from tacit.privacy.noise import SeededSource

    model = build().double()
    with settled():
        chunk = safe_chunk(road_of(model), model, tuple(x.shape[1:]), float(len(y)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    plan = NetworkPlan(sampler=Poisson(1.0), steps=1, clip=1.0, scale=1.0, divisor=float(len(y)), events=())
    problem, source = NetworkProblem(model, optimizer, x, y), SeededSource(0)

    def step() -> None:
        plan.run(problem, source, chunk)

    return step


def interleaved(steps: dict[str, Step], rounds: int) -> dict[str, list[float]]:
    """Processor seconds of every step, in turn; the first two rounds warm up and are not kept."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 2):
        names = list(steps) if turn % 2 else list(reversed(steps))
        for name in names:
            begun = time.process_time()
            steps[name]()
            if turn > 1:
                found[name].append(time.process_time() - begun)
    return found


def measured(title: str, build, shape: tuple[int, ...], rounds: int) -> list[list[str]]:
    """The lines of one network."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(BATCH, *shape), torch.randint(0, 10, (BATCH,))
    size = sum(p.numel() for p in build().parameters())
    modes = [mode for mode in MODES if mode == "ghost" or size <= WRITTEN_OUT]
    steps = {"Tacit": own_step(build, x, y)}
    for kind, rows in (("float64", x.double()), ("float32", x)):
        model = build().to(rows.dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        steps[f"no privacy, {kind}"] = loop(model, optimizer, nn.CrossEntropyLoss(), rows, y)
        steps |= {f"{MODES[mode]}, {kind}": opacus_step(build, mode, rows, y) for mode in modes}
    seconds = {name: min(times) for name, times in interleaved(steps, rounds).items()}
    progress(f"{title}: {rounds} rounds of {len(steps)} kinds of step")
    own = seconds.pop("Tacit")
    fastest = [min(v for name, v in seconds.items() if "Opacus" in name and kind in name) for kind in ("64", "32")]
    first = [title, "Tacit, float64", f"{1e3 * own:.1f}", *(f"{own / best:.2f}" for best in fastest)]
    return [first, *([title, name, f"{1e3 * value:.1f}", "", ""] for name, value in seconds.items())]


def main() -> None:
    """All networks, as one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="steps of each kind; the shortest counts (default: 5)")
    given = parser.parse_args()
    import torch

    from tacit.nn import mlp_network, mnist_network

    torch.set_num_threads(1)
    networks = {
        "perceptron, hidden 100": (lambda: mlp_network(784, 10, 100), (784,)),
        "perceptron, hidden 784": (lambda: mlp_network(784, 10), (784,)),
        "MNIST network": (mnist_network, (1, 28, 28)),
    }
    lines = [line for title, (build, shape) in networks.items() for line in measured(title, build, shape, given.rounds)]
    heads = ["network", "step", "ms", "over Opacus' fastest, float64", "over its fastest, float32"]
    print(table(heads, lines))


if __name__ == "__main__":
    main()
