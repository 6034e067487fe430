"""The door of the curator's pages: who is there, what they may do, and what they are told if they may not.

Every page is asked for through :meth:`Reception.look`, and everything that changes something through
:meth:`Reception.act`, which asks for all of: a form of this very address, a session, the session's token in the form,
and the role of a curator. There is no other way in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter
from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tacit.collector import accounts, acts, visits
from tacit.collector.collection import Collector
from tacit.collector.engine import reading
from tacit.collector.forms import Form, parsed, same_origin
from tacit.collector.refusals import Refused
from tacit.collector.visits import PATH, Visit

SIGN_IN = f"{PATH}/sign-in"
Look = Callable[[Request, Visit], Response]
Act = Callable[[Request, Visit, Form], Response]
Endpoint = Callable[[Request], Awaitable[Response]]

_ELSEWHERE = (
    "This form did not come from a page of this service, according to your browser. Nothing was changed. If you "
    "pressed a button here, the service may be behind a proxy that does not pass on the host's name, or that visitors "
    "come over https: whoever runs the service can correct that."
)
_OLD = "This form is from an earlier session. Nothing was changed. Please go back, load the page again, and try again."
_SIGNED_OUT = "You are signed out, or your session has ended. Nothing was changed. Please sign in and try again."
_VIEWER = "Your account may view pages but not change anything. Nothing was changed."
_WRONG = "This name and this secret do not belong together. Please check both."
_TOO_MANY = "There were too many failed attempts. Please wait a minute."
_LOST = "The database did not answer. Please try again; if it was about a change, see first whether it was made."


class Turned(Exception):
    """A visitor is turned away, with a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Reception:
    """The routes of the curator's pages, as they are added; :attr:`routes` is what an application includes."""

    def __init__(self, collector: Collector, tries: accounts.Tries | None = None) -> None:
        self.collector, self.tries = collector, tries or accounts.Tries()
        self.routes = APIRouter()
        self._pages = Environment(
            loader=PackageLoader("tacit.collector"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._add(SIGN_IN, "GET", self._asked_to_sign_in)
        self._add(SIGN_IN, "POST", self._sign_in)
        self._add(f"{PATH}/sign-out", "POST", self._sign_out)

    def look(self, path: str, page: Look, *, acting: bool = False) -> None:
        """A page for whoever is signed in; ``acting`` if it leads to a change and is for curators alone."""

        def shown(request: Request, _: Form) -> Response:
            try:
                visit = self.visitor(request)
            except Turned:
                return RedirectResponse(SIGN_IN, 303)
            if acting:
                _check_curator(visit)
            return page(request, visit)

        self._add(path, "GET", shown)

    def act(self, path: str, done: Act) -> None:
        """Something that a curator changes by a form."""

        def changed(request: Request, form: Form) -> Response:
            visit = self._owner(request, form)
            _check_curator(visit)
            return done(request, visit, form)

        self._add(path, "POST", changed)

    def _add(self, path: str, method: str, answer: Callable[[Request, Form], Response]) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                form: Form = {}
                if method == "POST":
                    if not same_origin(request):
                        raise Turned(403, _ELSEWHERE)
                    form = _form(await request.body(), request)
                return await run_in_threadpool(answer, request, form)
            except Turned as turned:
                return self.turned(request, turned.status, turned.sentence)
            except Refused as refused:
                return self.turned(request, refused.refusal.status, refused.refusal.detail)
            except SQLAlchemyError:
                return self.turned(request, 503, _LOST)

        self.routes.add_route(path, endpoint, [method], include_in_schema=False)

    def visitor(self, request: Request, *, using: bool = True) -> Visit:
        """Who is there; raises where nobody is signed in. ``using``: whether that counts as use of the session."""
        token = visits.token_of(request)
        found = None
        if token is not None:
            with reading(self.collector.engine) as base:
                found = visits.find(base, token)
        if token is None or found is None:
            raise Turned(401, _SIGNED_OUT)
        visit, stale = found
        if stale and using:
            with self.collector.engine.begin() as base:
                visits.note(base, token)
        return visit

    def present(self, token: str) -> bool:
        """Whether a session still lasts; asking does not count as its use."""
        with reading(self.collector.engine) as base:
            return visits.find(base, token) is not None

    def _owner(self, request: Request, form: Form) -> Visit:
        visit = self.visitor(request)
        if not visit.owns(form.pop("form", "")):
            raise Turned(403, _OLD)
        return visit

    def page(self, template: str, visit: Visit | None, status: int = 200, /, **content: Any) -> HTMLResponse:
        """A page from its template; what is not markup of ours is escaped."""
        shared: dict[str, Any] = {"lang": "en", "languages": {}, "words": {}, "visit": visit, "path": PATH}
        may = visit is not None and visit.role == accounts.CURATOR
        text = self._pages.get_template(f"curator-{template}.html").render(shared, may=may, **content)
        return HTMLResponse(text, status)

    def turned(self, request: Request, status: int, sentence: str) -> HTMLResponse:
        """The page for those who are turned away."""
        try:
            visit = self.visitor(request)
        except (Turned, SQLAlchemyError):
            visit = None
        return self.page("turned", visit, status, sentence=sentence)

    def _asked_to_sign_in(self, _: Request, __: Form) -> Response:
        return self.page("sign-in", None, name="", mistake="")

    def _sign_in(self, request: Request, form: Form) -> Response:
        name, secret = form.get("name", "").strip().lower()[:80], form.get("secret", "")[:80]
        engine = self.collector.engine
        address = request.client.host if request.client else ""
        if not self.tries.begin(name, address):
            return self.page("sign-in", None, 429, name=name, mistake=_TOO_MANY)
        with reading(engine) as base:
            role, known = accounts.verified(base, name, secret), accounts.role_of(base, name) is not None
        if role is None:
            with engine.begin() as base:  # a name that is none is not written down: it may be a secret, misplaced
                acts.write(base, name if known else "unknown name", "sign-in refused")
            return self.page("sign-in", None, 403, name=name, mistake=_WRONG)
        self.tries.right(name, address)
        before = visits.token_of(request)
        with engine.begin() as base:
            if before is not None:
                visits.end(base, before)
            token = visits.begin(base, name)
            acts.write(base, name, "sign-in")
        answer = RedirectResponse(PATH, 303)
        visits.hand(answer, request, token)
        return answer

    def _sign_out(self, request: Request, form: Form) -> Response:
        visit = self._owner(request, form)
        with self.collector.engine.begin() as base:
            visits.end(base, visit.token)
            acts.write(base, visit.account, "sign-out")
        answer = RedirectResponse(SIGN_IN, 303)
        visits.take(answer, request)
        return answer


def _check_curator(visit: Visit) -> None:
    if visit.role != accounts.CURATOR:
        raise Turned(403, _VIEWER)


def _form(body: bytes, request: Request) -> Form:
    try:
        return parsed(body, request.headers.get("content-type", ""))
    except ValueError as error:
        raise Turned(400, str(error)) from None
