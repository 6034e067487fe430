"""The collector: a service for contributors with a browser, curators, and users of the model (extra ``collector``)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.collector.calling import Unanswered
    from tacit.collector.client import Client
    from tacit.collector.collection import Collector
    from tacit.collector.pending import Receipt
    from tacit.collector.refusals import Refused

__all__ = ["Client", "Collector", "Receipt", "Refused", "Unanswered"]
_PLACES = {
    "Client": "tacit.collector.client",
    "Collector": "tacit.collector.collection",
    "Receipt": "tacit.collector.pending",
    "Refused": "tacit.collector.refusals",
    "Unanswered": "tacit.collector.calling",
}


def __getattr__(name: str) -> object:
    """Names come when they are asked for: the client needs none of what the service does."""
    if name in _PLACES:
        from importlib import import_module

        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
