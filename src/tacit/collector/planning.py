"""The page on which a study is planned: a form, a preview of what it can teach and tells, and only then a study.

What is created is what was seen: the form carries a seal of the preview, and a study with another seal is previewed
instead of created.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tacit.checks import at_most
from tacit.collector import drawn
from tacit.collector.drafting import Draft, drafted, empty
from tacit.collector.forms import Form
from tacit.collector.onlooker import of_model, of_record
from tacit.collector.outlook import small, two_digits
from tacit.collector.reception import Reception
from tacit.collector.sentences import dictionary
from tacit.collector.speaking import LANGUAGES
from tacit.collector.visits import PATH, Visit
from tacit.protocol.outline import Outline
from tacit.protocol.preview import WORTH, Quality, fewest, point
from tacit.protocol.strength import LITTLE

FACTORS = (0.5, 1.0, 2.0)
"""Of the chosen epsilon: those that the preview compares."""
CROWDS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Of the chosen cohort."""
SEARCHED = 40
"""Encoded columns up to which the preview looks for the least crowd: that takes a second or two, and minutes beyond."""
NEW = f"{PATH}/new"
_NO_PREVIEW = "The study could not be tried on made-up people. Please choose more usual numbers, bounds and values."
EXAMPLE = """\
[target]
name = "sleeps well"
classes = ["no", "yes"]

[columns.age]
lower = 18
upper = 90

[columns.hours]
lower = 0
upper = 80

[columns.job]
values = ["office", "shifts", "none"]
"""


def add_planning(reception: Reception) -> None:
    """The routes of a new study."""

    def asked(_: Request, visit: Visit) -> Response:
        return shown(visit, {**empty(), "schema": EXAMPLE}, {})

    def sent(_: Request, visit: Visit, form: Form) -> Response:
        draft, mistakes = drafted(form)
        typed = {name: form.get(name, "") for name in empty()}
        if draft is None:
            return shown(visit, typed, mistakes, status=422)
        if form.get("create") != draft.seal:
            changed = "create" in form
            try:
                preview = previewed(draft)
            except (ValueError, ArithmeticError):
                return shown(visit, typed, {"": _NO_PREVIEW}, status=422)
            return shown(visit, typed, {}, preview=preview, changed=changed)
        try:
            slug = reception.collector.create(draft.protocol, draft.texts, admission=draft.admission, who=visit.account)
        except ValueError as error:  # there is such a study already
            return shown(visit, typed, {"": str(error)}, status=409)
        return RedirectResponse(f"{PATH}/studies/{slug}", 303)

    def shown(visit: Visit, typed: Form, mistakes: Form, *, status: int = 200, **more: Any) -> Response:
        content = {"preview": None, "changed": False, **more}
        return reception.page("new", visit, status, typed=typed, mistakes=mistakes, tongues=LANGUAGES, **content)

    reception.look(NEW, asked, acting=True)
    reception.act(NEW, sent)


def previewed(draft: Draft) -> dict[str, Any]:
    """What a curator should see before a study exists: pictures, a table, both guarantees, and a caution."""
    protocol, tongue = draft.protocol, dictionary("pictures")
    cohort, epsilon = protocol.numbers.cohort, protocol.epsilon
    found = compared(draft)
    epsilons, crowds = list(found), [one.count for one in found[epsilon]]
    record = protocol.record_guarantee().epsilon
    caution = ""
    if protocol.protects_little:
        caution = (
            f"Anyone who sees a submission can practically read the record: its epsilon is {at_most(record, 4)} at "
            f"delta {small(protocol.delta)}, and the best guess between two records is right up to "
            f"{at_most(100 * protocol.best_guess, 3)} times in 100. Ask for an epsilon of one record of {LITTLE:g} or "
            "less, and a small delta, below."
        )
    mine = found[epsilon][crowds.index(cohort)]
    return {
        "useless": useless(draft, mine),
        "seal": draft.seal, "fingerprint": protocol.fingerprint, "caution": caution, "cohort": f"{cohort:,}",
        "model": at_most(protocol.guarantee().epsilon, 4), "record": at_most(record, 4), "delta": small(protocol.delta),
        "quality": drawn.quality(found, tongue, unit=protocol.target.name),
        "onlooker": drawn.onlooker(of_record(protocol), of_model(protocol), tongue),
        "epsilons": [f"{one:g}" for one in epsilons], "chosen": f"{epsilon:g}", "error": found[epsilon][0].error,
        "rows": [_row(f"{crowd:,}", crowd == cohort, [found[one][place] for one in epsilons])
                 for place, crowd in enumerate(crowds)],
        "admission": draft.admission, "withdrawal": protocol.withdrawal,
    }  # fmt: skip


def compared(draft: Draft) -> dict[float, tuple[Quality, ...]]:
    """Qualities by epsilon and crowd: the chosen ones, and those around them for which there is a protocol."""
    outline, epsilon, cohort = draft.outline, draft.protocol.epsilon, draft.protocol.numbers.cohort
    around = {max(2, two_digits(int(part * cohort))) for part in CROWDS if part != 1}
    crowds = [crowd for crowd in sorted({cohort, *around}) if crowd == cohort or _possible(outline, epsilon, crowd)]
    lines = {}
    for one in (factor * epsilon for factor in FACTORS):
        if one == epsilon or all(_possible(outline, one, crowd) for crowd in crowds):
            lines[one] = tuple(point(outline, one, crowd) for crowd in crowds)
    return lines


def _possible(outline: Outline, epsilon: float, crowd: int) -> bool:
    try:
        point(outline, epsilon, crowd)
    except (ValueError, ArithmeticError):
        return False
    return True


def useless(draft: Draft, mine: Quality) -> str:
    """A sentence where the study, as it stands, cannot be expected to teach anything; empty where it can."""
    if mine.gain >= WORTH:
        return ""
    sentence = (
        "On made-up people, the model of this study is no better than guessing. Contributors would give up some "
        "privacy for nothing. Ask more people, fewer questions, or for a larger epsilon."
    )
    if draft.protocol.columns > SEARCHED:
        return sentence
    try:
        needed = fewest(draft.outline, draft.protocol.epsilon)
    except (ValueError, ArithmeticError):
        needed = None
    return sentence if needed is None else f"{sentence} With these epsilons it takes about {needed:,} people."


def _row(crowd: str, chosen: bool, line: list[Quality]) -> dict[str, Any]:
    values = [_shown(one.private, one.error) for one in line]
    return {
        "crowd": crowd, "chosen": chosen, "values": values, "plain": _shown(line[0].plain, line[0].error),
        "guess": _shown(line[0].guess, line[0].error),
    }  # fmt: skip


def _shown(value: float, error: bool) -> str:
    return f"{value:.3g}" if error else f"{100 * value:.0f} %"
