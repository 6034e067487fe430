"""What a ledger, or a file with several releases, answers to whoever decides: the questions of one guarantee, for all.

Nothing is priced here. The total, and the sentence on how it was composed, come from whoever asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.privacy.answers import (
    ACCESS,
    BEFORE,
    COLLECTED,
    QUESTIONS,
    SEVERAL,
    SHOWS,
    SIDE,
    UNRELIABLE,
    UTILITY,
    Answer,
    assumed,
    first,
    meaning,
    neighbours,
    pair,
    trust,
    unprotected,
)
from tacit.privacy.promise import Promise
from tacit.types import Adjacency

Entries = Sequence[tuple[str, Promise]]
"""Releases of a ledger, each with its label."""
TOLERANCE = 1e-6
"""Totals this fraction above a budget are within it: prices are computed to that, not to the last bit."""
_NOTHING = ("Nothing was released.",)
_ALONE = "this is one release:"
"""How the assumption begins that question "composition" answers for several releases."""
_PERSON = (
    "One person, with all of their rows at once, in every release. People may have more than {rows:,} rows: each "
    "release used no more rows of a person than it states."
)


def first_of(
    budget: float, spent: float, adjacency: Adjacency, rows_per_person: int | None, entries: Entries
) -> tuple[str, ...]:
    """What has to be read first: that the total is above its budget, and whatever is wrong with a release."""
    found = [] if spent <= budget * (1 + TOLERANCE) else ["OVER BUDGET: more is spent than the ledger allows."]
    for label, one in entries:
        found += [f"{label}: {words}" for words in first(one)]
        if one.adjacency != adjacency:
            found.append(f"{label}: NOT COVERED: its neighbours are not those of the ledger.")
        if rows_per_person is not None and one.rows_per_person is None:
            found.append(f"{label}: NOT COVERED: it protects a row, but the ledger protects people.")
    return tuple(found)


def answers_of(
    budget: float,
    delta: float,
    spent: float,
    adjacency: Adjacency,
    rows_per_person: int | None,
    entries: Entries,
    composition: str,
    digest: str,
    sound: bool,
) -> tuple[Answer, ...]:
    """Every question, answered for all releases of a ledger together, from its numbers and their guarantees."""
    promise = f"All releases together, including those still to come: {pair(budget, delta)}."
    used = f"Used of it so far: {pair(spent, delta)}. This shows how much is left; the promise is the whole budget."
    own: Mapping[str, tuple[str, ...]] = {
        "epsilon": (promise, meaning(budget, delta), used) if sound else (f"{UNRELIABLE} {promise}", used),
        "composition": (composition, "Anything released without the ledger adds to this and is not counted here."),
        "verification": (
            "Each release: save its certificate and run: tacit verify FILE",
            "The total, recomputed from the recorded events: take the ledger's file and run: tacit ledger verify FILE",
            *([f"The ledger as it is stated here has the digest {digest} (--digest checks it)."] if digest else ()),
            SHOWS,
        ),
    }
    return _answered(own, adjacency, rows_per_person, entries)


def answers_of_parts(
    epsilon: float,
    delta: float,
    adjacency: Adjacency,
    rows_per_person: int | None,
    entries: Entries,
    composition: str,
    sound: bool,
) -> tuple[Answer, ...]:
    """Every question, answered for all releases in one file together."""
    promise = f"Everything in the file together: {pair(epsilon, delta)}."
    own: Mapping[str, tuple[str, ...]] = {
        "epsilon": (promise, meaning(epsilon, delta)) if sound else (f"{UNRELIABLE} {promise}",),
        "composition": (
            composition,
            "Whatever else is released about the same people adds up with this and is not counted here.",
        ),
        "verification": ("Take the file itself and run: tacit verify FILE", SHOWS),
    }
    return _answered(own, adjacency, rows_per_person, entries)


def _answered(
    own: Mapping[str, tuple[str, ...]], adjacency: Adjacency, rows_per_person: int | None, entries: Entries
) -> tuple[Answer, ...]:
    """The questions that ledgers and files answer alike, from the guarantees; ``own``: the others, by topic."""
    each = [f"{label}: {pair(one.epsilon, one.delta)}, method {one.method!r}, {one.status}." for label, one in entries]
    seeded = [label for label, one in entries if one.seeded]
    whom = f"One row, in every release. {SEVERAL}" if rows_per_person is None else _PERSON.format(rows=rows_per_person)
    said: Mapping[str, tuple[str, ...]] = {
        **own,
        "unit": (whom,),
        "neighbours": (neighbours(adjacency, rows_per_person),),
        "public": _public(entries) or _NOTHING,
        "mechanism": (*each,) or _NOTHING,
        "preparation": (
            BEFORE,
            "One release or another assumes:",
            *(
                f"- {words}"
                for words in dict.fromkeys(words for _, one in entries for words in assumed(one))
                if not words.startswith(_ALONE)
            ),
        )
        if entries
        else _NOTHING,
        "utility": (UTILITY,),
        "trust": tuple(dict.fromkeys(words for _, one in entries for words in trust(one))) or _NOTHING,
        "implementation": (
            f"From a seeded generator, not for release: {', '.join(seeded)}."
            if seeded
            else "All noise came from the operating system's entropy.",
            SIDE,
        )
        if entries
        else _NOTHING,
        "access": (ACCESS,),
        "collection": (COLLECTED,),
    }
    return tuple(Answer(topic, question, said[topic]) for topic, question in QUESTIONS.items())


def _public(entries: Entries) -> tuple[str, ...]:
    """What the releases take for public; of which of them a sentence is, where it is not of all."""
    whose: dict[str, list[str]] = {}
    for label, one in entries:
        for words in unprotected(one):
            whose.setdefault(words, []).append(label)
    return tuple(
        words if len(labels) == len(entries) else f"{'; '.join(labels)}: {words}" for words, labels in whose.items()
    )
