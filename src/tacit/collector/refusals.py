"""Why something that a contributor sent is not counted: a word for programs, a status, and a sentence for people.

No sentence says anything about the numbers that were sent, or about other contributors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.protocol import blocks, database

UNREADABLE = "Bodies that are not a submission."
SEEDED = "Submissions that say that their noise is predictable."
CLOSED = "Submissions while the study was not open."
UNKNOWN = "Invitations that this study did not give out."
USED = "Invitations that were used before."


@dataclass(frozen=True)
class Refusal:
    """The answer to a request that is not granted."""

    status: int
    reason: str
    detail: str


class Refused(Exception):
    """A request is not granted; for a client, ``pending`` is the submission that was refused: it has been seen."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal
        self.pending: tuple[Any, ...] = ()


NO_PAGE = Refusal(404, "no-page", "There is nothing at this address.")
NO_METHOD = Refusal(405, "no-method", "That cannot be done at this address.")
ANSWERLESS = Refusal(503, "unavailable", "The service cannot reach its database. Please try again later.")
NO_STUDY = Refusal(404, "no-study", "There is no such study here. Please check the address.")
TOO_LARGE = Refusal(413, "too-large", "This is larger than any submission; it was not read.")
TOO_SLOW = Refusal(408, "too-slow", "The request took too long to arrive; nothing of it was kept. Please try again.")
TOO_MANY = Refusal(429, "too-many", "There were too many requests from your network. Please try again in a minute.")
UNAVAILABLE = Refusal(503, "unavailable", "It could not be stored now. Please send the same again: it counts once.")
NOT_COUNTED = Refusal(404, "not-counted", "These numbers are not counted in this study: there is nothing to withdraw.")
NO_WITHDRAWAL = Refusal(403, "no-withdrawal", "This study does not allow a submission to be withdrawn.")
TRAINED = Refusal(409, "trained", "The model of this study was trained: submissions can no longer be withdrawn.")
NO_MODEL = Refusal(404, "no-model", "This study has not published a model.")

BY_SENTENCE = {
    UNREADABLE: Refusal(400, "unreadable", "This is not a submission, or it is damaged. Nothing was counted."),
    SEEDED: Refusal(400, "seeded", "This submission says that its noise is predictable. Such noise protects nobody."),
    CLOSED: Refusal(410, "closed", "This study does not accept submissions now. Nothing was counted."),
    UNKNOWN: Refusal(403, "invitation-unknown", "This study did not give out that invitation. Please check the code."),
    USED: Refusal(409, "invitation-used", "This invitation was used before. Each counts once."),
    blocks.FOREIGN: Refusal(400, "foreign", "This submission was made for another study. Nothing was counted."),
    blocks.SHAPE: Refusal(400, "shape", "This submission does not have the size that the study asks for."),
    blocks.DAMAGED: Refusal(400, "damaged", "This submission has numbers that no contributor's program makes."),
    blocks.LONG: Refusal(
        400, "long", "This submission is beyond the study's limits: its noise does not make such numbers."
    ),
    database.WITHDRAWN: Refusal(409, "withdrawn", "This submission was withdrawn. It cannot be counted again."),
}
"""What is answered, by the sentence under which refusals are counted."""
