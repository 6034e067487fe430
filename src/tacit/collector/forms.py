"""Forms that browsers send to the curator's pages: where they come from, and what is in them.

A form counts only if the browser says that a page of this very address sent it: by ``Sec-Fetch-Site``, ``Origin`` or
``Referer``; what is there has to agree, and one of them has to be there (OWASP's sheet on cross-site request forgery
asks for such a check beside a token in the form).
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from tacit.checks import check

LARGEST, FIELDS = 2**18, 64
"""Bytes and fields of a form."""
KIND = "application/x-www-form-urlencoded"
Form = dict[str, str]


def parsed(body: bytes, kind: str) -> Form:
    """The fields of a form, each once. Edges: anything else than a plain form of bounded size raises."""
    check(kind.partition(";")[0].strip().lower() == KIND, "Expected a form.")
    check(len(body) <= LARGEST, f"This form is larger than {LARGEST:,} bytes.")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=FIELDS, errors="strict")
    except ValueError:
        raise ValueError("This form cannot be read.") from None
    form = dict(pairs)
    check(len(form) == len(pairs), "This form has a field twice.")
    return form


def same_origin(request: Request) -> bool:
    """Whether a page of this address sent the request.

    Edges: a request without any of the three headers is refused. ``Origin: null``, which a browser sends where a page
    asks for no referrer, says nothing and counts as missing.
    """
    headers = request.headers
    own = (request.url.scheme, headers.get("host", "").lower())
    site, origin, referer = (headers.get(name) for name in ("sec-fetch-site", "origin", "referer"))
    told = [] if site is None else [site == "same-origin"]
    if origin is not None and origin != "null":
        told.append(_origin(origin) == own)
    elif referer:
        told.append(_origin(referer) == own)
    return bool(told) and all(told)


def _origin(address: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return parts.scheme.lower(), parts.netloc.lower()
