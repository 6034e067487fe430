"""The interface described, from its routes: for programs (``/openapi.json``), and for who writes them (``/api``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic.json_schema import models_json_schema

from tacit._version import __version__
from tacit.collector.replies import BODIES

ABOUT = (
    "Contributors perturb their own record, the service adds up, and a model comes out. No cookies, no accounts, no "
    "keys. Every refusal is an object with `reason`, a word for programs, and `detail`, a sentence for people; neither "
    "ever quotes what was sent. Bodies are JSON of at most 1 MiB. Other origins get no permission (CORS)."
)
_UNUSED = ("HTTPValidationError", "ValidationError")
_SHORT = ("pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems")


def router() -> APIRouter:
    """The two routes; what they describe is the application that they are asked in."""
    routes = APIRouter()
    pages = Environment(
        loader=PackageLoader("tacit.collector"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )

    @routes.get("/openapi.json", include_in_schema=False)
    def openapi(request: Request) -> JSONResponse:
        return JSONResponse(_remembered(request.app))

    @routes.get("/api", response_class=HTMLResponse, include_in_schema=False)
    def page(request: Request) -> HTMLResponse:
        described = _remembered(request.app)
        places = {
            "about": described["info"]["description"].replace("`", ""), "version": described["info"]["version"],
            "operations": list(operations(described)),
        }  # fmt: skip
        return HTMLResponse(pages.get_template("api.html").render(places))

    return routes


def _remembered(app: FastAPI) -> dict[str, Any]:
    """The document, made once an application."""
    if not hasattr(app.state, "document"):
        app.state.document = document(app)
    found: dict[str, Any] = app.state.document
    return found


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an application.

    The framework's own answer to a parameter that does not fit (422) is taken out: the service says 404 instead.
    """
    made = get_openapi(title="Tacit collector", version=__version__, description=ABOUT, routes=app.routes)
    schemas: dict[str, Any] = made["components"]["schemas"]
    _, bodies = models_json_schema(
        [(model, "validation") for model in BODIES], ref_template="#/components/schemas/{model}"
    )
    schemas |= bodies["$defs"]
    for name in _UNUSED:
        schemas.pop(name, None)
    for _, _, operation in _each(made):
        operation["responses"].pop("422", None)
    return made


def _each(made: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def operations(made: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the page shows: every operation with the fields of its body and of its answers."""
    schemas = made["components"]["schemas"]
    for path, method, operation in _each(made):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        yield {
            "path": path, "method": method.upper(), "name": operation["operationId"],
            "description": operation.get("description", ""),
            "body": None if body is None else list(fields(body, schemas)),
            "answers": [_answer(status, one, schemas) for status, one in sorted(operation["responses"].items())],
        }  # fmt: skip


def _answer(status: str, answer: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    content = answer["content"]["application/json"]
    examples = [one["value"] for one in content.get("examples", {}).values()]
    return {
        "status": status, "description": answer["description"], "good": status.startswith("2"), "refusals": examples,
        "fields": [] if examples else list(fields(content["schema"], schemas)),
    }  # fmt: skip


def fields(schema: dict[str, Any], schemas: dict[str, Any], before: str = "") -> Iterator[tuple[str, str, str]]:
    """(place, kind, description) of every field of a schema, those of its parts behind them."""
    schema = _resolved(schema, schemas)
    if schema.get("type") == "array":
        items = _resolved(schema["items"], schemas)
        if "properties" in items:
            yield from fields(items, schemas, f"{before}[ ].")
        return
    for name, entry in schema.get("properties", {}).items():
        found = _resolved(entry, schemas)
        optional = "" if name in schema.get("required", ()) else ", may be left out"
        yield f"{before}{name}", _kind(found, schemas) + optional, found.get("description", "")
        yield from fields(found, schemas, f"{before}{name}.")


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference names; what stands beside the reference counts first."""
    named = schema.get("$ref", "").rpartition("/")[2]
    return {**schemas[named], **{k: v for k, v in schema.items() if k != "$ref"}} if named else schema


def _kind(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """A type with its bounds, in a few words."""
    if "anyOf" in schema:
        return " or ".join(_kind(_resolved(one, schemas), schemas) for one in schema["anyOf"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " or ".join(map(json.dumps, schema["enum"]))
    told = [f"{word} {schema[word]}" for word in _SHORT if word in schema]
    if schema.get("type") == "array":
        return ", ".join([f"list of ({_kind(_resolved(schema['items'], schemas), schemas)})", *told])
    return ", ".join([str(schema.get("type", "anything")), *told])
