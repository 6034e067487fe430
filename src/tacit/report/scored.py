"""What a model's numbers add up to, in words: a prediction in the units of its target, or the score of a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit.data.cells import text_of
from tacit.estimators import PoissonRegressor
from tacit.linear.losses import probabilities
from tacit.readable import plain
from tacit.schema import Target

_MARGIN = "The model was trained with a margin: its scores are larger than log odds. "
_BALANCED = (
    "The model was trained with balanced classes (class_weight): its probabilities are those of a population in which "
    "all classes are equally frequent. A class that is rare is less likely than they say."
)
_WEIGHTED = (
    "The model was trained with weighted classes (class_weight): its probabilities are those of a population in which "
    "each class is as much more frequent as its weight is larger."
)


class Scored(NamedTuple):
    """Of one output: its place in the model, a title where there are several, the unit, where it starts, what its sign
    or size means, and -1 where the model's own numbers are those of the other one of two classes."""

    output: int
    title: str
    unit: str
    start: str
    sides: str
    sign: int = 1


def weighted(model: Any) -> str:
    """Of which population a model's probabilities are, where they are not those of the table it was trained on."""
    last = model[-1] if hasattr(model, "steps") else model
    weights = vars(last).get("class_weight")
    return "" if weights is None else _BALANCED if weights == "balanced" else _WEIGHTED


def outputs(model: Any, target: Target | None, offsets: Sequence[float]) -> list[Scored]:
    """The outputs of a fitted model in the order and by the names that the schema declares."""
    classes = vars(model).get("classes_")
    if classes is None:
        return [_number(model, "the target" if target is None else target.name, offsets[0])]
    names = [text_of(value) or str(value) for value in classes.tolist()]
    declared = [] if target is None else [text_of(value) for value in target.classes or ()]
    places = [declared.index(name) if name in declared else len(declared) for name in names]
    if len(names) == 2:
        turned = places[0] > places[1]  # the schema lists the class that people care about last
        return [_of_two(model, names[::-1] if turned else names, -offsets[0] if turned else offsets[0], turned)]
    ordered = sorted(range(len(names)), key=places.__getitem__)
    return [_of_several(model, names[output], output, offsets[output]) for output in ordered]


def _number(model: Any, name: str, offset: float) -> Scored:
    if isinstance(model, PoissonRegressor):
        start = f"The logarithm of the predicted mean of {name} starts at {plain(offset)}, a mean of "
        return Scored(0, "", f"adds to the logarithm of {name}", f"{start}{plain(float(np.exp(offset)))}.", "")
    start = f"Every prediction starts at {plain(offset, 4)}, in the units of {name}."
    return Scored(0, "", f"adds to {name}", start, "")


def _of_several(model: Any, label: str, output: int, offset: float) -> Scored:
    sides = "The class with the largest score is predicted."
    start = f"Every record starts at the score {offset:+.2f}. {sides} {weighted(model)}".rstrip()
    return Scored(output, f"Score of {label}", f"score of {label}", start, sides)


def _of_two(model: Any, names: Sequence[str], offset: float, turned: bool) -> Scored:
    """A score is the log odds where the loss has no margin, and only there."""
    other, label = names
    start = f"Every record starts at the score {offset:+.2f}"
    sides = f"A positive score speaks for {label}, a negative one for {other}."
    margin, sign = vars(model).get("margin_"), -1 if turned else 1
    if margin is None:
        return Scored(0, "", f"score of {label}", f"{start}, and each column adds to it. {sides}", sides, sign)
    scores = np.array([offset, -2.0, -1.0, 1.0, 2.0])
    chances = probabilities(np.stack([-scores / 2, scores / 2], axis=1), margin)[:, 1]
    first, *others = (f"{chance:.0%}" for chance in chances)
    start += f", a probability of {first} for {label}, and each column adds to the score. {sides} "
    start += _MARGIN if margin else ""
    start += f"Scores of -2, -1, 1 and 2 are probabilities of {', '.join(others[:3])} and {others[3]} for {label}."
    start = f"{start} {weighted(model)}".rstrip()
    return Scored(0, "", f"score of {label}" if margin else f"log odds of {label}", start, sides, sign)
