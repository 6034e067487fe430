"""The estimator that the options of ``tacit fit`` ask for. Options that do not go together are refused here."""

from __future__ import annotations

import argparse
from typing import Any, Never

from tacit.checks import check, refuse
from tacit.cli.inputs import check_there
from tacit.data import tables
from tacit.data.cells import key_of
from tacit.data.person_names import names_of
from tacit.estimators import (
    AdditiveClassifier,
    AdditiveRegressor,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
)
from tacit.privacy.theorems import THEOREMS
from tacit.published import PUBLISHED
from tacit.schema import Schema, Target

_CLASSIFIERS = {"classification": LogisticRegression, "svm": LinearSVC}
_REGRESSORS = {"regression": LinearRegression, "poisson": PoissonRegressor, "quantile": QuantileRegressor}
_ADDITIVE = {"classification": AdditiveClassifier, "regression": AdditiveRegressor}
_OWN = {"poisson": "typical", "quantile": "quantile"}
"""Settings that one task alone has."""
_OF_CURVES = ("kind", "slots", "cuts", "pairs")
"""Settings that additive models alone have."""
_PRECONDITIONS: dict[str, Any] = {"auto": "auto", "yes": True, "no": False}


def extra_columns(options: argparse.Namespace) -> list[str]:
    """Columns that are about rows, and predict nothing."""
    return [name for name in (options.person, options.weight) if name is not None]


def whose_rows(options: argparse.Namespace, table: tables.Table) -> dict[str, Any]:
    """``groups`` and ``sample_weight`` of a fit, from the columns that the options name."""
    given: dict[str, Any] = {}
    check_there(options, extra_columns(options), table)
    if options.person is not None:
        given["groups"] = names_of(table[options.person], f"Column {options.person!r}")
    if options.weight is not None:
        given["sample_weight"] = tables.numbers(table, [options.weight])[:, 0]
    return given


def estimator(options: argparse.Namespace, schema: Schema | None, target: Target) -> Any:
    """The estimator of the task, which the target decides unless it is named."""
    if options.method in PUBLISHED:
        _refuse_published(options.method)
    kinds: dict[str, Any] = _REGRESSORS if target.classes is None else _CLASSIFIERS
    task = options.task or next(iter(kinds))
    needs = "bounds" if task in _REGRESSORS else "classes"
    check(task in kinds, f"--task {task} needs {needs}, but {target.name!r} has none.")
    facts: dict[str, Any] = (
        {"target_bound": (target.lower, target.upper)} if target.classes is None else {"classes": list(target.classes)}
    )
    if task == "poisson":
        check(target.lower == 0, f"--task poisson counts from 0; declare the bounds of {target.name!r} as 0 and UPPER.")
        facts["target_bound"] = target.upper
    for kind, name in _OWN.items():
        given = getattr(options, name)
        check(given is None or kind == task, f"--{name} can only be used with --task {kind}.")
        facts |= {name: given} if given is not None else {}
    if options.class_weight is not None:
        check(task in _CLASSIFIERS, f"--class-weight is for labels, but {target.name!r} has none.")
        facts["class_weight"] = _class_weight(options.class_weight, target)
    check(
        (options.person is None) == (options.rows_per_person is None),
        "--person and --rows-per-person belong together: the first names the person of each row, the second says how "
        "many rows of one person count.",
    )
    facts |= _of_curves(options, schema, task)
    return (_ADDITIVE if options.additive else kinds)[task](
        options.epsilon, delta=options.delta, method=options.method, calibration=options.calibration,
        adjacency=options.adjacency, precondition=_PRECONDITIONS[options.precondition], clip=options.clip,
        rows_per_person=options.rows_per_person, weight_bound=options.weight_bound, random_state=options.seed,
        ledger=options.ledger, **facts,
    )  # fmt: skip


def _class_weight(text: str, target: Target) -> Any:
    """'balanced', or the weight of each class by its label, compared as cells are."""
    if text == "balanced":
        return text
    labels = {key_of(label): label for label in target.classes or ()}
    found: dict[Any, float] = {}
    for part in text.split(","):
        name, _, weight = part.rpartition("=")
        label = labels.get(key_of(name.strip()))
        known = label is not None and label not in found
        check(known, f"Expected --class-weight to be 'balanced', or to name classes of {target.name!r} once: A=5,B=1.")
        try:
            found[label] = float(weight)
        except ValueError:
            refuse(f"Expected a number behind {name.strip()}= in --class-weight, as in A=5,B=1.")
    return found


def _of_curves(options: argparse.Namespace, schema: Schema | None, task: str) -> dict[str, Any]:
    """The settings of additive models, as far as they are given."""
    given = {name: value for name in _OF_CURVES if (value := getattr(options, name)) is not None}
    if not options.additive:
        check(not given, f"--{next(iter(given), '')} can only be used with --additive.")
        return {}
    check(task in _ADDITIVE, f"--additive can only be used with --task {' or '.join(_ADDITIVE)}, not with {task}.")
    check(schema is not None, "--additive needs --schema, which declares bounds of numbers and values of categories.")
    pairs = {"pairs": _pairs(given["pairs"])} if "pairs" in given else {}
    return {"schema": schema, **given, **pairs}


def _pairs(text: str) -> int | tuple[tuple[str, ...], ...]:
    """A number, or names: ``a:b,c:d``."""
    try:
        return int(text)
    except ValueError:
        found = tuple(tuple(name.strip() for name in part.split(":")) for part in text.split(","))
    right = all(len(pair) == 2 and all(pair) for pair in found)
    check(right, "Expected --pairs to be a whole number, or pairs of columns as in a:b,c:d.")
    return found


def _refuse_published(name: str) -> Never:
    """Methods of papers that leave a constant open are objects which take it; no option of the command line does."""
    entry = PUBLISHED[name]
    refuse(
        f"The noise of {name!r} has a constant that the paper leaves open, so it runs from Python only, as an object: "
        f"method={entry.call}, calibration='paper'. {THEOREMS[name].status.upper()}: {entry.about}; proven form: "
        f"{entry.proven_form!r}."
    )
