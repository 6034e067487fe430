"""Model files: one JSON text, no pickle, safe to load from a stranger.

A file holds a format tag, the estimator's name and parameters, the released numbers, the label set, the schema and the
guarantee (where people perturb their own records, also that of one record), with a checksum over all of it. Reading
builds nothing but numbers and text: every type, shape and size is checked, and whatever does not fit is a
:class:`~tacit.checks.PrivacyError` with one sentence.

The seed of an experiment is never written: whoever knows it can remove the noise.
"""

from __future__ import annotations

import dataclasses
import json
import math
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Never

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.bounds import Schema
from tacit.checks import PrivacyError, check, refuse
from tacit.estimators import LinearRegression, LinearSVC, LogisticRegression
from tacit.guarantee import Guarantee, checksum
from tacit.theorems import THEOREMS
from tacit.types import ADJACENCIES

FORMAT = "tacit-model"
VERSION = 2
LARGEST = 256 * 2**20
"""Bytes that a model file may have."""

Model = LogisticRegression | LinearSVC | LinearRegression
ESTIMATORS: dict[str, type[Model]] = {kind.__name__: kind for kind in (LogisticRegression, LinearSVC, LinearRegression)}
_SETTINGS: dict[str, tuple[str, ...]] = {"LogisticRegression": ("margin_",)}
"""Numbers that a fit chose from public facts, and that predictions need."""
_FIELDS = {
    "format", "version", "estimator", "parameters", "settings", "classes", "coef", "intercept", "features", "names",
    "schema", "guarantee", "record_guarantee", "checksum",
}  # fmt: skip
_SINCE = {"record_guarantee": 2}
"""Fields that files of earlier versions do not have."""


class ModelFile(NamedTuple):
    """What a model file holds: a fitted model, and the schema that encodes tables for it."""

    model: Model
    schema: Schema | None


def save(model: Model, path: str | Path, schema: Schema | None = None) -> None:
    """Write a fitted model to one JSON file, whole or not at all.

    Edges: ``random_state`` is not written; a mechanism object given as ``method`` is written as 'auto' (its settings
    and noise are in the guarantee).
    """
    name = type(model).__name__
    check(ESTIMATORS.get(name) is type(model), f"Expected one of {', '.join(ESTIMATORS)} to save.")
    check_is_fitted(model, "coef_")
    if schema is not None:
        check(schema.width == model.n_features_in_, "This schema does not encode the columns that the model has.")
    names = getattr(model, "feature_names_in_", None)
    parameters = {key: _plain(value) for key, value in model.get_params(deep=False).items() if key != "random_state"}
    if not isinstance(parameters["method"], str):
        parameters["method"] = "auto"
    content = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": name,
        "parameters": parameters,
        "settings": {key: float(getattr(model, key)) for key in _SETTINGS.get(name, ())},
        "classes": _plain(getattr(model, "classes_", None)),
        "coef": _plain(np.asarray(model.coef_, dtype=np.float64)),
        "intercept": _plain(np.asarray(model.intercept_, dtype=np.float64)),
        "features": int(model.n_features_in_),
        "names": None if names is None else [str(column) for column in names],
        "schema": None if schema is None else schema.to_dict(),
        "guarantee": model.guarantee_.to_dict(),
        "record_guarantee": None,
    }
    record = getattr(model, "record_guarantee_", None)
    if record is not None and _of_one_fit(model.guarantee_, record):  # else it is left over from an earlier fit
        content["record_guarantee"] = record.to_dict()
    write_whole(path, json.dumps({**content, "checksum": checksum(content)}, indent=1, ensure_ascii=False) + "\n")


def load(path: str | Path) -> ModelFile:
    """Read a model file; raises PrivacyError for a tampered, truncated or foreign one."""
    return from_dict(read_json(path))


def from_dict(data: object) -> ModelFile:
    """The model that :func:`save` described, with every field checked."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        refuse("This is not a Tacit model file.")
    if type(data.get("version")) is not int or not 1 <= data["version"] <= VERSION:
        refuse("This model file was written by a later version of Tacit. Upgrade to read it.")
    try:
        content = {key: value for key, value in data.items() if key != "checksum"}
        if data.get("checksum") != checksum(content):
            refuse("This model file was changed after it was written: its checksum does not match.")
        return _build(content)
    except PrivacyError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise PrivacyError("This model file is incomplete or malformed; it was not loaded.") from error


def read_json(path: str | Path) -> object:
    """JSON text from a file of bounded size, without duplicate keys, NaN or infinity."""
    with Path(path).open("rb") as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        refuse(f"This file is larger than {LARGEST // 2**20} MiB; it was not loaded.")
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_constant)
    except PrivacyError:
        raise
    except (ValueError, RecursionError) as error:
        raise PrivacyError("This file is not a Tacit file, or it was cut short: it is not readable JSON.") from error


def read_guarantee(data: object) -> Guarantee:
    """A guarantee from a stranger: :meth:`Guarantee.from_dict`, and then the type of every field."""
    guarantee = Guarantee.from_dict(data)
    texts = (guarantee.method, guarantee.calibration, guarantee.protects, guarantee.version, *guarantee.assumptions)
    holds = (
        type(guarantee.delta) in (int, float)
        and guarantee.epsilon > 0
        and 0 <= guarantee.delta < 1
        and guarantee.adjacency in ADJACENCIES
        and guarantee.status in ("proven", "claimed", "refuted")
        and guarantee.theorem in THEOREMS
        and type(guarantee.records) is int
        and type(guarantee.seeded) is bool
        and all(isinstance(text, str) for text in texts)
    )
    if not (holds and isinstance(data, dict) and all(_numeric(event) for event in data["events"])):
        refuse("This guarantee is incomplete or malformed; it cannot be checked.")
    return guarantee


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file in one move: whoever looks sees the old file or the new one, never a part of it."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with partial.open("x", encoding="utf-8") as file:
            file.write(text)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _build(content: Mapping[str, Any]) -> ModelFile:
    fields = {field for field in _FIELDS if content["version"] >= _SINCE.get(field, 1)}
    _need(set(content) | {"checksum"} == fields, "Its fields are not those of a model file.")
    kind = ESTIMATORS.get(content["estimator"])
    if kind is None:
        refuse(f"Expected the estimator of a model file to be one of {', '.join(ESTIMATORS)}.")
    guarantee = read_guarantee(content["guarantee"])
    features = content["features"]
    _need(type(features) is int and features >= 1, "Its number of features is not a whole number >= 1.")
    model = kind(**_parameters(kind, content["parameters"], guarantee))
    settings = content["settings"]
    _need(set(settings) == set(_SETTINGS.get(kind.__name__, ())), "Its settings are not those of its estimator.")
    for key, value in settings.items():
        setattr(model, key, float(_floats(value)))
    coefficients, intercept = _floats(content["coef"]), _floats(content["intercept"])
    if isinstance(model, LinearRegression):
        _need(content["classes"] is None, "A regression has no classes.")
        shape: tuple[int, ...] = ()
        model.intercept_ = float(intercept) if intercept.ndim == 0 else intercept
    else:
        model.classes_ = _labels(content["classes"])
        _need(np.array_equal(model.classes_, np.unique(model.classes_)), "Its classes are not sorted and distinct.")
        shape = (1 if len(model.classes_) == 2 else len(model.classes_),)
        model.intercept_ = intercept
    _need(intercept.shape == shape, "Its intercept does not have the shape that its classes need.")
    _need(coefficients.shape == (*shape, features), "Its coefficients do not have the shape that its fields need.")
    model.coef_, model.guarantee_, model.n_features_in_ = coefficients, guarantee, features
    if content.get("record_guarantee") is not None:
        model.record_guarantee_ = read_guarantee(content["record_guarantee"])
        _need(
            _of_one_fit(guarantee, model.record_guarantee_),
            "The guarantee of one record does not belong to the model's.",
        )
    names = content["names"]
    if names is not None:
        _need(isinstance(names, list) and all(isinstance(name, str) for name in names), "Its names are not texts.")
        _need(len(names) == features, "It does not have one name a feature.")
        model.feature_names_in_ = np.asarray(names, dtype=object)
    schema = None if content["schema"] is None else Schema.from_dict(content["schema"])
    _need(schema is None or schema.width == features, "Its schema does not encode the columns that the model has.")
    return ModelFile(model, schema)


def guarantees(data: object) -> tuple[Guarantee, ...]:
    """What a model file, or a guarantee alone, promises: of the model, then, where there is one, of one record."""
    if not (isinstance(data, dict) and data.get("format") == FORMAT):
        return (read_guarantee(data),)
    model = from_dict(data).model
    record = getattr(model, "record_guarantee_", None)
    return (model.guarantee_,) if record is None else (model.guarantee_, record)


def _of_one_fit(guarantee: Guarantee, record: Guarantee) -> bool:
    """Whether the guarantee of one record was stated with that of the model: it differs only in what it speaks of."""
    own = ("epsilon", "events", "theorem", "status", "records", "protects")
    return record.records == 1 and record == dataclasses.replace(
        guarantee, **{name: getattr(record, name) for name in own}
    )


def _positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < math.inf


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "epsilon": lambda value: _positive(value) or value == math.inf,
    "delta": lambda value: value is None or (type(value) in (int, float) and 0 <= value < 1),
    "method": lambda value: isinstance(value, str),
    "calibration": lambda value: value in ("proven", "paper"),
    "adjacency": lambda value: value in ADJACENCIES,
    "clip": _positive,
    "classes": lambda value: value is None or _labels(value).size > 1,
    "multiclass": lambda value: value in ("softmax", "one-vs-rest"),
    "smoothing": _positive,
    "target_bound": lambda value: (
        value is None or _positive(value) or (_floats(value).shape == (2,) and value[0] < value[1])
    ),
    "fit_intercept": lambda value: type(value) is bool,
    "regularization": lambda value: value is None or value == 0 or _positive(value),
    "margin": lambda value: value is None or value == 0 or _positive(value),
}


def _parameters(kind: type[Model], written: Any, guarantee: Guarantee) -> dict[str, Any]:
    """The estimator's parameters, each of the type that it needs and none that contradicts the guarantee."""
    expected = set(kind().get_params(deep=False)) - {"random_state"}
    _need(isinstance(written, dict) and set(written) == expected, "Its parameters are not those of its estimator.")
    parameters = {key: math.inf if value == "inf" else value for key, value in written.items()}
    for key, value in parameters.items():
        _need(_CHECKS[key](value), f"Its parameter {key} does not have a value that the estimator takes.")
    for key in ("epsilon", "adjacency", "calibration"):
        _need(parameters[key] == getattr(guarantee, key), f"Its {key} is not the one that the guarantee states.")
    if "target_bound" in parameters and isinstance(parameters["target_bound"], list):
        parameters["target_bound"] = tuple(parameters["target_bound"])
    return parameters


def _plain(value: Any) -> Any:
    """Arrays, tuples and NumPy numbers as JSON values; floats keep every bit, infinity is the text 'inf'."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return "inf" if isinstance(value, float) and value == math.inf else value


def _floats(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A rectangle of finite numbers, written as numbers."""
    cells = np.asarray(values, dtype=object)  # of lists, where rows are uneven
    _need(all(type(cell) in (int, float) for cell in cells.ravel()), "Its numbers are not all numbers in even rows.")
    array = cells.astype(np.float64)
    _need(np.isfinite(array).all(), "Its numbers are not all finite.")
    return array


def _labels(values: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """At least two labels of one type: texts, whole numbers, floats or booleans."""
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    _need(len(kinds) == 1 and kinds <= {str, int, float, bool} and len(values) >= 2, "Its classes are not a label set.")
    array = np.asarray(values)
    _need(array.ndim == 1 and array.dtype.kind in "Uifb", "Its classes are not a label set.")
    return array


def _numeric(event: Any) -> bool:
    """Whether every number of an event is written as a number; words are checked by the event itself."""
    words = {"kind", "noise", "geometry", "reference"}
    return all(
        _numeric(value) if isinstance(value, dict) else key in words or value is None or type(value) in (int, float)
        for key, value in event.items()
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        refuse("This file states a field twice; it was not loaded.")
    return entries


def _constant(name: str) -> Never:
    refuse(f"This file holds {name} where a finite number belongs; it was not loaded.")


def _need(condition: object, sentence: str) -> None:
    if not condition:
        refuse(f"This model file is malformed. {sentence}")
