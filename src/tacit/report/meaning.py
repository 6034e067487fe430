"""What a guarantee means, for somebody who is in the table: words first, then the numbers behind them.

Nothing here is more than the guarantee says. Where it does not hold, or must not be released, that stands first and
there are no reassuring words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from tacit.checks import at_most
from tacit.privacy import answers
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.theorems import RECORD, THEOREMS
from tacit.report.results import Statement

HOLDS = (
    "This holds for everyone in the table, whatever else is known about them, now or later. It does not hide what is "
    "true of people in general. What several models of the same people reveal adds up: a ledger keeps count."
)
RECORD_HOLDS = (
    "This holds whatever else is known about you, provided that your own device drew the noise, kept it to itself and "
    "sent your record once. Nobody else has to be trusted."
)
CHECK = (
    "Save the certificate and run tacit verify guarantee.json: epsilon is recomputed from the recorded noise alone. "
    "Only whoever trained the model can vouch that this noise was really drawn."
)
_STATED = "Stated, but not to be relied on: see above."


@dataclass(frozen=True)
class Meaning:
    """One guarantee in words.

    ``first``: what must be read before anything else, empty where all is well; ``words``: paragraphs; ``facts``: name,
    value and a sentence for each number; ``statement``: the certificate.
    """

    first: tuple[str, ...]
    words: tuple[str, ...]
    facts: tuple[tuple[str, str, str], ...]
    statement: Statement

    @classmethod
    def of(cls, guarantee: Guarantee, example: str = "") -> Self:
        """The meaning of a guarantee; ``example`` names two versions of a row, after a colon."""
        first = answers.first(guarantee)
        words = (_attack(guarantee, example), _holds(guarantee), *(f"Note: {note}." for note in guarantee.notes))
        facts = _facts(guarantee, first) if guarantee.events else ()
        return cls(first, () if first else words, facts, Statement.of(guarantee))


def _attack(guarantee: Guarantee, example: str) -> str:
    """The best guess between two neighbours that are equally likely."""
    coin = "Tossing a coin, they would be right 50 times out of 100."
    odds = f"they are right at most {answers.best_guess(guarantee.epsilon, guarantee.delta)} times out of 100."
    if guarantee.protects == RECORD:
        return (
            f"Suppose somebody sees what you sent, and has to choose between two versions of your record{example}. "
            f"{coin} With what you sent, {odds}"
        )
    whose, it = ("your rows", "them") if guarantee.rows_per_person else ("your row", "it")
    doubt = f"has to choose between two versions of {it}{example}"
    if guarantee.adjacency == "add-remove":
        doubt = f"has to say whether the table contains {it}"
    what = guarantee.protects
    return (
        f"This limits what anyone can learn from {what} about one person in the table. Suppose somebody knows "
        f"everything in the table except {whose}, and {doubt}. {coin} After studying {what}, {odds}"
    )


def _holds(guarantee: Guarantee) -> str:
    return RECORD_HOLDS if guarantee.protects == RECORD else HOLDS


def _facts(guarantee: Guarantee, first: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    row = THEOREMS[guarantee.theorem]
    change = (
        "Moving from a table to its neighbour changes the probability of any result by a factor of at most e^epsilon "
        f"({answers.factor(guarantee.epsilon)}). Smaller is more private."
    )
    unit = answers.unit(guarantee.records, guarantee.rows_per_person, guarantee.protects)
    proof = f"{row.place} in Tacit's documentation. Reference: {row.reference or 'none'}."
    return (
        ("epsilon", at_most(guarantee.epsilon, 6), _STATED if first else change),
        ("delta", at_most(guarantee.delta, 3), _STATED if first else _left_out(guarantee.delta)),
        ("neighbours", "", answers.neighbours(guarantee.adjacency, guarantee.rows_per_person)),
        ("protects", "", unit),
        ("status", guarantee.status, proof),
        ("check it", "tacit verify", CHECK),
    )


def _left_out(delta: float) -> str:
    """How small the probability is that the promise leaves out."""
    if delta == 0:
        return "The promise has no exception."
    rare = answers.one_in(delta)
    return f"The probability that the promise leaves out{rare and ': '}{rare}."
