"""What a database, and a process, remember of trainings, so that no two models are made of one noise.

Contributors perturb once. Two models of one database share that noise: whoever has both can take one away from the
other, and what is left is the noise of those who came in between. So their guarantees do not add up, and a collection
gives one model. What holds for everything after it is the guarantee of one record, which is about the submission
itself.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.checks import at_most, counted
from tacit.mechanisms.moments import Sums
from tacit.privacy.guarantee import checksum

Kind = Literal["model", "record", "merged"]
_ACCEPT = (
    "To get another model, collect again, with fresh noise; or accept that only the guarantee of one record holds, "
    "epsilon = {epsilon}, for this model and for the earlier ones: accept_record_guarantee=True in Python, "
    "--accept-record-guarantee on the command line."
)
_WHY = {
    "model": (
        "A model was trained before on {count:,} of these submissions. Another one would share its contributors' "
        "noise: the two together can show the submission of one person, and their guarantees do not add up."
    ),
    "lost": (
        "A training of this database was begun and its model was not kept: it was interrupted, or it is still running. "
        "It counts as released, and another model would share its contributors' noise."
    ),
    "elsewhere": (
        "Some of these submissions are in another database, which was trained and is, or was, open in this process. "
        "Another model would share its contributors' noise."
    ),
    "merged": (
        "The submissions of this database are in another one too, by merge. Train that one: models of both would "
        "share their contributors' noise."
    ),
}


@dataclass(frozen=True)
class Training:
    """One training, or ('merged') what comes to the same: its submissions went into another database.

    ``kind`` says whose guarantee its model has, ``digest`` which sums it saw, ``seeded`` where the database's own noise
    came from. ``weights`` is None until they exist.
    """

    kind: Kind
    digest: str
    count: int
    seeded: bool
    weights: tuple[float, ...] | None = None

    @classmethod
    def of(cls, kind: Kind, sums: Sums, seeded: bool = False) -> Training:
        """A training of these sums, before its weights exist."""
        return cls(kind, digest(sums), sums.count, seeded)

    @classmethod
    def of_row(cls, kind: Kind, text: str, count: int, seeded: int, weights: str | None) -> Training:
        """What :meth:`to_row` gave."""
        return cls(kind, text, count, bool(seeded), None if weights is None else tuple(json.loads(weights)))

    def to_row(self) -> tuple[str, str, int, int, str | None]:
        """Plain values, for tables."""
        weights = None if self.weights is None else json.dumps(self.weights)
        return self.kind, self.digest, self.count, int(self.seeded), weights

    @property
    def name(self) -> str | None:
        """What tells its model from all others; None where no model was kept."""
        return None if self.weights is None else checksum(list(self.weights))

    def state(self, alone: bool) -> str:
        """One line on what was done; ``alone`` if no other model has any of its submissions."""
        if self.kind == "merged":
            return f"It held {counted(self.count, 'submission')}, merged into another database: train that one."
        whose = "the model's guarantee" if self.kind == "model" and alone else "the guarantee of one record only"
        since = ", because they are in another model or database too" if self.kind == "model" and not alone else ""
        kept = "" if self.weights is not None else "; its model was not kept"
        what = f"Trained on {counted(self.count, 'submission')}, with {whose}{since}{kept}."
        return f"{what} More submissions cannot join that model."

    def refusal(self, epsilon: float) -> str:
        """Why nothing more can be trained, and what can be done; ``epsilon`` is that of one record."""
        lost = self.kind != "merged" and self.weights is None
        why = _WHY["merged" if self.kind == "merged" else "lost" if lost else "model"]
        return f"{why.format(count=self.count)} {_ACCEPT.format(epsilon=at_most(epsilon, 6))}"


ShortNames = NDArray[np.uint64]


@dataclass
class Claim:
    """A model that was made, or is being made, of some submissions; ``model`` names it once it exists."""

    names: ShortNames
    model: str | None = None

    def shares(self, names: ShortNames) -> bool:
        """Whether any of these submissions is in it."""
        return bool(np.isin(names, self.names).any())


_released: dict[str, list[Claim]] = {}
_lock = threading.Lock()


def short_names(contents: Iterable[list[bytes]]) -> ShortNames:
    """The first 64 bits of each content, sorted: enough to find a submission that two databases share.

    Two of n and m different ones agree with probability below n m / 2**64; then a training is refused for nothing.
    """
    parts = [np.frombuffer(b"".join(content[:8] for content in part), dtype="<u8") for part in contents]
    return np.sort(np.concatenate([np.zeros(0, dtype="<u8"), *parts])).astype(np.uint64)


def claim(protocol: str, names: ShortNames, insist: bool) -> tuple[bool, Claim]:
    """Write down, before it exists, that a model of these submissions is made; True if one was made of any of them.

    Then nothing is written down unless the caller insists. It is the memory of one process, for databases that do not
    know of each other; beyond it, that no other database holds the submissions is an assumption of the guarantee.
    """
    made = Claim(names)
    with _lock:
        earlier = _released.setdefault(protocol, [])
        shared = any(one.shares(names) for one in earlier)
        if not shared or insist:
            earlier.append(made)
        return shared, made


def withdraw(protocol: str, made: Claim) -> None:
    """Forget a model that was refused before it was made."""
    with _lock:
        _released[protocol] = [one for one in _released[protocol] if one is not made]


def remember(protocol: str, names: ShortNames, models: Iterable[str | None]) -> None:
    """Write down the models of a database that was trained before it was opened."""
    with _lock:
        earlier = _released.setdefault(protocol, [])
        for model in models:
            if not any(one.model == model and np.array_equal(one.names, names) for one in earlier):
                earlier.append(Claim(names, model))


def in_others(protocol: str, names: ShortNames, model: str | None) -> bool:
    """Whether this process knows another model, or a training whose model was not kept, of any of the submissions."""
    with _lock:
        others = [one for one in _released.get(protocol, []) if one.model is None or one.model != model]
    return any(one.shares(names) for one in others)


def elsewhere(epsilon: float) -> str:
    """Why a database whose submissions are in another one's model is not trained; ``epsilon`` is of one record."""
    return f"{_WHY['elsewhere']} {_ACCEPT.format(epsilon=at_most(epsilon, 6))}"


def digest(sums: Sums) -> str:
    """What tells these sums from all others."""
    return checksum(sums.to_lists())
