"""Submissions on their way to a service, and what came back: kept on disk before anything leaves, if wished.

A second draw of noise tells more about the same person. So what may have left is sent again as it was, also after a
crash, and never made anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tacit.checks import check
from tacit.protocol import Submission
from tacit.protocol.submission import LINE
from tacit.reading import LARGEST, read_bytes

FORMAT = "tacit-pending"
_WORDS = ("study", "protocol", "content", "code")
_NOTE = (
    "The submission may already have left this machine. It is the pending of this exception: Client.send sends it "
    "again, and so does the same call with the same invitation in this process, or with the same keep= file. A new "
    "draw reveals more about the same person."
)


@dataclass(frozen=True)
class Pending:
    """One person's submission to a study, with the invitation that admits it."""

    study: str
    submission: Submission
    invitation: str | None = None

    def body(self) -> dict[str, Any]:
        """What is sent."""
        return {"invitation": self.invitation, "submission": json.loads(self.submission.to_json())}


@dataclass(frozen=True)
class Receipt:
    """A service states that it has stored a submission; ``code`` is what only the service can make.

    The submission is part of it: anyone who knows its numbers may withdraw it. :meth:`to_json` writes what the
    contributor's page downloads and reads.
    """

    study: str
    protocol: str
    content: str
    code: str
    submission: Submission

    @classmethod
    def of(cls, answer: dict[str, Any], sent: Pending) -> Receipt:
        """The receipt for what was sent; raises for one that is of anything else."""
        content = sent.submission.many().contents()[0].hex()
        expected = {"study": sent.study, "protocol": sent.submission.protocol, "content": content}
        fits = set(answer) == set(_WORDS) and isinstance(answer["code"], str) and answer["code"].isprintable()
        check(
            fits and all(answer[word] == value for word, value in expected.items()),
            "The service's receipt is not for what was sent.",
        )
        return cls(**{word: answer[word] for word in _WORDS}, submission=sent.submission)

    def to_json(self) -> str:
        """The receipt with the submission, as a file. Keep it to yourself."""
        receipt = {word: getattr(self, word) for word in _WORDS}
        return json.dumps({"receipt": receipt, "submission": json.loads(self.submission.to_json())}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """Read what :meth:`to_json`, or the contributor's page, wrote."""
        try:
            data = json.loads(text)
            sent = Pending(data["receipt"]["study"], Submission.from_dict(data["submission"]))
            return cls.of(data["receipt"], sent)
        except (KeyError, TypeError, RecursionError, ValueError) as error:
            raise ValueError("This is not a receipt, or it was changed.") from error


Raised = TypeVar("Raised", bound=BaseException)


def carrying(error: Raised, pending: Iterable[Pending]) -> Raised:
    """The same exception, of whatever kind, with what may have left as its ``pending``, and a note that says so.

    The note has no numbers in it: where tracebacks are collected, others read them.
    """
    error.pending = tuple(pending)  # type: ignore[attr-defined]
    if error.pending and _NOTE not in getattr(error, "__notes__", ()):  # type: ignore[attr-defined]
        error.add_note(_NOTE)
    return error


def keep(path: str | Path, pending: Iterable[Pending]) -> None:
    """Write submissions to a new file that only its owner can read, and wait until it is on the disk.

    Edges: raises FileExistsError where there is one, so that two programs do not both draw noise for the same people.
    """
    lines = [json.dumps({"study": one.study, **one.body()}) for one in pending]
    head = json.dumps({"format": FORMAT, "count": len(lines)})
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w", encoding="utf-8") as file:
        file.write("\n".join([head, *lines, ""]))
        file.flush()
        os.fsync(file.fileno())
    if os.name == "posix":  # the name is on the disk once its folder is; elsewhere a folder cannot be opened
        folder = os.open(Path(path).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def kept(path: str | Path) -> list[Pending]:
    """Read what :func:`keep` wrote."""
    head, *lines = read_bytes(path, LARGEST).decode("utf-8", "replace").splitlines() or [""]
    try:
        about = json.loads(head)
        check(about["format"] == FORMAT and len(lines) == about["count"], "The file was cut off.")
        check(all(len(line) <= LINE for line in lines), "A line is longer than any submission.")
        data = [json.loads(line) for line in lines]
        return [Pending(one["study"], Submission.from_dict(one["submission"]), one["invitation"]) for one in data]
    except (KeyError, TypeError, RecursionError, ValueError) as error:
        raise ValueError(
            f"{Path(path).name} is not a whole file of pending submissions. If it was made for this and is cut off, "
            "nothing of it was sent: remove it, and start again."
        ) from error
