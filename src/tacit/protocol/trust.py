"""Who is trusted with what, in words: a guarantee among strangers is no better than these sentences are true.

The proof that they are enough is on the docs' page "Input perturbation".
"""

from __future__ import annotations

HONEST = 0.9
"""The fraction of contributors that a protocol counts on unless another is declared.

Nothing that a database sees tells honest noise from noise that its sender knows, so this cannot be measured: it has to
be declared, and 1 is a promise that one careless contributor breaks. One in ten costs 5% more noise on the sums
(1/sqrt(0.9)); a collection that expects more strangers with many names declares less."""

_REMAINING = (
    "contributors could take their submission back before the training: these numbers are of those who remained, and "
    "whether someone remained did not depend on the noise that was drawn, nor on the record that is protected"
)


def words(honest: float, sure: int, count: int, withdrawal: bool = False) -> tuple[str, ...]:
    """What the model's guarantee of ``count`` contributors counts on, ``sure`` of them honest.

    The record's counts on its owner alone (:data:`tacit.privacy.theorems.OWNER`).
    """
    every = "every one" if honest == 1 else f"at least {sure:,}"
    others = (
        "one who sends something else, or tells their noise, weakens it for all (honest = 1 was asked for)"
        if honest == 1
        else "the others may send anything within the limits, and tell all they know to whoever has the model"
    )
    return (
        f"TRUST FOR THE MODEL: {every} of the {count:,} contributors (honest = {honest:g}), and whoever is protected, "
        "drew their noise as agreed, told it to nobody, and nobody but the database saw what they sent",
        others,
        "the database sees the submissions; it is trusted to be the only one that holds them, to count each once, to "
        "add missing noise, to train once and to show nothing but the model",
        *((_REMAINING,) if withdrawal else ()),
    )
