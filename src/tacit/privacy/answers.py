"""What a guarantee answers to the person who decides about a release: one sentence per fact, and none that it does not
contain.

The questions are in the order of NIST SP 800-226 (Near, Darais, Lefkovitz and Howarth 2025): first the top of its
pyramid, the promise (epsilon, the unit of privacy), then the algorithm, then what all of it stands on: trust,
implementation, access, collection. Much of the lower part is not in a guarantee, and the answer says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from tacit.checks import PrivacyError, at_most, counted
from tacit.privacy.events import Claimed, Event, Shuffled, declared
from tacit.privacy.promise import Promise
from tacit.privacy.theorems import RECORD, THEOREMS
from tacit.types import Adjacency


class Answer(NamedTuple):
    """A question of the release desk, by topic, and the sentences that answer it."""

    topic: str
    question: str
    sentences: tuple[str, ...]


QUESTIONS = {
    "epsilon": "How strong is the promise: what are epsilon and delta?",
    "unit": "What is the unit of privacy: whom does it protect?",
    "neighbours": "Which tables count as neighbours?",
    "public": "What is not protected?",
    "mechanism": "By which mechanism, and what is the proof?",
    "composition": "What if more is released about the same people?",
    "preparation": "Were columns, scales or settings chosen by looking at the records?",
    "utility": "How useful is what was released, and for whom?",
    "trust": "Who is trusted, and with what?",
    "implementation": "Where does the noise come from, and what about rounding errors, running time and memory?",
    "access": "Who can reach the records themselves?",
    "collection": "How were the records collected?",
    "verification": "How can this be checked?",
}
"""By topic, in order."""

OPEN = ("preparation", "utility", "access", "collection")
"""Topics on which a guarantee says what it assumes or leaves out, and somebody else has to say what was done."""
UNRELIABLE = "Stated, but not to be relied on:"
NOT_STATED = "A guarantee does not contain this."
BEFORE = (
    "The guarantee covers what the method did with the rows that it was given. Scaling, filling in, and choosing rows, "
    "columns or settings by looking at the same records are not covered, unless each of these is charged too. No file "
    "can show whether that happened: ask whoever prepared the table."
)
UTILITY = (
    f"{NOT_STATED} It holds however good or bad the result is, and does not say whether errors are larger for some "
    "groups than for others. A score that is computed on private records without noise is a release that it does not "
    "cover."
)
SEVERAL = (
    "Somebody with several rows is protected less: epsilon is multiplied by their number, and delta, unless it is 0, "
    "grows even more."
)
SIDE = "The time, memory and power that a run takes may depend on the records, and are not covered."
_GRID = (
    "Noise is released on a grid, and the rounding of sums is counted in the sensitivities; the limits of this are in "
    "docs/theorems/noise.md of Tacit's documentation."
)
ACCESS = (
    f"{NOT_STATED} It bounds what the release reveals; it does not restrict anyone who can read the records themselves."
)
COLLECTED = f"{NOT_STATED} What was seen, stored or shared while records were collected is not covered."
SHOWS = (
    "This shows that the recorded noise gives the recorded epsilon. That this noise was drawn, that rows were clipped, "
    "and that the release came out of this run cannot be shown by a file; you have to trust whoever ran it. A checksum "
    "detects damage, but it is not a signature."
)


def open_questions() -> str:
    """The numbers of the questions that nothing in a guarantee answers."""
    *most, last = (number for number, topic in enumerate(QUESTIONS, 1) if topic in OPEN)
    return f"{', '.join(map(str, most))} and {last}"


def objection(promise: Promise) -> str:
    """Why the promise does not hold as it stands: the sentence of its own check, or the empty string."""
    try:
        promise.verify()
    except PrivacyError as error:
        return str(error)
    return ""


def first(promise: Promise) -> tuple[str, ...]:
    """What has to be read before anything else: that it does not hold, and that it must not be released."""
    found = []
    if not promise.events:
        found.append("NOT PRIVATE: no noise was added (epsilon is infinite). There is no guarantee to state.")
    elif promise.status == "refuted":
        found.append("REFUTED: what is stated below was claimed, but is known to be more than this noise gives.")
    elif promise.status == "claimed":
        found.append("ONLY CLAIMED: a paper says what is stated below; it is neither proven nor refuted.")
    else:
        wrong = objection(promise)
        found += [f"NOT VERIFIED: {wrong}"] if wrong else []
    if promise.seeded:
        found.append("NOT FOR RELEASE: the noise came from a seed, and anyone who knows the seed can remove it.")
    return tuple(found)


def answers(promise: Promise, sound: bool) -> tuple[Answer, ...]:
    """Every question, answered from the fields of a guarantee alone; ``sound``: nothing has to be read first."""
    row = THEOREMS[promise.theorem]
    said: Mapping[str, tuple[str, ...]] = {
        "epsilon": (*_strength(promise, sound), *(f"Note: {note}." for note in promise.notes)),
        "unit": (unit(promise.records, promise.rows_per_person, promise.protects),),
        "neighbours": (
            neighbours(promise.adjacency, promise.rows_per_person),
            *(_under_the_other(promise) if sound else ()),
        ),
        "public": unprotected(promise),
        "mechanism": (
            f"Method {promise.method!r}, with {promise.calibration} calibration of its noise.",
            *(f"Recorded: {released(event)}." for event in promise.events),
            f"The theorem that it cites ({row.status}): {row.statement}",
            f"Reference: {row.reference or 'none'}; {row.place} in Tacit's documentation.",
        ),
        "composition": _composition(promise),
        "preparation": (BEFORE, "The guarantee assumes:", *(f"- {words}" for words in assumed(promise))),
        "utility": (UTILITY,),
        "trust": trust(promise),
        "implementation": (
            f"By Tacit {promise.version or 'of a version that is not recorded'}; noise from "
            + ("a seeded generator: not for release." if promise.seeded else "the operating system's entropy."),
            *((_GRID,) if promise.events and promise.status == "proven" else ()),
            SIDE,
        ),
        "access": (ACCESS,),
        "collection": (COLLECTED,),
        "verification": (
            "Save the certificate, or take the model's file, and run: tacit verify FILE",
            "Or in Python: tacit.Guarantee.from_json(text).verify()",
            SHOWS,
        ),
    }
    return tuple(Answer(topic, question, said[topic]) for topic, question in QUESTIONS.items())


def unit(records: int, rows_per_person: int | None, protects: str) -> str:
    """Whom a promise of so many protects; 0: their number is not told."""
    if protects == RECORD:
        return "One record, as it leaves its owner, and no other."
    many = f" of {records:,}" if records else ""
    if rows_per_person is None:
        return f"One row of a table{many}. {SEVERAL}"
    return f"One person{many}, with all of their rows at once: at most {rows_per_person:,} of each person were used."


def assumed(promise: Promise) -> tuple[str, ...]:
    """The assumptions as they are shown; files keep them as they were written."""
    return tuple(words.replace("counts of 1 tables", "counts of 1 table") for words in promise.assumptions)


def neighbours(adjacency: Adjacency, rows_per_person: int | None) -> str:
    """In what neighbouring tables differ."""
    whose = "one row" if rows_per_person is None else "all rows of one person"
    if adjacency == "replace-one":
        size = "of equally many rows" if rows_per_person is None else "about equally many people"
        return f"Replace-one: two tables {size} that differ in {whose}."
    return f"Add-remove: two tables, of which one has {whose} more than the other."


def factor(epsilon: float) -> str:
    """e^epsilon, rounded up."""
    return at_most(math.exp(epsilon)) if epsilon < 700 else "more than 1e304"


def released(event: Event) -> str:
    """An event in few words."""
    known = declared(event)
    scale = "" if known.scale is None else f", noise scale {known.scale:.6g}"
    steps = "" if known.count == 1 else f", {known.count:,} steps"
    return f"{type(event).__name__}{steps}{scale}"


def pair(epsilon: float, delta: float) -> str:
    """Both numbers in words, rounded up."""
    shown = "infinity" if math.isinf(epsilon) else at_most(epsilon, 6)
    return f"epsilon = {shown}, delta = {at_most(delta, 3)}"


def meaning(epsilon: float, delta: float) -> str:
    """What a pair bounds, in words."""
    number = list(QUESTIONS).index("neighbours") + 1
    rare = one_in(delta)
    exception = f", except with probability {at_most(delta, 3)}{rare and f' ({rare})'}" if delta else ""
    return (
        f"From a table to its neighbour (question {number}) the probability of any result changes by a factor of at "
        f"most {factor(epsilon)}{exception}. Suppose that somebody knows everything except which of two neighbours was "
        "used, and considers both equally likely. Tossing a coin, they are right 50 times out of 100; knowing what was "
        f"released, they are right at most {best_guess(epsilon, delta)} times out of 100."
    )


def best_guess(epsilon: float, delta: float) -> str:
    """How many times out of 100 the best guess between two neighbours is right, where both are equally likely (Kairouz,
    Oh and Viswanath 2015), rounded up."""
    grown = math.exp(min(epsilon, 700.0))
    best = min(1.0, (grown + delta) / (grown + 1.0))
    return at_most(100 * best, 3 if best < 0.999 else 5)


def one_in(delta: float) -> str:
    """In words that need no powers of ten, where there are such."""
    return f"at most one in {math.floor(1 / Decimal(repr(delta))):,}" if delta >= 1e-15 else ""


def _strength(promise: Promise, sound: bool) -> tuple[str, ...]:
    if not promise.events:
        return ("There is none: epsilon is infinite.",)
    stated = f"{promise.protects[:1].upper()}{promise.protects[1:]}: {pair(promise.epsilon, promise.delta)}."
    if sound:
        return stated, meaning(promise.epsilon, promise.delta)
    found = (f"{UNRELIABLE} {stated}",)
    if any(isinstance(event, Claimed) for event in promise.events):
        return (*found, "No noise is recorded from which an epsilon could be computed.")
    if promise.status == "proven" or THEOREMS[promise.theorem].status != "proven":  # then it is not what was priced
        return found
    return (*found, f"What can be proven of the recorded noise: {_priced(promise, promise.adjacency)}.")


def _priced(promise: Promise, adjacency: Adjacency) -> str:
    try:
        return pair(promise.epsilon_at(adjacency=adjacency), promise.delta)
    except PrivacyError:
        return "nothing: the analysis does not cover it"


def _under_the_other(promise: Promise) -> tuple[str, ...]:
    other: Adjacency = "add-remove" if promise.adjacency == "replace-one" else "replace-one"
    return (f"The same release under {other} neighbours: {_priced(promise, other)}.",)


def unprotected(promise: Promise) -> tuple[str, ...]:
    """What a promise takes for public, or does not hide."""
    if promise.protects == RECORD:
        return ("That the record was submitted, and the public numbers of the protocol.",)
    units = "rows" if promise.rows_per_person is None else "people"
    hidden = "" if promise.rows_per_person is None else " The number of rows of each person is protected."
    number = (
        f"The number of {units}, {promise.records:,}, is taken to be public, under both kinds of neighbours.{hidden}"
    )
    return (
        *((number,) if promise.records else ()),
        "Whatever is listed as assumed, declared or public below, such as bounds, and the set of labels.",
        "What is true of people in general, including people who are not in the table.",
    )


def _composition(promise: Promise) -> tuple[str, ...]:
    steps = sum(declared(event).count for event in promise.events)
    several = f"{counted(len(promise.events), 'recorded event')} ({counted(steps, 'step')} in all)"
    found = [f"Epsilon and delta are the price of all that this release did with noise: {several}."]
    found = found if promise.events else []
    found.append(
        "This is one release. With every other one about the same people, less is protected than stated here: epsilons "
        "and deltas add up. tacit.Ledger keeps the total."
    )
    if promise.collection:
        found.append(
            f"Models of the collection {promise.collection} share the contributors' noise and do not add up: for all "
            "of them together only the guarantee of one record holds."
        )
    return tuple(found)


def trust(promise: Promise) -> tuple[str, ...]:
    """Who saw records and noise."""
    if promise.protects == RECORD:
        return ("The owner of the record, who draws the noise. The assumptions say with what.",)
    if any(isinstance(event, Shuffled) for event in promise.events):
        return (
            "Contributors perturb their own records, and the party that shuffles them reveals their order to nobody.",
        )
    if THEOREMS[promise.theorem].page in ("input", "local"):
        return ("Contributors perturb their own records. The assumptions say who is trusted with what beyond that.",)
    return (
        "A central model: whoever ran the method saw the records and drew the noise, and is trusted with both.",
        "Nobody who receives the release is trusted, whatever else they know, now or later.",
    )
