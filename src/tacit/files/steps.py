"""Steps of a pipeline as plain data: those of Tacit itself, which learn nothing or are charged.

What scikit-learn's own steps learn is covered by no guarantee, and what strangers' steps do is code, which no file of
Tacit holds. So both are refused, each in a sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Never

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.checks import refuse
from tacit.estimators.misuse import learns_nothing
from tacit.features.scattering import Scattering
from tacit.files.found import read_schema, schema_entries
from tacit.files.sealing import names_or_none, plain_value
from tacit.privacy.events import is_amount, is_count
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.theorems import TABLE
from tacit.reading import floats, need
from tacit.schema import SchemaEncoder
from tacit.statistics.scaler import PrivateScaler

PASSED = "passthrough"
Entry = dict[str, Any]
_ALONE = (
    "Or, if the step contains nothing that was learned from the records, save the model alone, "
    "tacit.save(pipeline[-1], path), and put the pipeline together again after loading it."
)
_SCALES = ("deviation", "quartiles")


def _write_encoder(step: SchemaEncoder) -> Entry:
    return {"clip": float(step.clip), **schema_entries(step.declared())}


def _read_encoder(entry: Entry) -> SchemaEncoder:
    need(is_amount(entry["clip"]), "The clip of its encoder is not a number above 0.")
    schema = read_schema(entry["schema"], entry["found"])
    if schema is None:
        refuse("This model file is malformed. Its encoder has no schema.")
    return SchemaEncoder(schema, float(entry["clip"])).fit(None)  # which looks at no table


def _write_scaler(step: PrivateScaler) -> Entry:
    check_is_fitted(step, ("center_", "scale_"))
    names = vars(step).get("feature_names_in_")
    return {
        "scale": step.scale,
        "limit": float(step.limit),
        "declared": step.bounds is not None,
        "bounds": plain_value(step.bounds_),
        "center": plain_value(step.center_),
        "scales": plain_value(step.scale_),
        "names": None if names is None else [str(name) for name in names],
        "guarantee": step.guarantee_.to_dict(),
    }


def _read_scaler(entry: Entry) -> PrivateScaler:
    """Its budget, neighbours and unit are those of its guarantee."""
    guarantee = Guarantee.from_dict(entry["guarantee"])
    own = guarantee.method == "scaler" and guarantee.protects == TABLE
    need(own, "The guarantee of its scaler is not that of a scaler.")
    bounds, center, scales = (floats(entry[name]) for name in ("bounds", "center", "scales"))
    columns = len(center) if center.ndim == 1 else 0
    shaped = columns >= 1 and bounds.shape == (columns, 2) and scales.shape == (columns,)
    need(shaped, "Its scaler does not have bounds, a centre and a scale for each column.")
    need(
        (bounds[:, 0] < bounds[:, 1]).all() and (scales > 0).all(), "The bounds or scales of its scaler are not valid."
    )
    need(entry["scale"] in _SCALES and is_amount(entry["limit"]), "The settings of its scaler are not valid.")
    need(type(entry["declared"]) is bool, "It does not say whether the bounds of its scaler were declared.")
    pairs = [(low, high) for low, high in bounds.tolist()]
    step = PrivateScaler(
        guarantee.epsilon, bounds=pairs if entry["declared"] else None, scale=entry["scale"],
        limit=float(entry["limit"]), delta=guarantee.delta, adjacency=guarantee.adjacency,
        rows_per_person=guarantee.rows_per_person,
    )  # fmt: skip
    step.bounds_, step.center_, step.scale_ = pairs, center, scales
    step.n_features_in_, step.guarantee_ = columns, guarantee
    names = names_or_none(entry["names"], columns)
    if names is not None:
        step.feature_names_in_ = np.asarray(names, dtype=object)
    return step


def _write_scattering(step: Scattering) -> Entry:
    check_is_fitted(step, "shape_")
    settings = {name: getattr(step, name) for name in ("J", "L", "shape", "scale", "groups")}
    return {**{name: plain_value(value) for name, value in settings.items()}, "images": plain_value(step.shape_)}


def _read_scattering(entry: Entry) -> Scattering:
    shape, images = entry["shape"], entry["images"]
    for sizes in (images, *(() if shape is None else (shape,))):
        need(isinstance(sizes, list) and all(map(is_count, sizes)), "The shape of its images is not valid.")
    need(len(images) == 3 and (shape is None or [*shape, 1][:3] == images), "The shape of its images is not valid.")
    settings = {name: entry[name] for name in ("J", "L", "scale", "groups")}
    return Scattering(**settings, shape=None if shape is None else tuple(shape)).note(tuple(images))


_WRITERS: dict[type, Callable[[Any], Entry]] = {
    SchemaEncoder: _write_encoder,
    PrivateScaler: _write_scaler,
    Scattering: _write_scattering,
}
_READERS: dict[str, tuple[set[str], Callable[[Entry], Any]]] = {
    "SchemaEncoder": ({"clip", "schema", "found"}, _read_encoder),
    "PrivateScaler": (
        {"scale", "limit", "declared", "bounds", "center", "scales", "names", "guarantee"},
        _read_scaler,
    ),
    "Scattering": ({"J", "L", "shape", "scale", "groups", "images"}, _read_scattering),
    PASSED: (set(), lambda entry: PASSED),
}
_FIRST = (SchemaEncoder, Scattering)
"""Steps that take a table or images, so nothing can stand before them."""


def write_step(name: str, step: Any) -> Entry:
    """A step before the model, as a file has it."""
    if step is None or step == PASSED:
        return {"name": name, "kind": PASSED}
    if type(step) not in _WRITERS:
        _refuse_step(name, step)
    return {"name": name, "kind": type(step).__name__, **_WRITERS[type(step)](step)}


def read_step(entry: Any) -> tuple[str, Any]:
    """The name of a step and the step, with every field checked."""
    need(isinstance(entry, dict) and {"name", "kind"} <= set(entry), "Its steps have no name or no kind.")
    need(isinstance(entry["name"], str) and entry["name"].isprintable(), "The name of a step is not one line of text.")
    known = isinstance(entry["kind"], str) and entry["kind"] in _READERS
    need(known, f"Its steps are not all of the kinds {', '.join(_READERS)}.")
    fields, read = _READERS[entry["kind"]]
    need(set(entry) == {"name", "kind", *fields}, "The fields of a step are not those of its kind.")
    return entry["name"], read(entry)


def objection(steps: Sequence[tuple[str, Any]], features: int) -> str:
    """Why steps do not fit one another, or the model, which takes rows of so many ``features``; else nothing."""
    real = [step for _, step in steps if not (step is None or step == PASSED)]
    if any(isinstance(step, _FIRST) for step in real[1:]):
        return "A step that takes tables or images is not the first one."
    taken = [*map(_columns, real[1:]), features]
    fits = all(_width(step) == following for step, following in zip(real, taken, strict=False))
    return "" if fits else "A step gives a different number of columns from what the next step, or the model, takes."


def _columns(step: Any) -> int:
    """Columns that go in; tables and images have none that a step before would have to give."""
    return 0 if isinstance(step, _FIRST) else int(step.n_features_in_)


def _width(step: Any) -> int:
    """Columns that come out."""
    if isinstance(step, SchemaEncoder):
        return int(step.declared().width)
    return int(step.width if isinstance(step, Scattering) else step.n_features_in_)


def _refuse_step(name: str, step: Any) -> Never:
    """Why a step of somebody else is in no file, and what to do."""
    from sklearn.compose import ColumnTransformer  # slow to load, and needed for nothing else
    from sklearn.pipeline import FeatureUnion, Pipeline
    from sklearn.preprocessing import FunctionTransformer

    named = f"The step {name!r} ({type(step).__name__})"
    if isinstance(step, ColumnTransformer | FeatureUnion | Pipeline):
        raise ValueError(
            f"{named} contains other steps, but a file can only contain steps that follow one another. Describe all "
            "columns in one tacit.Schema and use SchemaEncoder(schema) instead."
        )
    if isinstance(step, FunctionTransformer):
        raise ValueError(f"{named} is code, and files contain no code. Call the function before predict. {_ALONE}")
    if type(step).__module__.startswith("sklearn.") and learns_nothing(step):
        raise ValueError(
            f"{named} is scikit-learn's. It learns nothing, so the guarantee stands, but files contain Tacit's own "
            f"steps only: {', '.join(kind.__name__ for kind in _WRITERS)}. {_ALONE}"
        )
    refuse(
        f"{named} is not one of Tacit's steps: what it learned from the records would be in the file, and the "
        "guarantee does not cover it. Use tacit.PrivateScaler, which is charged, or public bounds in a tacit.Schema."
    )
