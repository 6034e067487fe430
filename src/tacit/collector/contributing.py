"""The contributor's page: everything about a study that can be read without a script, and the files of its words.

Answers never reach this module: they are typed, perturbed and shown in the browser (``static/contribute*.js``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.collector.collection import Collector
from tacit.collector.drawn import onlooker
from tacit.collector.onlooker import of_model, of_record
from tacit.collector.refusals import Refused
from tacit.collector.sentences import dictionary, words
from tacit.collector.speaking import LANGUAGES, chosen, grouped, sayer
from tacit.collector.studies import Study
from tacit.protocol import Protocol

PAGE = "page"


def router(collector: Collector) -> APIRouter:
    """The routes ``/s/{study}``, and ``/words/page.{language}.json`` for its scripts."""
    routes = APIRouter()
    pages = Environment(
        loader=PackageLoader("tacit.collector"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )

    @routes.get("/s/{slug}", response_class=HTMLResponse, include_in_schema=False)
    def contribute(request: Request, slug: str) -> HTMLResponse:
        language = chosen(request)
        page = {
            "lang": language,
            "languages": LANGUAGES,
            "words": dictionary(PAGE, language),
            "say": sayer(PAGE, language),
        }
        study = visible(collector, slug)
        if study is None:
            return HTMLResponse(pages.get_template("missing.html").render(page), 404)
        told, picture = promised(study.protocol, language)
        page |= {"number": lambda n: grouped(n, language), "told": told, "picture": picture}
        page["study"] = shown(study, collector.count(slug), request, language)
        return HTMLResponse(pages.get_template("contribute.html").render(page))

    for language in LANGUAGES:
        routes.add_api_route(f"/words/page.{language}.json", _file(language), include_in_schema=False)
    return routes


def _file(language: str) -> Callable[[], JSONResponse]:
    """An endpoint that gives the page's words in one language."""

    def endpoint() -> JSONResponse:
        return JSONResponse(dict(dictionary(PAGE, language)))

    return endpoint


def visible(collector: Collector, slug: str) -> Study | None:
    """The study, if contributors may see it: of a draft they are not told that it exists."""
    try:
        study = collector.study(slug)
    except Refused:
        return None
    return None if study.state == "draft" else study


@lru_cache(maxsize=256)
def promised(protocol: Protocol, language: str) -> tuple[Mapping[str, str], str]:
    """Both guarantees in sentences, and the picture of what an onlooker could learn; kept, as they take a while."""
    seen = of_record(protocol), of_model(protocol)
    return words(protocol, language), onlooker(*seen, dictionary("pictures", language))


def asked(study: Study, column: str, language: str) -> str:
    """The question about a column, as the form has it: in this language, else in English, else the column's name."""
    for code in (language, "en"):
        words = study.texts.get(code, {}).get("questions", {}).get(column, {})
        if words.get("label"):
            return str(words["label"])
    return column


def shown(study: Study, count: int, request: Request, language: str) -> dict[str, Any]:
    """What the template says of a study: its own texts, and public numbers of its protocol."""
    protocol, say = study.protocol, sayer(PAGE, language)
    assert protocol.schema is not None  # for the type checker: a study has one
    return {
        "slug": study.slug,
        "state": study.state,
        "admission": study.admission,
        "count": count,
        "cohort": protocol.numbers.cohort,
        "questions": len(protocol.schema.names) + 1,
        "target": asked(study, protocol.target.name, language),
        "title": study.said("title", language) or study.title,
        "purpose": study.said("purpose", language),
        "about": [part for part in study.said("about", language).split("\n\n") if part],
        "who": study.said("who", language) or say("about.who-unknown", host=request.url.hostname or "?"),
        "address": str(request.url.replace(path=f"/api/studies/{study.slug}", query="", fragment="")),
        "caution": bool(protocol.caution()),
    }
