"""The methods by name, gathered from the files that hold them, and the rule that chooses among them."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from tacit.arguments import checked
from tacit.checks import check, refuse, shown
from tacit.mechanisms.base import Chosen, Mechanism, Method
from tacit.mechanisms.defaults import prefer
from tacit.mechanisms.whitened import Whitened
from tacit.privacy.events import COUNT
from tacit.types import Budget, Calibration, Facts, Precondition, Site

_SITES: tuple[Site, ...] = ("objective", "gradient", "input", "output")


def _gathered() -> dict[str, Method]:
    """Every file of this folder lists its methods in METHODS, where it has any: a new one needs no line elsewhere."""
    files = [entry.name for entry in iter_modules([str(Path(__file__).parent)]) if entry.name != "registry"]
    found = [vars(import_module(f"tacit.mechanisms.{name}")).get("METHODS", ()) for name in files]
    methods: list[Method] = sorted(
        (one for some in found for one in some), key=lambda one: _SITES.index(one.mechanism.site)
    )
    return {method.name: method for method in methods}


METHODS: dict[str, Method] = _gathered()
"""All methods, each under the name that users, tables and guarantees call it by: by where their noise enters."""


@checked
def choose_method(
    method: str | Mechanism,
    budget: Budget,
    facts: Facts,
    calibration: Calibration = "proven",
    precondition: Precondition = "auto",
) -> Chosen:
    """The mechanism of that name; 'auto' goes by public facts. Pure methods turn the budget's delta into 0.

    ``precondition``: True takes the method's form on whitened rows, a number that form with columns in runs of so many,
    False keeps 'auto' from choosing it.
    This is the one place where 'auto' is decided. A calibration that the method does not have is refused.
    """
    if not isinstance(precondition, str):
        words = (
            f"Expected precondition={shown(precondition)} to be 'auto', True, False, or the length of columns' runs."
        )
        check(0 <= precondition <= COUNT, words)
    if not isinstance(method, str):
        check(
            isinstance(method, Mechanism),
            "Expected method to be a name or a mechanism; `tacit methods` lists the names.",
        )
        check(
            precondition in ("auto", False),
            "precondition= can only be used with a method's name: pass Whitened(mechanism) instead.",
        )
        chosen = Chosen(type(method).__name__, method, budget)
    else:
        if budget.delta == 0 and budget.private and (method == "auto" or method in METHODS):
            _refuse_other_noise(method, facts)
        asked = precondition != "auto" and precondition > 0
        whiten = calibration == "proven" and (precondition == "auto" or asked)
        name = prefer(budget, facts, whiten=whiten) if method == "auto" else method
        name = _whitened(name) if asked else name
        check(
            name in METHODS,
            f"Unknown method {shown(name)}. Known: auto, {', '.join(METHODS)}. Published algorithms without a proof "
            "are objects of tacit.published, with the constants that their papers leave open.",
        )
        offered = METHODS[name].calibrations
        if calibration not in offered:
            refuse(f"Method {name!r} has no calibration {calibration!r}. Use calibration={offered[0]!r}.")
        mechanism = METHODS[name].mechanism
        if asked and isinstance(mechanism, Whitened):
            mechanism = replace(mechanism, runs=int(precondition))
        chosen = Chosen(name, mechanism, budget)
    if chosen.mechanism.pure:
        return replace(chosen, budget=replace(budget, delta=0.0))
    if calibration == "paper" and budget.delta == 0:
        refuse("The published noise of this method needs delta > 0.")
    return chosen


def _whitened(name: str) -> str:
    """The method's form on whitened rows."""
    if name.startswith("whitened-"):
        return name
    forms = [known.removeprefix("whitened-") for known in METHODS if known.startswith("whitened-")]
    check(
        name in forms,
        f"Method {name!r} has no form on whitened rows. Leave out precondition=True, or use method="
        f"{' or '.join(map(repr, forms))}.",
    )
    return f"whitened-{name}"


def _refuse_other_noise(method: str, facts: Facts) -> None:
    """Where delta is 0, name the pure methods unless the method is one of them."""
    pure = [m.name for m in METHODS.values() if m.mechanism.pure and not m.mechanism.needs(facts, "proven")]
    if method not in pure:
        refuse(
            f"delta = 0 needs other noise than that of method={method!r}. Use delta > 0, or a pure method: "
            f"method={' or '.join(map(repr, pure))}."
        )
