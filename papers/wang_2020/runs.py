"""One network to train, in plain values. Nothing but Python: a machine with PyTorch alone can read a list of them."""

import json
from dataclasses import asdict, dataclass

DECAY_AT = 10_000
"""The step at which the paper divides the learning rate by ten."""
HELD = 10_000
"""The last training images are the validation part."""
ALPHA = 0.009
"""Of the local response normalisation of the CIFAR-10 network, as it was run. TensorFlow's tutorial has 0.001 / 9 and
sums over 9 channels; PyTorch takes their mean, so 0.001 would be the same and this is nine times as strong."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What decides a training, up to the draw of its noise; runs of one seed share start and batches.

    ``clip`` None clips nothing. ``held`` leaves out the last 10,000 training images and scores on them; otherwise the
    first ``scored`` test images are (None: all). ``rows`` takes the first training images only. ``fall`` is how the
    learning rate falls: 'tenfold' after 10,000 steps, as in the paper, or 'linear' to zero. ``low`` is where the
    input's range [low, 1] begins. ``marks`` are the steps after which the accuracy is taken.
    """

    data: str
    seed: int
    optimizer: str
    smoothing: float
    noise: float
    rate: float
    batch: int
    steps: int
    marks: tuple[int, ...]
    clip: float | None = 1.0
    momentum: float = 0.0
    activation: str = "relu"
    fall: str = "tenfold"
    low: float = 0.0
    held: bool = False
    rows: int | None = None
    scored: int | None = None

    @property
    def company(self):
        """Runs can be trained side by side when this is the same."""
        images = (self.data, self.low, self.held, self.rows, self.scored)
        return (*images, self.batch, self.steps, self.marks, self.activation, self.fall)

    def share(self, step):
        """The part of the learning rate that is left at this step, counted from 0."""
        if self.fall == "linear":
            return 1.0 - min(step, self.steps - 1) / self.steps
        return 0.1 if step >= DECAY_AT else 1.0


def as_text(run):
    """A run in one spelling: the name of its results in a file."""
    return json.dumps(asdict(run), sort_keys=True)


def from_text(text):
    """The run of this text."""
    found = json.loads(text)
    return Run(**{**found, "marks": tuple(found["marks"])})


def fleets(runs, most):
    """Runs to train together: of one company, with equally many of every seed, at most so many in all."""
    groups = {}
    for run in dict.fromkeys(runs):
        groups.setdefault(run.company, {}).setdefault(run.seed, []).append(run)
    for seeds in groups.values():
        width = max(1, most // len(seeds))
        while any(seeds.values()):
            slices = {seed: left[:width] for seed, left in seeds.items() if left}
            count = min(map(len, slices.values()))
            yield [run for part in slices.values() for run in part[:count]]
            for seed in slices:
                del seeds[seed][:count]
