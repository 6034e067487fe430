"""A statement as a record of the public registry of differential privacy deployments, as far as a guarantee goes.

Field names and enumerated values are those of the registry's schema (opendp/deployments-registry-data,
``schemas/deployments-schema.yaml``, with ``basic``, ``dp_variant``, ``privacy_loss``, ``deployment_model`` and
``implementation``). What a guarantee does not know (names, dates, region, sector, intended use, kind of data source) is
left out and listed in ``LEFT``, to be filled in by whoever registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.privacy.answers import Answer

LEFT = (
    "url_slug", "basic.name", "basic.data_curators", "basic.description", "basic.intended_use",
    "basic.data_product_type", "basic.data_product_region", "basic.data_product_sector", "basic.publication_date",
    "dp_variant.data_domain", "deployment_model.data_source_type", "implementation.justification",
    "administrative.registry_authors", "administrative.tier",
)  # fmt: skip
"""Fields that a guarantee does not know."""


def deployment(
    answers: tuple[Answer, ...],
    *,
    epsilon: float,
    delta: float,
    records: int | None,
    person: bool,
    releases: int,
    model: str | None,
) -> dict[str, Any]:
    """The record of a promise that holds; ``records`` None: how many there are is not known."""
    said: Mapping[str, str] = {answer.topic: "\n".join(answer.sentences) for answer in answers}
    loss: dict[str, Any] = {
        "privacy_unit": "Person-level" if person else "Record-level",
        "privacy_unit_details": f"{said['unit']}\n{said['neighbours']}",
        "privacy_parameters": {"epsilon": epsilon, "delta": delta} if delta else {"epsilon": epsilon},
        "privacy_parameters_details": said["epsilon"],
    }
    trust: dict[str, Any] = {
        "trust_assumptions": said["trust"],
        "release_type": "One release" if releases == 1 else "Many releases",
        "access_type": "Non-interactive",
    }
    return {
        "dp_variant": {
            "variant_name": "Approximate DP" if delta else "Pure DP",
            "unprotected_quantities": said["public"],
        },
        "privacy_loss": loss if records is None else {**loss, "number_of_privacy_units": records},
        "deployment_model": trust if model is None else {"model_name": model, **trust},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": said["preparation"],
            "mechanisms": f"{said['mechanism']}\n{said['implementation']}",
            "composition": said["composition"],
            "utility": said["utility"],
            "additional_information": said["verification"],
        },
        "administrative": {"status": "Draft"},
    }
