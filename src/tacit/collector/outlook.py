"""How a study goes, for its page and those who watch it: counts, refusals, and what a model can be expected to be.

Everything comes from counts and public numbers; nothing comes from sums or submissions.
"""

from __future__ import annotations

import json
from typing import Any

from tacit.checks import at_most
from tacit.collector.collection import Collector
from tacit.collector.drawn import quality
from tacit.collector.refusals import BY_SENTENCE
from tacit.collector.sentences import dictionary
from tacit.collector.studies import Study
from tacit.privacy.guarantee import Guarantee
from tacit.protocol.agreement import Protocol
from tacit.protocol.database import AGAIN
from tacit.protocol.preview import WORTH, Quality, expected

STEPS = (1 / 8, 1 / 4, 1 / 2, 1, 2)
"""Parts of the cohort for which the study's page draws what can be expected."""
_AGAIN = "The same submission again: it was answered with the same receipt, and counted once."


def outlook(collector: Collector, study: Study, *, training: bool = False) -> dict[str, Any]:
    """What changes while a study runs, as plain values. ``training``: whether a training runs in this process."""
    tally, cohort = collector.tally(study.slug), study.protocol.numbers.cohort
    refused = sorted(((said(reason), number) for reason, number in tally.refused.items()), key=lambda pair: -pair[1])
    return {
        "state": study.state, "training": training, "count": f"{tally.count:,}", "cohort": f"{cohort:,}",
        "percent": f"{100 * tally.count // cohort:,} %", "share": min(1.0, tally.count / cohort),
        "refused": [[reason, f"{number:,}"] for reason, number in refused],
        "refusals": f"{sum(tally.refused.values()):,}", "invited": f"{tally.invited:,}", "used": f"{tally.used:,}",
        "expected": so_far(study.protocol, tally.count),
    }  # fmt: skip


def made(study: Study) -> list[dict[str, str]]:
    """Both guarantees of the model that was trained, as its file states them; none where there is no model."""
    if study.model is None:
        return []
    content = json.loads(study.model)
    stated = [Guarantee.from_dict(content[name]) for name in ("guarantee", "record_guarantee")]
    return [
        {"title": title, "epsilon": at_most(one.epsilon, 4), "delta": small(one.delta), "status": one.status,
         "protects": one.protects, "text": str(one)}
        for title, one in zip(("The model", "One record"), stated, strict=True)
    ]  # fmt: skip


def small(delta: float) -> str:
    """A delta as people type it: 1e-6, and not 1e-06."""
    return f"{delta:g}".replace("e-0", "e-")


def said(reason: str) -> str:
    """The sentence that contributors got for a reason under which refusals are counted."""
    if reason == AGAIN:
        return _AGAIN
    return BY_SENTENCE[reason].detail if reason in BY_SENTENCE else reason


def so_far(protocol: Protocol, count: int) -> str:
    """What a model of so many people could be expected to be, on made-up people; two digits of the count matter."""
    if not count:
        return "Nobody has contributed yet."
    now = expected(protocol, two_digits(count))
    if now.error:
        private, guess, plain = (f"{error:.3g}" for error in (now.private, now.guess, now.plain))
        return f"A typical error of about {private} (guessing: {guess}; without noise: {plain})."
    private, guess, plain = (f"{100 * share:.0f}" for share in (now.private, now.guess, now.plain))
    return f"About {private} right answers in 100 (guessing: {guess}; without noise: {plain})."


def hopeless(protocol: Protocol, count: int) -> bool:
    """Whether a model of so many people is not expected to be better than guessing."""
    return not count or expected(protocol, two_digits(count)).gain < WORTH


def two_digits(count: int) -> int:
    """The count with all but its first two digits cut off."""
    unit = int(10 ** max(len(str(count)) - 2, 0))
    return count // unit * unit


def ahead(protocol: Protocol) -> str:
    """A picture of what the study's own protocol can be expected to give, by how many take part."""
    cohort = protocol.numbers.cohort
    counts = sorted({max(2, two_digits(int(part * cohort))) for part in STEPS})
    line: list[Quality] = [expected(protocol, count) for count in counts]
    return quality({protocol.epsilon: line}, dictionary("pictures"), unit=protocol.target.name)
