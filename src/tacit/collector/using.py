"""The pages for everyone: the list of studies, and of a published study its model, its promises and a form to predict.

What is typed into the form never reaches this module: the browser computes the prediction (``static/model.js``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.collector import drawn
from tacit.collector.collection import Collector
from tacit.collector.model_words import Told, hoped, told
from tacit.collector.onlooker import of_record
from tacit.collector.refusals import Refused
from tacit.collector.sentences import dictionary
from tacit.collector.speaking import LANGUAGES, chosen, grouped, sayer
from tacit.collector.studies import Study
from tacit.privacy.guarantee import Guarantee

PAGE = "model"
_FORM = ("question.", "hint.", "mistake.", "answer.")
"""What the contributor's page says about its form, the model's page says too."""
_HOST = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?")


_PAGES = Environment(
    loader=PackageLoader("tacit.collector"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def page(request: Request, template: str, status: int = 200, **places: Any) -> HTMLResponse:
    """A page for everyone, in the visitor's language."""
    language = chosen(request)
    common: dict[str, Any] = {"lang": language, "languages": LANGUAGES, "words": dictionary(PAGE, language)}
    common |= {"say": sayer(PAGE, language), "number": lambda n: grouped(n, language)}
    return HTMLResponse(_PAGES.get_template(template).render(common | places), status)


def unknown(request: Request) -> HTMLResponse | None:
    """The page for an address without one, for a person; None for a program, and below ``/api/``."""
    person = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
    return page(request, "unknown.html", 404) if person else None


def router(collector: Collector) -> APIRouter:
    """The routes ``/``, ``/m/{study}``, and ``/words/model.{language}.json`` for its script."""
    routes = APIRouter()

    @routes.get("/", response_class=HTMLResponse, include_in_schema=False)
    def home(request: Request) -> HTMLResponse:
        language = chosen(request)
        found = [
            _listed(study, language)
            for study in collector.studies("open", "published")
            if study.state != "open" or study.admission == "open"  # others are for those who have their link
        ]
        groups = {state: [one for one in found if one["state"] == state] for state in ("open", "published")}
        return page(request, "home.html", groups=groups)

    @routes.get("/m/{slug}", response_class=HTMLResponse, include_in_schema=False)
    def model(request: Request, slug: str) -> HTMLResponse:
        try:
            study, text = collector.study(slug), collector.model(slug)
        except Refused:
            return page(request, "missing.html", 404)
        language = chosen(request)
        said = _told(study.protocol, text, language)
        signs = {**dictionary("pictures", language), **_pictures(language)}
        return page(
            request, "model.html", study=_shown(study, language), told=said, file=_file(text, _address(request), slug),
            hope=hoped(study.protocol, said.count or collector.count(slug), language),
            picture=drawn.onlooker(said.sent, said.seen, signs), questions=_questions(study, language),
        )  # fmt: skip

    for language in LANGUAGES:
        routes.add_api_route(f"/words/model.{language}.json", _words(language), include_in_schema=False)
    return routes


def _words(language: str) -> Callable[[], JSONResponse]:
    """An endpoint that gives the words of the model's page, and of the form in it, in one language."""
    form = {key: text for key, text in dictionary("page", language).items() if key.startswith(_FORM)}
    both = {**form, **dictionary(PAGE, language)}

    def endpoint() -> JSONResponse:
        return JSONResponse(both)

    return endpoint


@lru_cache(maxsize=64)
def _told(protocol: Any, text: str, language: str) -> Told:
    """Both guarantees of a model file in words; the last ones are remembered."""
    content = json.loads(text)
    return told(
        protocol, Guarantee.from_dict(content["guarantee"]), Guarantee.from_dict(content["record_guarantee"]), language
    )


def _pictures(language: str) -> dict[str, str]:
    """What the onlooker's picture says of contributors, in the place of what it says to them."""
    lead = "picture."
    return {key.removeprefix(lead): text for key, text in dictionary(PAGE, language).items() if key.startswith(lead)}


def _listed(study: Study, language: str) -> dict[str, Any]:
    return {
        "slug": study.slug, "state": study.state, "little": of_record(study.protocol).little,
        "title": study.said("title", language) or study.title, "purpose": study.said("purpose", language),
    }  # fmt: skip


def _shown(study: Study, language: str) -> dict[str, Any]:
    about = [part for part in study.said("about", language).split("\n\n") if part]
    return {
        **_listed(study, language), "about": about, "who": study.said("who", language),
        "fingerprint": study.protocol.fingerprint, "withdrawal": study.protocol.withdrawal,
        "cohort": study.protocol.numbers.cohort,
    }  # fmt: skip


def _questions(study: Study, language: str) -> dict[str, Any]:
    """What is predicted, from what: by the names that the study gives them."""
    target, schema = study.protocol.target, study.protocol.schema
    assert schema is not None  # for the type checker: a study has one
    told = _labels(study.texts, language, target.name)
    classes = [told["values"].get(str(value), str(value)) for value in target.classes or ()]
    asked = [_labels(study.texts, language, name)["label"] for name in schema.names]
    return {"target": told["label"], "classes": classes, "unit": told["unit"], "asked": asked}


def _labels(texts: Mapping[str, Any], language: str, column: str) -> dict[str, Any]:
    """Label, unit and names of values of a column: in this language, else in English, else as they were declared."""
    own, english = (texts.get(code, {}).get("questions", {}).get(column, {}) for code in (language, "en"))
    return {
        "label": own.get("label") or english.get("label") or column,
        "unit": own.get("unit") or english.get("unit") or "",
        "values": {**english.get("values", {}), **own.get("values", {})},
    }


def _address(request: Request) -> str:
    """Where this service is, for a command that people copy: a name with other signs in it is not repeated."""
    address = str(request.base_url).rstrip("/")
    return address if _HOST.fullmatch(address) else "https://ADDRESS"


def _file(text: str, address: str, slug: str) -> dict[str, str]:
    """The model's file: where it is, its checksum, and the commands that check it."""
    place, name = f"/api/studies/{slug}/model", f"{slug}.json"
    return {
        "place": place,
        "name": name,
        "sum": hashlib.sha256(text.encode()).hexdigest(),
        "size": f"{len(text.encode()) / 1000:.0f}",
        "command": f"curl -fsSo {name} {address}{place} && tacit verify {name}",
        "python": f'from tacit.collector import Client\nmodel = Client("{address}").model("{slug}")',
    }
