"""The service as an ASGI application: the parts of the collector, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from tacit._version import __version__
from tacit.collector import api, contributing, curating, manual, using
from tacit.collector.collection import Collector
from tacit.collector.headers import Bodiless, Headers
from tacit.collector.intake import Intake
from tacit.collector.limits import Limits, Rate, refused
from tacit.collector.refusals import ANSWERLESS, NO_METHOD, NO_PAGE, NO_STUDY, Refused

STATIC = Path(__file__).parent / "static"
RATE = 120
"""Requests with a body that one address may send in a minute, unless another number is given."""


def create_app(collector: Collector, *, rate: int = RATE) -> FastAPI:
    """The application for a collector; ``rate`` 0 is for no limit on requests."""
    intake = Intake(collector)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        intake.start()
        yield
        await intake.stop()

    app = FastAPI(title="Tacit collector", version=__version__, lifespan=life, openapi_url=None, redirect_slashes=False)
    app.state.collector, app.state.intake = collector, intake
    app.router.routes.insert(0, api.shortcut(intake))
    app.include_router(api.router(collector, intake))
    app.include_router(contributing.router(collector))
    app.include_router(curating.router(collector))
    app.include_router(manual.router())
    app.include_router(using.router(collector))
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(Limits, rate=Rate(rate))
    app.add_middleware(Headers)
    app.add_middleware(Bodiless)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(SQLAlchemyError, _unavailable)
    return app


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refused)  # for the type checker
    return refused(error.refusal)


async def _invalid(_: Request, __: Exception) -> JSONResponse:
    """What does not fit the interface is not quoted."""
    return refused(NO_STUDY)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # for the type checker
    if error.status_code == 404 and (page := using.unknown(request)) is not None:
        return page
    known = {404: NO_PAGE, 405: NO_METHOD}.get(error.status_code)
    answer = JSONResponse({"reason": "http", "detail": str(error.detail)}, error.status_code)
    answer = answer if known is None else refused(known)
    answer.headers.update(error.headers or {})
    return answer


async def _unavailable(_: Request, __: Exception) -> JSONResponse:
    """The database is locked or gone; what it says about that may quote what it was given."""
    return refused(ANSWERLESS)
