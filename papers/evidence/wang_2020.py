r"""Wang et al. 2020, section 4.1, as released: the mean of a batch is clipped, and one record turns it around.

*The data.* n = 60,000 and one feature, label 0 for the last record and all labels in turn for the others. The others
are at x = 0: their gradients for the weights are 0. The last one is at x = +1000 or -1000: only features differ. Start
w = 0, where every class has probability 1/10.

*One step, exactly.* The mean gradient for the weights is 0 in a batch without the last record, and else ``(p - e_0) x/b
`` of norm 0.949 * 1000/128 = 7.4, which is clipped to norm 1: u or -u, a unit vector that both data sets share. The
last record is in the first batch with probability q = 128/60,000. So along u the noisy gradient over nu is

.. math:: (1-q) N(0, 1) + q N(\pm 1/\nu, 1),

the law of :mod:`papers.evidence.exact`, and its epsilon is a number, not an estimate. It is the price of one step of
23,450. Per-record clipping would have the two means 2/128 apart.

*Images.* A white image has norm ``28 (1 - 0.1307)/0.3081 = 79.0`` after the code's normalisation, and no gradient of
its is that long. With a white last image labelled 0 or 1 and the others grey (at the mean, gradient 0), the two means
are ``sqrt(2) * 79.0/128 = 0.873`` apart, no clip in sight: along their difference the law has m = 0.436/nu.

*Runs.* Whoever sees all iterates, as Theorem 2's composition over steps assumes, recovers every noisy gradient from two
neighbouring ones and knows what the last record would add. The statistic is the logarithm of the likelihood of the
first four epochs under one data set over that under the other, up to the intercepts' part; the event is fixed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import logsumexp

from papers.evidence.exact import mixture_epsilon
from papers.evidence.runs import SEED, Counts, Setting
from papers.evidence.text import constant, constants, counted, number, table
from papers.wang_2020.forms import DELTA, RELEASED_NOISE, released_price, theorem_noise
from papers.wang_2020.side_by_side import CLASSES, CLIP, DECAY, DEVIATION, MEAN, Models, Pass, Recipe, train

CLAIM = 0.1
RECORDS, BATCH, EPOCHS = 60_000, 128, 50
RATE = 2.0
FAR = 1000.0
RELEASED, PRINTED = 4.0, 20.0
"""The constant of Theorem 2's noise: in the released numbers, and on the page."""
WHITE = 28 * (1 - MEAN) / DEVIATION
STEPS = -(-RECORDS // BATCH)
"""An epoch: 469, the last one with 96 records."""
SHOWN = 2.5
"""The event: the statistic is above this. Set while exploring with seed 1."""
RUNS = Setting(records=RECORDS, steps=4 * STEPS, trials=300, constants=(RELEASED,))


def noise_of(epsilon: float, c: float) -> float:
    """nu: the released number, or Theorem 2's formula with another constant."""
    return RELEASED_NOISE[epsilon] if c == RELEASED else float(theorem_noise(epsilon, RECORDS, EPOCHS * STEPS, c))


def separations(noise: float) -> dict[str, float]:
    """m of the mixture: half the distance of the two means over the noise."""
    return {"far": CLIP / noise, "white": WHITE * math.sqrt(2) / BATCH / 2 / noise}


def exact() -> list[dict[str, Any]]:
    """Epsilon after the first step over the claims of Table 2, and what clipping means does promise for all steps."""
    rows = []
    for epsilon in sorted(RELEASED_NOISE):
        for c in (RELEASED, PRINTED):
            noise = noise_of(epsilon, c)
            one = {name: mixture_epsilon(m, BATCH / RECORDS, DELTA) for name, m in separations(noise).items()}
            rows.append({"claimed": epsilon, "c": c, "noise": noise, **one, "promise": released_price(noise)})
    return rows


def data(side: float, records: int = RECORDS) -> tuple[np.ndarray, np.ndarray]:
    """All records at 0 with labels in turn, but the last one at ``FAR`` or ``-FAR`` with label 0."""
    X, y = np.zeros((records, 1), dtype=np.float32), np.arange(records) % CLASSES
    X[-1], y[-1] = side * FAR, 0
    return X, y


def statistic(weights: np.ndarray, intercepts: np.ndarray, noise: float, rate: float) -> float:
    """Log likelihood ratio of one epoch's iterates, weights of shape (steps + 1, classes): +FAR over -FAR.

    With m_k what the last record would add at step k and g_k the noisy gradient over nu, the likelihood over that of
    noise alone is the mean over k of ``exp(<m_k, g_k> - |m_k|^2/2)``: the record is in one batch of the epoch. (In the
    last, shorter batch it would add more; a wrong guess there costs the attack a little, and nothing else.)
    """
    seen = (weights[:-1] - weights[1:]) / rate - DECAY * weights[:-1]
    found = []
    for x in (FAR, -FAR):
        scores = weights[:-1] * x + intercepts[:-1]
        residuals = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
        residuals[:, 0] -= 1
        added = residuals * x / BATCH
        added /= np.maximum(1, np.linalg.norm(added, axis=1, keepdims=True) / CLIP)
        found.append(logsumexp((added * seen).sum(axis=1) / noise**2 - (added**2).sum(axis=1) / (2 * noise**2)))
    return float(found[0] - found[1])


def attacked(side: float, recipe: Recipe, setting: Setting, seed: tuple[int, ...]) -> float:
    """One run of the released algorithm on one of the two data sets, and the sum of the statistic over its epochs."""
    X, y = data(side, setting.records)
    shared = Pass(setting.steps // STEPS, BATCH, "as they are", "shuffled")
    path: list[tuple[np.ndarray, np.ndarray]] = []

    def seen(step: int, models: Models) -> None:
        path.append((models.weights[0, :, 0].astype(float), models.intercepts[0].astype(float)))

    train(X, y, [recipe], shared, seed, seen)
    weights, intercepts = (np.array(part) for part in zip(*path, strict=True))
    starts = range(0, setting.steps, STEPS)
    epochs = [(slice(k, k + STEPS + 1), RATE / (1 + k)) for k in starts]
    return sum(statistic(weights[own], intercepts[own], recipe.noise, rate) for own, rate in epochs)


def run(setting: Setting, *, seed: int, share: float = 1.0) -> list[dict[str, Any]]:
    """Count runs of the event; all batches and noise of each run are its own."""
    found, trials = [], setting.part(share)
    for c in setting.constants:
        recipe = Recipe(noise_of(CLAIM, c), 0.0, RATE, "epoch", "mean")
        hits, false = (
            sum(attacked(side, recipe, setting, (seed, which, trial)) > SHOWN for trial in range(trials))
            for which, side in enumerate((1.0, -1.0))
        )
        made = Counts(trials=trials, hits=hits, false=false, delta=DELTA, noiseless=0.0).to_dict()
        found.append({"n": setting.records, "T": setting.steps, "c": c, "noise": recipe.noise, **made})
    return found


def measure(seed: int = SEED) -> dict[str, Any]:
    """The study."""
    return {
        "claim": [CLAIM, DELTA],
        "constants": [
            constant("ε", CLAIM, "Table 2"),
            constant("δ", DELTA, "Table 2"),
            constant("n", RECORDS, "the released code: all training images (the paper: 50,000)"),
            constant("b", BATCH, "section 4.1"),
            constant("T", EPOCHS * STEPS, "section 4.1: 50 epochs; 469 batches each"),
            constant("C", CLIP, "the released code: the mean of a batch over max(1, ‖mean‖/C)"),
            constant("ν", RELEASED_NOISE[CLAIM], "the released code, beside the comment '# 0.1'"),
            constant("c", RELEASED, "ν² = cTα/(μn²ε) gives this ν at μ = 1/2; Theorem 2 prints 20"),
            constant("rate", RATE, "the released code: 2 in the whole first epoch"),
            constant("x", FAR, "the last record's only feature, or its negative; the code bounds no feature"),
            constant("white", WHITE, "the norm of a white image after the code's normalisation"),
        ],
        "exact": exact(),
        "runs": run(RUNS, seed=seed),
    }


def markdown(data: dict[str, Any]) -> str:
    """The tables of the documentation."""
    return "\n".join([
        *constants(data), "",
        "Exact epsilon after the *first* of 23,450 steps, and what clipping means does promise for all of them:", "",
        *table(
            ["claimed", "c", "ν", "a far record, one step", "a white image, one step", "promise, 50 epochs"],
            [
                [f"{row['claimed']:g}", f"{row['c']:g}", f"{row['noise']:.4f}",
                 *(f"**{number(row[name])}**" if row[name] > row["claimed"] else number(row[name])
                   for name in ("far", "white")), number(row["promise"])]
                for row in data["exact"]
            ],
        ), "",
        f"Runs of the first four epochs of the released algorithm, all iterates seen, claimed {CLAIM:g} for 50:", "",
        *table(
            ["n", "steps", "c", "first data set", "second", "epsilon at least", "could show"],
            [[f"{row['n']:,}", f"{row['T']:,}", f"{row['c']:g}", *counted(row)] for row in data["runs"]],
        ),
    ])  # fmt: skip
