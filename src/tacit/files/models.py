"""Linear models as JSON: a format tag, the estimator's name and parameters, the released numbers, the label set, the
schema and the guarantee (where people perturb their own records, also that of one record), with a checksum over all.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit import estimators
from tacit.checks import PrivacyError, check, refuse
from tacit.estimators.additive import Additive
from tacit.estimators.base import PrivateLinear
from tacit.estimators.earlier import earlier_of, remember
from tacit.estimators.terms import parts_of
from tacit.files.found import earlier_entries, read_earlier, read_schema, schema_entries
from tacit.files.sealing import names_or_none, plain_value, sealed
from tacit.linear.uncertainty import Uncertainty
from tacit.privacy.events import is_amount, is_probability
from tacit.privacy.guarantee import Guarantee, checksum
from tacit.privacy.theorems import COUNTED, MODEL, OWNER, RECORD, after_counts
from tacit.reading import LARGEST, floats, labels, need, plain
from tacit.schema import Schema

Steps = Sequence[tuple[str, Any]]
_UNWRITTEN = {"random_state", "schema", "ledger"}
"""Parameters that no file holds: the seed, and a schema before curves and pairs: the file has that of the model."""
_SLOTS = ("slot_weights_", "slot_errors_")
_ERRORS = ("uncertainty_", "robust_uncertainty_")
FORMAT = "tacit-model"
VERSION = 6

ESTIMATORS: dict[str, type[PrivateLinear]] = {
    name: kind for name in estimators.__all__ if issubclass(kind := getattr(estimators, name), PrivateLinear)
}
_FIELDS = {
    "format", "version", "estimator", "parameters", "settings", "classes", "coef", "intercept", "features", "names",
    "schema", "found", "slots", "errors", "guarantee", "record_guarantee", "earlier",
    "checksum",
}  # fmt: skip
_LATER: dict[str, Any] = {"rows_per_person": None, "weight_bound": 1.0, "class_weight": None, "inference": False}
_NEW = set(_LATER)
"""Parameters that files before version 4 do not have, and what they stand for there."""
COUNTING = {*map(after_counts, COUNTED), "selection"}
"""Theorems that price counts which were released before the model was trained."""
_SINCE = {"record_guarantee": 2, "slots": 3, "errors": 4, "found": 5, "earlier": 6}
"""Fields that files of earlier versions do not have."""


def written(model: PrivateLinear, schema: Schema | None = None) -> bytes:
    """What the file of a fitted model has in it."""
    return encoded(described(model, schema))


def encoded(data: Mapping[str, Any]) -> bytes:
    """A JSON file with this content."""
    whole = (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
    check(len(whole) <= LARGEST, f"A model file has at most {LARGEST // 2**20} MiB, and this one would be larger.")
    return whole


def described(model: PrivateLinear, schema: Schema | None = None, steps: Steps = ()) -> dict[str, Any]:
    """What a file says of a fitted model, with its checksum; ``steps``: those of a pipeline before it.

    What was paid for before the model is named in its own part of a pipeline's file too: taken out, that part states
    the price of all of it.
    """
    name = type(model).__name__
    check(ESTIMATORS.get(name) is type(model), f"Expected one of {', '.join(ESTIMATORS)} to save.")
    check_is_fitted(model, "coef_")
    schema = own_schema(model, schema)
    if schema is not None:
        check(schema.width == model.n_features_in_, "This schema does not encode the columns that the model has.")
    names = vars(model).get("feature_names_in_")
    parameters = {
        key: plain_value(value) for key, value in model.get_params(deep=False).items() if key not in _UNWRITTEN
    }
    if not isinstance(parameters["method"], str):
        parameters["method"] = "auto"
    if parameters["epsilon"] == "rest":
        parameters["epsilon"] = plain_value(model.guarantee_.epsilon)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": name,
        "parameters": parameters,
        "settings": {key: float(getattr(model, key)) for key in model.settings},
        "classes": plain_value(vars(model).get("classes_")),
        "coef": plain_value(np.asarray(model.coef_, dtype=np.float64)),
        "intercept": plain_value(np.asarray(model.intercept_, dtype=np.float64)),
        "features": int(model.n_features_in_),
        "names": None if names is None else [str(column) for column in names],
        **schema_entries(schema),
        "slots": {key: plain_value(getattr(model, key)) for key in _SLOTS} if isinstance(model, Additive) else None,
        "errors": {key: getattr(model, key).to_dict() for key in _ERRORS} if hasattr(model, _ERRORS[0]) else None,
        "guarantee": model.guarantee_.to_dict(),
        "record_guarantee": None,
        "earlier": earlier_entries(earlier_of(model, steps)),
    }
    record = vars(model).get("record_guarantee_")
    if record is not None and _of_one_fit(model.guarantee_, record):  # else it is left over from an earlier fit
        content["record_guarantee"] = record.to_dict()
    return sealed(content)


def own_schema(model: PrivateLinear, schema: Schema | None) -> Schema | None:
    """The schema that a model's file has: the one given, or an additive model's own."""
    if not isinstance(model, Additive):
        return schema
    known = (None, model.schema_, None if model.schema is None else model.declared())
    check(schema in known, "An additive model is saved with its own schema; leave out schema=.")
    return model.schema_


def is_model(data: object) -> bool:
    """Whether this says of itself that it is a model file."""
    return isinstance(data, dict) and data.get("format") == FORMAT


def from_dict(data: object) -> tuple[PrivateLinear, Schema | None]:
    """The model that :func:`save` described, and its schema, with every field checked."""
    plain(data)
    if not isinstance(data, dict) or not is_model(data):
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


def _build(content: Mapping[str, Any]) -> tuple[PrivateLinear, Schema | None]:
    fields = {field for field in _FIELDS if content["version"] >= _SINCE.get(field, 1)}
    need(set(content) | {"checksum"} == fields, "Its fields are not those of a model file.")
    kind = ESTIMATORS.get(content["estimator"])
    if kind is None:
        refuse(f"Expected the estimator of a model file to be one of {', '.join(ESTIMATORS)}.")
    guarantee = Guarantee.from_dict(content["guarantee"])
    features = content["features"]
    need(type(features) is int and features >= 1, "Its number of features is not a whole number >= 1.")
    model = kind(**_parameters(kind, content["parameters"], guarantee, content["version"]))
    schema = read_schema(content["schema"], content.get("found"))
    need(schema is None or schema.width == features, "Its schema does not encode the columns that the model has.")
    need(isinstance(model, Additive) or content.get("slots") is None, "Only additive models have slots.")
    if isinstance(model, Additive):
        _fill_slots(model, schema, content["slots"])
    settings = content["settings"]
    need(set(settings) == set(kind.settings), "Its settings are not those of its estimator.")
    for key, value in settings.items():
        setattr(model, key, float(floats(value)))
    model.check_settings()
    shape: tuple[int, ...] = ()
    if "classes" in content["parameters"]:
        model.classes_ = labels(content["classes"])
        need(np.array_equal(model.classes_, np.unique(model.classes_)), "Its classes are not sorted and distinct.")
        shape = (1 if len(model.classes_) == 2 else len(model.classes_),)
    else:
        need(content["classes"] is None, "A regression has no classes.")
    coefficients, intercept = floats(content["coef"]), floats(content["intercept"])
    need(intercept.shape == shape, "Its intercept does not have the shape that its classes need.")
    need(coefficients.shape == (*shape, features), "Its coefficients do not have the shape that its fields need.")
    model.coef_, model.intercept_ = coefficients, intercept if shape else float(intercept)
    model.guarantee_, model.n_features_in_ = guarantee, features
    if content.get("errors") is not None:
        need(set(content["errors"]) == set(_ERRORS), "Its errors do not have the fields that they need.")
        for key, entries in content["errors"].items():
            setattr(model, key, Uncertainty.from_dict(entries, features + bool(model.fit_intercept)))
    if content.get("record_guarantee") is not None:
        model.record_guarantee_ = Guarantee.from_dict(content["record_guarantee"])
        need(
            _of_one_fit(guarantee, model.record_guarantee_),
            "The guarantee of one record does not belong to the model's.",
        )
    if "earlier" in content:
        remember(model, read_earlier(content["earlier"]))
    names = names_or_none(content["names"], features)
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    return model, schema


def _fill_slots(model: Additive, schema: Schema | None, slots: Any) -> None:
    """What an additive model knows of its slots, beside their coefficients: how they are centred, and how noisy."""
    if schema is None or not schema.boxed:
        refuse("This model file is malformed. An additive model needs the schema that it was trained with.")
    need(isinstance(slots, dict) and set(slots) == set(_SLOTS), "Its slots do not have the fields that they need.")
    parts, errors = floats(slots["slot_weights_"]), slots["slot_errors_"]
    noisy = None if errors is None else floats(errors)
    need(parts.shape == (schema.width,) and (parts >= 0).all(), "Its slots are not centred by parts of their mass.")
    sums = [float(parts[at].sum()) for _, at in parts_of(schema)]
    need(np.allclose(sums, 1.0, rtol=0, atol=1e-9), "Its slots are not centred by parts that add up to 1.")
    right = noisy is None or (noisy.shape == (schema.width,) and (noisy >= 0).all())
    need(right, "The noise of its slots is not a number >= 0 for each.")
    model.schema_ = schema  # and no declared one: cuts that were paid for by this model are not another's public facts
    model.slot_weights_, model.slot_errors_ = parts, noisy


def guarantees_of(model: PrivateLinear) -> tuple[Guarantee, ...]:
    """What a model promises by itself: of the model, then, where there is one, of one record."""
    record = vars(model).get("record_guarantee_")
    return (model.guarantee_,) if record is None else (model.guarantee_, record)


def _of_one_fit(guarantee: Guarantee, record: Guarantee) -> bool:
    """Whether the guarantee of one record was stated with that of the model: it differs only in what it speaks of.

    What it assumes, the model's assumes too, but for whom a record counts on; so another fit's does not pass.
    """
    own = ("epsilon", "events", "theorem", "status", "records", "protects", "assumptions")
    same = dataclasses.replace(guarantee, **{name: getattr(record, name) for name in own})
    alike = set(record.assumptions) <= {*guarantee.assumptions, OWNER}
    return alike and (record.records, record.protects) == (1, RECORD) and record == same


def _fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value is of the type that an estimator declares for a setting.

    A number is an amount, and may be 0 where it may also be left out.
    """
    if get_origin(hint) in (Union, types.UnionType):
        none = value == 0 and type(value) in (int, float) and {float, type(None)} <= set(get_args(hint))
        return none or any(_fits(value, part) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return type(value) is str and value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, list) and len(value) == len(get_args(hint)) and floats(value).ndim == 1
    if hint is float:
        return is_amount(value)
    return type(value) is hint or (hint is type(None) and value is None)


def _is_pairs(value: Any) -> bool:
    """Whether this is a number of pairs, or a list of pairs of names."""
    if isinstance(value, list):
        return all(isinstance(pair, list) and len(pair) == 2 and {*map(type, pair)} == {str} for pair in value)
    return type(value) is int and value >= 0


def _is_weights(value: Any) -> bool:
    """Whether this is a list of classes with their weights."""
    pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    return pairs and all(type(name) in (str, int, float, bool) and is_amount(weight) for name, weight in value)


_READ: dict[str, Callable[[Any], bool]] = {
    "precondition": lambda value: value == "auto" or (type(value) in (bool, int) and value >= 0),
    "classes": lambda value: value is None or labels(value).size > 1,
    "pairs": _is_pairs,
    "class_weight": lambda value: value in (None, "balanced") or _is_weights(value),
    "weight_bound": is_amount,
}
"""Settings whose type does not say what they may be."""


def _parameters(kind: type[PrivateLinear], written: Any, guarantee: Guarantee, version: int) -> dict[str, Any]:
    """The estimator's parameters, each of the type that it needs and none that contradicts the guarantee."""
    expected = set(kind().get_params(deep=False)) - _UNWRITTEN
    if isinstance(written, dict) and version < 3:
        need("precondition" not in written, "Its parameters are not those of a file of its version.")
        written = {"precondition": False, **written}
    if isinstance(written, dict) and version < 4:
        need(not _NEW & set(written), "Its parameters are not those of a file of its version.")
        written = {**{key: value for key, value in _LATER.items() if key in expected}, **written}
    need(isinstance(written, dict) and set(written) == expected, "Its parameters are not those of its estimator.")
    hints = get_type_hints(kind)
    for key, value in written.items():
        declared = _READ[key](value) if key in _READ else _fits(value, hints[key])
        declared = declared or (key == "epsilon" and value == "inf")
        declared = declared and (key != "delta" or value is None or is_probability(value))
        need(declared, f"Its parameter {key} does not have a value that the estimator takes.")
    parameters: dict[str, Any] = {key: math.inf if value == "inf" else value for key, value in written.items()}
    for key in ("epsilon", "adjacency", "calibration"):
        need(parameters[key] == getattr(guarantee, key), f"Its {key} is not the one that the guarantee states.")
    # A pure method, and no other, turns delta into 0; 'auto' leaves the choice of a method to public facts.
    need(
        guarantee.delta in (parameters["delta"], 0) or parameters["delta"] is None, "Its delta is not the guarantee's."
    )
    named = parameters["method"]
    stated = f"whitened-{named}" if parameters["precondition"] not in ("auto", False) else named
    known = (
        guarantee.method in (named, stated, "search") or named == "auto"
    )  # a search's guarantee is of all its trials
    need(known, "Its method is not the one that the guarantee states.")
    pairs = parameters.get("pairs")
    counted = parameters.get("cuts") == "private" or (type(pairs) is int and pairs > 0)
    need(
        not counted or guarantee.theorem in COUNTING or not guarantee.events,
        "Its cuts or pairs were chosen by counts, and its guarantee does not price them.",
    )
    need(
        parameters["rows_per_person"] == guarantee.rows_per_person, "Its unit is not the one that the guarantee states."
    )
    need(
        parameters.get("class_weight") != "balanced" or guarantee.theorem in COUNTING or not guarantee.events,
        "Its classes were weighted by counts, and its guarantee does not price them.",
    )
    own = guarantee.protects in (MODEL, RECORD) and guarantee.method != "counts"  # RECORD: of a second collected model
    need(own, "Its guarantee is that of counts, statistics or scores, and not that of a model.")
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = dict(parameters["class_weight"])
    if isinstance(pairs, list):
        parameters["pairs"] = tuple((one, other) for one, other in pairs)
    if "target_bound" in parameters and isinstance(parameters["target_bound"], list):
        parameters["target_bound"] = tuple(parameters["target_bound"])
    return parameters
