"""Which language a visitor is shown, and the sentences of a page in it, for templates.

Words lie in ``languages/NAME.CODE.json`` (:func:`tacit.collector.sentences.dictionary`): one sentence a key, with
places in braces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from tacit.collector.sentences import dictionary

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Codes, and what each language calls itself."""
_FIRST = "en"
_THOUSANDS = {"en": ",", "de": "."}
Say = Callable[..., str]


def chosen(request: Request) -> str:
    """``?lang=`` where it is one of ours, else the browser's first wish that is (RFC 9110, 12.5.4), else English."""
    asked = request.query_params.get("lang", "")
    if asked in LANGUAGES:
        return asked
    return min(_wishes(request.headers.get("accept-language", "")), default=(0.0, 0, _FIRST))[2]


def _wishes(header: str) -> list[tuple[float, int, str]]:
    """(minus the weight, place, code) of the languages that a browser asks for and that we have."""
    found = []
    for place, part in enumerate(header.split(",")[:32]):
        tag, *rest = (piece.strip() for piece in part.split(";"))
        code = tag.partition("-")[0].lower()
        weights = [piece.removeprefix("q=") for piece in rest if piece.startswith("q=")]
        try:
            weight = float(weights[0]) if weights else 1.0
        except ValueError:
            continue
        if code in LANGUAGES and 0 < weight <= 1:
            found.append((-weight, place, code))
    return found


def grouped(number: int, language: str) -> str:
    """A whole number as the language writes it: 12,345 or 12.345."""
    return f"{number:,}".replace(",", _THOUSANDS[language])


def sayer(name: str, language: str) -> Say:
    """``say(key, place=value)`` for templates: a sentence of the page with its places filled."""

    def say(key: str, **places: Any) -> str:
        shown = {k: grouped(v, language) if isinstance(v, int) else str(v) for k, v in places.items()}
        sentence = dictionary(name, language)[key]
        return sentence.format_map(shown) if shown else sentence

    return say
