"""Misuse that shows: a model that is fitted again and again by others, or after a step that learns from rows.

A guarantee is of one fit, of the rows that it was handed. scikit-learn's searches, cross-validations and ensembles fit
many times, and pipelines scale and choose before they fit. Neither is visible in a guarantee, but both are visible in
who called: the calling frames are looked through once a fit, which takes microseconds. What is said follows from
settings alone, so the warning tells nothing about the records.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType
from typing import Any, NamedTuple, Self

from sklearn.base import BaseEstimator

from tacit.data.curator import MisuseWarning, tell
from tacit.estimators.earlier import Earlier, carried, charged, remember, within
from tacit.ledger import ledger_of

REPEATING = (
    "sklearn.model_selection", "sklearn.calibration", "sklearn.ensemble", "sklearn.multiclass", "sklearn.multioutput",
    "sklearn.semi_supervised", "sklearn.feature_selection._rfe", "sklearn.feature_selection._sequential",
    "sklearn.linear_model._ransac",
)  # fmt: skip
"""Modules that fit what they are given several times."""
ONCE = ("FixedThresholdClassifier",)
"""What lives there and fits once."""
ANSWERING = ("tacit.search", "tacit.evaluation", "tacit.audit", "tacit.report")
"""Rooms that fit several times and answer for it: who called them is not looked at."""
LEARNING_NOTHING = (
    "AdditiveChi2Sampler", "Binarizer", "FeatureHasher", "FunctionTransformer", "GaussianRandomProjection",
    "HashingVectorizer", "Normalizer", "PatchExtractor", "PolynomialCountSketch", "PolynomialFeatures", "RBFSampler",
    "SkewedChi2Sampler", "SparseCoder", "SparseRandomProjection",
)  # fmt: skip
"""Transformers of scikit-learn whose ``fit`` depends on the shape of the table alone."""
_SHAPE = {"n_features_in_", "feature_names_in_"}

_AGAIN = (
    "{who} fits {model} {times} on the same people, and no ledger is charged. Each fit spends its own budget "
    "(epsilon={epsilon}): together they may cost {cost} that, and anything else that is computed from the records, "
    "such as scores, is not covered at all. Use tacit.PrivateSearch to choose settings and tacit.evaluate for scores, "
    "or charge every fit to one tacit.Ledger (ledger=, or inside `with ledger:`)."
)
_CHARGED = (
    "{who} fits {model} {times}. The ledger is charged for each fit, but what {who} computes from the records itself, "
    "such as the scores by which it chooses or a resampling of the rows, is covered by no guarantee. Use "
    "tacit.PrivateSearch to choose settings and tacit.evaluate for scores: the ledger is charged for all of it then."
)
_LEARNS = (
    "The guarantee of {model} does not cover {steps} before it, which learned from the same records without noise: one "
    "person may have moved every row. Use tacit.PrivateScaler, which is charged, or public bounds in a tacit.Schema."
)
_KEPT = (
    "{steps} before {model} was fitted earlier and is not fitted again. If it learned from the same people, the "
    "guarantee of {model} does not cover what it learned. Use tacit.PrivateScaler, which is charged, or public bounds "
    "in a tacit.Schema."
)


class Callers(NamedTuple):
    """Who called a fit: the outermost call that fits several times, the innermost pipeline, and all steps before it."""

    repeating: FrameType | None
    pipeline: Any
    before: tuple[Any, ...]


class Watched(BaseEstimator):  # type: ignore[misc]
    """An estimator whose copies are noticed where they are made.

    Searches copy a model before they send it to other processes, whose warnings nobody sees: so they are warned of in
    the process that copies, once, and the copy knows.
    """

    def __sklearn_clone__(self) -> Self:
        copy: Self = super().__sklearn_clone__()
        if warn_repeated(self, _callers().repeating):
            copy.__dict__["_repetition_told"] = True
        return copy


def watch(estimator: Any, paid: tuple[Earlier, ...] = ()) -> None:
    """Warn of misuse that shows in the callers of a fit: once for each search, not once for each of its fits.

    What was ``paid`` for, in the pipelines that called too, is remembered with what is fitted, which depends on it.
    """
    callers = _callers()
    remember(estimator, (*charged(step for step in callers.before if step[1] is not estimator), *paid))
    if "_repetition_told" not in vars(estimator):
        warn_repeated(estimator, callers.repeating)
    steps = list(_learned(callers.before))
    if steps and _first("learned", callers.repeating, callers.pipeline):
        for sentence, kept in ((_LEARNS, False), (_KEPT, True)):
            named = [step for step, earlier in steps if earlier is kept]
            if named:
                listed = f"the step{'s' if len(named) > 1 else ''} {', '.join(named)}"
                told = sentence.format(model=type(estimator).__name__, steps=listed)
                tell(told[0].upper() + told[1:], MisuseWarning)


def warn_repeated(estimator: Any, frame: FrameType | None) -> bool:
    """Whether the estimator is fitted several times, with or without a ledger; the first time, also say so."""
    if frame is None:
        return False
    charged = ledger_of(getattr(estimator, "ledger", None)) is not None
    if _first("repeated", frame):
        owner, name = frame.f_locals.get("self"), frame.f_code.co_name
        who = f"{name}()" if owner is None else type(owner).__name__
        settings = frame.f_locals if owner is None else vars(owner)
        count = _fits(who, settings) if _alone(estimator, settings.get("estimator")) else None
        tell(
            (_CHARGED if charged else _AGAIN).format(
                who="A search or ensemble of scikit-learn" if not name[0].isalpha() else who,
                model=type(estimator).__name__,
                epsilon=getattr(estimator, "epsilon", None),
                times="several times" if count is None else f"{count} times",
                cost="as many times" if count is None else f"up to {count} times",
            ),
            MisuseWarning,
        )
    return True


def _callers() -> Callers:
    repeating: FrameType | None = None
    innermost, watched = None, True
    before: list[Any] = []
    reached, frame = -1, inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("sklearn."):
            owner: Any = frame.f_locals.get("self")
            if watched and module.startswith(REPEATING) and type(owner).__name__ not in ONCE:
                repeating = frame
            elif module == "sklearn.pipeline" and hasattr(owner, "steps"):
                reached = max(reached, _reached(owner, frame))
                if frame.f_code.co_name.startswith("fit"):
                    before[:0] = owner.steps[: reached if reached >= 0 else len(owner.steps) - 1]
                    innermost, reached = owner if innermost is None else innermost, -1
        elif module.startswith(ANSWERING):
            watched = False  # who fits several times answers for it; what was paid for before is still looked for
        frame = frame.f_back
    return Callers(repeating, innermost, tuple(before))


def _reached(pipeline: Any, frame: FrameType) -> int:
    """The place of the step that a call of a pipeline is at, which it holds as a local value; -1: none but the last."""
    held = list(frame.f_locals.values())
    real = ((place, step) for place, (_, step) in enumerate(pipeline.steps) if not _is_nothing(step))
    return max((place for place, step in real if any(step is one for one in held)), default=-1)


def _is_nothing(step: Any) -> bool:
    """Whether there is no step in this place: None, 'passthrough' or 'drop'."""
    return step is None or isinstance(step, str)


_TOLD: dict[str, tuple[weakref.WeakSet[Any], set[str]]] = {
    kind: (weakref.WeakSet(), set()) for kind in ("repeated", "learned")
}
"""Searches and pipelines that were warned of, as long as they live; functions of other processes by their module."""


def _first(kind: str, frame: FrameType | None, otherwise: Any = None) -> bool:
    """Whether nothing of this kind was said yet about whoever fits several times, or otherwise about this."""
    owners, modules = _TOLD[kind]
    if frame is not None and frame.f_code.co_name.startswith("_"):  # a task: its objects are new each time
        module = str(frame.f_globals["__name__"])
        new = module not in modules
        modules.add(module)
        return new
    owner = otherwise
    if frame is not None:
        owner = frame.f_locals.get("self", frame.f_locals.get("estimator"))
    try:
        new = owner not in owners
        owners.add(owner)
    except TypeError:  # cannot be remembered: rather twice than never
        return True
    return new


def _folds(settings: Mapping[str, Any]) -> int:
    """The folds of a cross-validation, by number or by a splitter; others may be read only once, or only with rows."""
    from sklearn.model_selection import check_cv

    cv = settings["cv"]
    if not (cv is None or isinstance(cv, int) or hasattr(cv, "get_n_splits")):
        raise ValueError("Unknown until the records are split.")
    return int(check_cv(cv).get_n_splits())


def _points(settings: Mapping[str, Any]) -> int:
    from sklearn.model_selection import ParameterGrid

    return len(ParameterGrid(settings["param_grid"]))


_COUNTED: dict[str, Callable[[Mapping[str, Any]], int]] = {
    "GridSearchCV": lambda s: _points(s) * _folds(s) + bool(s["refit"]),
    "RandomizedSearchCV": lambda s: int(s["n_iter"]) * _folds(s) + bool(s["refit"]),
    "CalibratedClassifierCV": lambda s: _folds(s) + (s["ensemble"] is False),
    "TunedThresholdClassifierCV": lambda s: _folds(s) + 1,
    "BaggingClassifier": lambda s: int(s["n_estimators"]),
    "BaggingRegressor": lambda s: int(s["n_estimators"]),
    "cross_val_score()": _folds,
    "cross_validate()": _folds,
    "cross_val_predict()": _folds,
    "validation_curve()": lambda s: len(s["param_range"]) * _folds(s),
}


def _alone(estimator: Any, inner: Any) -> bool:
    """Whether this is what is fitted each time, by itself or at the end of a pipeline, and no part of an ensemble."""
    if not hasattr(inner, "steps"):
        return type(inner) is type(estimator)
    found = [part for part in inner.get_params().values() if isinstance(part, Watched)]
    return len(found) == 1 and inner.steps[-1][1] is found[0]


def _fits(who: str, settings: Mapping[str, Any]) -> int | None:
    """How many fits settings ask for at most; None where they do not tell. Nothing is said rather than too little."""
    try:
        return _COUNTED[who](settings)
    except (KeyError, TypeError, ValueError):  # not counted, or settings that are about to be refused
        return None


def _learned(steps: Iterable[Any], path: str = "", kept: bool = False) -> Iterator[tuple[str, bool]]:
    """The steps, those within others too, that hold something of records: names and kinds, and whether they were kept
    as they had been fitted earlier.
    """
    for name, step, *_ in steps:
        inner = within(name, step)
        frozen = kept or type(step).__name__ == "FrozenEstimator"
        if inner is not None:
            yield from _learned(inner, path if frozen and not kept else f"{path}{name}/", frozen)
        elif type(step).__name__ == "FunctionTransformer":
            fitted = (one for one in carried(step) if any(key.endswith("_") for key in vars(one)))
            yield from _learned(((name, one) for one in fitted), path, True)
        elif not (_is_nothing(step) or learns_nothing(step)):
            yield f"{path}{name!s} ({type(step).__name__})", kept


def learns_nothing(step: Any) -> bool:
    """Whether a step keeps nothing of the records; of a stranger this can be told only once it is fitted."""
    kind, library = type(step).__name__, type(step).__module__.split(".")[0]
    if library == "tacit":
        return True
    held = getattr(step, "__dict__", {})
    if library != "sklearn":  # a stranger has learned where fit left something beside its settings
        settings = step.get_params(deep=False) if hasattr(step, "get_params") else {}
        kept = set(held) - set(settings) - _SHAPE
        return all(any(charged([(name, held[name])])) for name in kept)  # what was paid for is in the price
    if kind in ("OneHotEncoder", "OrdinalEncoder"):
        frequent = held.get("min_frequency") is None and held.get("max_categories") is None
        return frequent and not isinstance(held.get("categories"), str)
    if kind == "SimpleImputer":
        return held.get("strategy") == "constant" and bool(held.get("keep_empty_features")) and not step.add_indicator
    return kind in LEARNING_NOTHING
