"""Record and replay: run on a data set, freeze all that was released and drawn, run again on a neighbour.

With the outputs frozen, control flow and shapes must be the same, and each statistic must move by no more than was
declared. It finds what black-box audits miss: small probabilities, shapes that depend on data, a branch on a private
value.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tacit.privacy.noise
from tacit.audit.blackbox import exposed, fresh, unfitted
from tacit.audit.pairs import Pair
from tacit.audit.planned import Planned
from tacit.checks import counted
from tacit.privacy.events import Event, Gaussian, PoissonGaussian, Sphere, SubsetGaussian
from tacit.privacy.noise import SeededSource, Words
from tacit.privacy.normals import Whole
from tacit.types import Adjacency, Array

_LOCK = threading.Lock()


@dataclass(frozen=True)
class SeenRelease:
    """One pass through the door of randomness: the statistic, its noise scale, and what went out."""

    values: Array
    scale: float
    output: Array


@dataclass
class Tape:
    """A source that records its words, or plays them back; a neighbour with a record more gets fresh words for it."""

    seed: int
    words_drawn: list[Words] = field(default_factory=list)
    playing: bool = False
    position: int = 0
    seeded: bool = True

    def __post_init__(self) -> None:
        self._fresh = SeededSource((self.seed, int(self.playing)))

    def words(self, count: int) -> Words:
        """The next words."""
        if not self.playing:
            self.words_drawn.append(self._fresh.words(count))
            return self.words_drawn[-1]
        if self.position >= len(self.words_drawn):
            return self._fresh.words(count)
        kept = self.words_drawn[self.position]
        self.position += 1
        return kept[:count] if len(kept) >= count else np.concatenate([kept, self._fresh.words(count - len(kept))])


@contextmanager
def _door(frozen: list[SeenRelease] | None) -> Iterator[list[SeenRelease]]:
    """Watch :func:`tacit.privacy.noise.release`; with ``frozen``, give out those outputs in the place of new ones."""
    seen: list[SeenRelease] = []
    true_release = tacit.privacy.noise.release

    def watched(values: Array, scale: float, noise: Whole) -> Array:
        output = true_release(values, scale, noise)
        if frozen is not None and len(seen) < len(frozen) and frozen[len(seen)].output.shape == output.shape:
            output = frozen[len(seen)].output
        seen.append(SeenRelease(np.array(values, copy=True), scale, output))
        return output.copy()

    with _LOCK:
        tacit.privacy.noise.release = watched
        try:
            yield seen
        finally:
            tacit.privacy.noise.release = true_release


def replay(subject: Planned, pair: Pair, adjacency: Adjacency, seed: int = 0) -> list[str]:
    """What differs between a run and its replay on the neighbour beyond what the events declare; empty when all is
    well."""
    tape = Tape(seed)
    with _door(None) as first:
        one = subject.plan.run(subject.problem(pair.first), tape).weights
    with _door(first) as second:
        two = subject.plan.run(subject.problem(pair.second), Tape(seed, tape.words_drawn, playing=True)).weights
    found = differences(first, second, subject.plan.events, adjacency)
    if not found and not np.array_equal(one, two):
        found.append("with every release frozen the result still changed: it depends on records in another way")
    return found


def differences(
    first: list[SeenRelease], second: list[SeenRelease], events: tuple[Event, ...], adjacency: Adjacency
) -> list[str]:
    """Compare two runs, release by release."""
    if len(first) != len(second):
        return [f"{counted(len(first), 'release')} became {len(second)}"]
    found = []
    for number, (one, two) in enumerate(zip(first, second, strict=True)):
        if one.values.shape != two.values.shape:
            found.append(f"release {number}: shape {one.values.shape} became {two.values.shape}")
        elif one.scale != two.scale:
            found.append(f"release {number}: noise scale {one.scale:.6g} became {two.scale:.6g}")
        elif not one.scale > 0:
            found.append(f"release {number}: no noise")
        else:
            limit = _declared(events, one, adjacency)
            moved = float(np.linalg.norm(one.values - two.values)) / one.scale
            if limit is not None and not moved <= limit * (1 + 1e-9):
                found.append(f"release {number}: moved by {moved:.6g} noise scales, declared {limit:.6g}")
    return found


def _declared(events: tuple[Event, ...], release: SeenRelease, adjacency: Adjacency) -> float | None:
    """The largest move, in noise scales, that the events declare for this release; None where they declare none.

    From a perturbed minimiser on they declare none: what hides its arithmetic is not all that hides it.
    """
    kinds = Gaussian | Sphere | PoissonGaussian | SubsetGaussian
    first = next((place for place, e in enumerate(events) if not isinstance(e, kinds)), len(events))
    known = [e for e in events[:first] if isinstance(e, kinds)]
    same = [e for e in known if math.isclose(e.scale, release.scale, rel_tol=1e-9)]
    if not same and (not known or len(known) < len(events)):
        return None
    event = (same or known)[0]
    if isinstance(event, Gaussian | Sphere):
        return event.sensitivity.under(adjacency) / event.scale
    return (1 if adjacency == "add-remove" else 2) * event.clip / event.scale


def same_noise(estimator: Any, pair: Pair, seed: int = 0) -> tuple[list[str], float]:
    """For an estimator with a ``random_state``: fit both data sets with the same one.

    Gives what changed that never should (attributes, their types, shapes, dtypes and text), and how far the numbers
    moved, those of ``coef_`` and ``intercept_`` where there are any: for noise that is added to a statistic last, that
    is the statistic's own move, to be compared with the noise's scale.
    """
    sides = []
    for data in (pair.first, pair.second):
        model = fresh(unfitted(estimator), seed)
        sides.append(exposed(model, model.fit(data.rows.copy(), data.targets.copy())))
    one, two = sides
    found = [f"attribute {name} is set on one data set only" for name in sorted(set(one) ^ set(two))]
    shared = sorted(set(one) & set(two))
    found += [f"{name} changed its type, shape, dtype or text" for name in shared if one[name].form != two[name].form
              or one[name].texts != two[name].texts]  # fmt: skip
    names = [name for name in ("coef_", "intercept_") if name in shared] or shared
    if any(len(one[name].numbers) != len(two[name].numbers) for name in names):
        return found, math.inf
    return found, math.sqrt(sum(float(((one[n].numbers - two[n].numbers) ** 2).sum()) for n in names))
