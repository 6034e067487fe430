"""The public names of the package, and what the fuzzer of arguments calls them with.

A name that is neither a subject (:mod:`fuzz.right_calls`) nor in ``NOT_CALLED`` fails a test, so a new class cannot
escape.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

ROOMS = (
    "tacit", "tacit.audit", "tacit.collector", "tacit.datasets", "tacit.evaluation", "tacit.features",
    "tacit.influence", "tacit.ledger", "tacit.mechanisms", "tacit.nn", "tacit.protocol", "tacit.published",
    "tacit.schema", "tacit.search", "tacit.statistics",
)  # fmt: skip
MADE_BY_TACIT = (
    "AuditResult", "Balance", "Chosen", "Dataset", "Description", "Entry", "Evaluation", "FoundSchema", "Guarantee",
    "Measured", "Method", "PublishedMethod", "Receipt", "Score", "Statement", "Statistic", "Submission", "Submissions",
    "Term",
)  # fmt: skip
"""Results: users read them, and what they may read from a file has a reader that ``test_fuzz.py`` attacks."""
NOT_CALLED = {
    **dict.fromkeys(MADE_BY_TACIT, "a result, made by Tacit"),
    **dict.fromkeys(("CuratorNote", "MisuseWarning", "PrivacyError", "RefutedWarning"), "an exception or a warning"),
    **dict.fromkeys(("Refused", "Unanswered"), "an exception of the collector"),
    **dict.fromkeys(("Mechanism", "Published"), "a contract that classes keep"),
    **dict.fromkeys(("CarriesLedger", "suspended", "refuse_open_ledger", "ledger_of"), "for Tacit's own estimators"),
    **dict.fromkeys(("cache_folder", "names"), "takes no argument"),
    "Collector": "opens a database; tests/collector has its refusals",
    "Influence": "built by influence_of",
}
"""Public names that the fuzzer leaves alone, and why."""


@dataclass(frozen=True)
class Subject:
    """One public name: what to call, the arguments that are right, and what is then done with what it gave.

    ``data`` names the arguments that hold people's records; ``ignored`` those without a wrong value, with the reason.
    """

    name: str
    make: Callable[..., object]
    right: Mapping[str, object] = field(default_factory=dict)
    use: Callable[[object], object] | None = None
    data: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    slow: bool = False

    @property
    def parameters(self) -> dict[str, str]:
        """The annotation of each parameter."""
        found = inspect.signature(self.make).parameters.values()
        return {
            one.name: str(one.annotation) for one in found
            if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) and one.name not in self.skipped
        }  # fmt: skip

    def call(self, **wrong: object) -> None:
        """With these arguments in place of the right ones."""
        made = self.make(**{**self.right, **wrong})
        if self.use is not None:
            self.use(made)


def public_names() -> dict[str, object]:
    """Every public class and function, by name, as ``from tacit.room import name`` finds it."""
    found: dict[str, object] = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        lazy = dir(module) if "__dir__" in vars(module) else ()  # names that are loaded when they are asked for
        for name in {*module.__all__, *lazy}:
            thing = getattr(module, name)
            own = getattr(thing, "__module__", "").startswith("tacit")
            if own and callable(thing) and not name.startswith("_"):
                found[f"{room}.{name}"] = thing
    return found
