"""What can be tried: a private model of Tacit itself, or a pipeline that ends with one and learns nothing before it.

The price of a trial is that of the private model's own release. Whatever else learned from the records, before the
model, after it or in its place, would leave with the best trial and be priced by nobody.
"""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import FeatureUnion, Pipeline

from tacit.checks import check
from tacit.estimators.base import PrivateLinear
from tacit.estimators.misuse import learns_nothing
from tacit.features.scattering import Scattering
from tacit.schema.encoder import SchemaEncoder

SETTINGS = {"epsilon", "delta", "adjacency", "random_state", "ledger"}
"""What a search sets in a private model, or has to know of it."""
OWN = SchemaEncoder, Scattering
"""Tacit's steps that learn nothing, and whose rows are each their own record's to the last bit."""
_FORMS = (
    "Expected estimator to be a private model of Tacit itself, or a scikit-learn Pipeline whose last step is one; "
    "{name} may release more than such a model states."
)


def private_step(estimator: Any) -> Any:
    """The private model: the estimator, or the last step of a pipeline."""
    return estimator.steps[-1][1] if type(estimator) is Pipeline and estimator.steps else estimator


def name_of(estimator: Any, setting: str) -> str:
    """The name of a setting of the private model, or of an argument of its fit."""
    return setting if private_step(estimator) is estimator else f"{estimator.steps[-1][0]}__{setting}"


def check_accepted(estimator: Any) -> None:
    """Raise unless nothing but one private model learns from the records; classes of others may do anything."""
    model = private_step(estimator)
    known = not isinstance(model, type) and type(model).__module__.partition(".")[0] == "tacit"
    sound = known and hasattr(model, "predict") and set(model.get_params(deep=False)) >= SETTINGS
    check(sound, _FORMS.format(name=type(model).__name__))
    for name, step in estimator.steps[:-1] if model is not estimator else ():
        check(
            _learns_nothing(step),
            f"Expected steps before the private model that learn nothing from the records, and {name} "
            f"({type(step).__name__}) may. Use public bounds in a tacit.Schema, or a step without a memory.",
        )


def check_alone(estimator: Any) -> None:
    """Raise unless predictions are known to be each row's own to the last bit, whatever other rows there are."""
    model = private_step(estimator)
    steps = [step for _, step in estimator.steps[:-1]] if model is not estimator else []
    check(
        isinstance(model, PrivateLinear) and all(type(step) in OWN for step in steps),
        "A search with groups takes linear and additive models, alone or behind a SchemaEncoder: for others it is not "
        "known whether their prediction for a row depends on the other rows.",
    )


def _learns_nothing(step: Any) -> bool:
    """Whether a step that is not fitted yet will learn nothing; of a stranger that is not known."""
    if step is None or isinstance(step, str):
        return True  # 'passthrough' and 'drop'
    if type(step) is Pipeline:
        return all(_learns_nothing(inner) for _, inner in step.steps)
    if type(step) is FeatureUnion:
        return all(_learns_nothing(inner) for _, inner in step.transformer_list)
    if type(step) in OWN:
        return True
    return type(step).__module__.startswith("sklearn.") and learns_nothing(step)
