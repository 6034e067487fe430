"""A client for organisations' own systems: contribute, take back, fetch the model. It needs Tacit and nothing else.

Records are perturbed here, with the operating system's entropy; what a service says of a study is checked before
anything is drawn, and never taken on trust where it can be computed.
"""

from __future__ import annotations

import json
import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit import reading
from tacit.arguments import checked
from tacit.checks import PrivacyError, at_most, check, check_count, refuse
from tacit.collector.calling import Caller, Unanswered, finite, understood
from tacit.collector.once import MEMORY, Draw, Mark, marked, person
from tacit.collector.pending import Pending, Receipt, carrying, keep, kept
from tacit.collector.refusals import BY_SENTENCE, CLOSED, Refused
from tacit.collector.tokens import fresh_bytes
from tacit.files import ModelFile, models
from tacit.protocol import Protocol, Submission
from tacit.protocol.declared import check_declared
from tacit.protocol.strength import LITTLE

_SLUG = re.compile("[a-z2-9]{10}")
_STRANGE = "The service's answer is not what its interface describes."


@dataclass(frozen=True)
class Offer:
    """What a service says of a study. The protocol is checked: its fingerprint, and the price of its noise."""

    study: str
    state: str
    admission: str
    count: int
    protocol: Protocol
    texts: Mapping[str, Any]


class Client:
    """A service at an address. Use it in one thread; it keeps one connection.

    Example: ``Client("https://collector.example.org").contribute(study, {"age": 40}, "yes", invitation)``.

    Parameters
    ----------
    address : str
        Where the service is, with https://.
    seconds : float
        How long one try may take in all.
    tries : int
        How often the same is asked after a lost connection, or while the service is busy.
    pause : float
        The seconds between the first two tries, and twice as many between any two after that.
    context : ssl.SSLContext or None
        For a certificate authority of your own.
    plain : bool
        Also speak without encryption to other machines.
    wait : callable
        What waits between tries.
    """

    @checked
    def __init__(
        self,
        address: str,
        *,
        seconds: float = 30.0,
        tries: int = 6,
        pause: float = 0.5,
        context: ssl.SSLContext | None = None,
        plain: bool = False,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        check(finite(seconds) and finite(pause), "Expected seconds and pause to be positive numbers.")
        tries = check_count("tries", tries)
        self._caller = Caller(
            address, seconds=seconds, tries=tries, pause=pause, context=context, plain=plain, wait=wait
        )
        self._name = fresh_bytes(16).hex()  # stands for whoever contributes by this client without an invitation

    def close(self) -> None:
        """Hang up."""
        self._caller.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def studies(self) -> list[dict[str, str]]:
        """The studies that anyone may contribute to now, or that have published a model: name, state and title."""
        data = reading.parse(self._caller.ask("GET", "/api/studies")[1])
        words = {"study", "state", "title"}
        fits = isinstance(data, list) and all(isinstance(one, dict) and set(one) == words for one in data)
        check(fits, _STRANGE)
        return data  # type: ignore[return-value]

    def study(self, slug: str) -> Offer:
        """One study, with its protocol: read anew, and priced anew, from what the service sent."""
        data = understood(self._caller.ask("GET", _path(slug))[1])
        try:
            texts, state, admission, count = (data[word] for word in ("texts", "state", "admission", "count"))
            protocol = Protocol.from_json(json.dumps(data["protocol"]))
        except KeyError as error:
            raise ValueError(_STRANGE) from error
        plain = all(isinstance(word, str) for word in (state, admission)) and type(count) is int
        check(plain and isinstance(texts, dict) and data.get("study") == slug, _STRANGE)
        return Offer(slug, state, admission, count, protocol, texts)

    def contribute(
        self, slug: str, record: Any, target: Any, invitation: str | None = None, *, protocol: Protocol | None = None,
        keep: str | Path | None = None, most: float = LITTLE, large_delta: bool = False, strict: bool = True,
        again: bool = False,
    ) -> Receipt:  # fmt: skip
        """Perturb one record here, send it, and return the receipt, with the submission inside.

        ``protocol``: what was agreed on; None takes the service's. ``most``: the largest epsilon that the record's
        owner accepts against whoever sees the submission; a study that gives less protection is refused before any
        noise is drawn. Unless more than LITTLE is accepted, so is one from which records can be guessed
        (:attr:`tacit.protocol.Protocol.protects_little`). ``large_delta``: accept a delta above one in the cohort too,
        at which an epsilon says little. ``keep``: a file, one per person, that the submission is written to before it
        first leaves; where the file is there already, that very submission is sent, and nothing is drawn. ``strict``:
        refuse answers beyond their bounds, or not among the declared values; False clips the ones, and counts the
        others as any other value.

        Whoever calls again with the same invitation and record, in the same process, sends the same numbers. Without
        an invitation a client draws once for a study; ``again`` says that this is another person.

        Edges: raises :class:`Refused` with the service's reason, or :class:`Unanswered` if it is not known whether it
        arrived. Whatever is raised once something may have left, Ctrl-C too, has it as its ``pending``; so has the
        PrivacyError for a call that would draw for the same person again. An invitation that was mistyped is corrected
        by ``client.send(dataclasses.replace(error.pending[0], invitation=code))``.
        """

        def made(agreed: Protocol) -> list[Submission]:
            if strict:
                check_declared(agreed, record, target)
            return [agreed.perturb(record, target)]

        mark = marked(record, target)
        (pending,) = self._prepared(slug, [invitation], made, mark, again, protocol, keep, most, large_delta)
        return self.send(pending)

    def contribute_table(
        self, slug: str, records: Any, targets: Any, invitations: Sequence[str | None], *,
        protocol: Protocol | None = None, keep: str | Path | None = None, most: float = LITTLE,
        large_delta: bool = False, strict: bool = True, again: bool = False,
    ) -> list[Receipt | Refused]:  # fmt: skip
        """The same for many people, one row and one invitation each, who asked you to send theirs; in their order.

        Who is refused does not keep the others from being counted. ``keep`` is one file for all of them.
        """

        def made(agreed: Protocol) -> list[Submission]:
            if strict:
                check_declared(agreed, records, targets)
            return list(agreed.perturb_table(records, targets).each())

        mark, codes = marked(records, targets), list(invitations)
        return self.send_table(self._prepared(slug, codes, made, mark, again, protocol, keep, most, large_delta))

    def send(self, pending: Pending) -> Receipt:
        """Send a submission, again if need be: the same one is counted once, and has always the same receipt.

        Edges: whatever is raised has ``pending``, as of :meth:`contribute`.
        """
        path, body = f"{_path(pending.study)}/submissions", pending.body()
        try:
            return self._receipt(path, body, pending)
        except BaseException as error:
            carrying(error, [pending])
            raise

    def send_table(self, pending: Sequence[Pending]) -> list[Receipt | Refused]:
        """Send many; whatever is raised has all of them as its ``pending``: some may have arrived."""
        outcomes: list[Receipt | Refused] = []
        try:
            for one in pending:
                try:
                    outcomes.append(self.send(one))
                except Refused as refused:
                    outcomes.append(refused)
        except BaseException as error:
            carrying(error, pending)
            raise
        return outcomes

    def withdraw(self, slug: str, sent: Submission | Receipt) -> None:
        """Withdraw a submission, where the study allows it; nothing happens if it was withdrawn before."""
        submission = sent.submission if isinstance(sent, Receipt) else sent
        body = {"submission": json.loads(submission.to_json())}
        answer = understood(self._caller.ask("POST", f"{_path(slug)}/withdrawals", body)[1])
        content = submission.many().contents()[0].hex()
        check(answer == {"study": slug, "content": content, "withdrawn": True}, _STRANGE)

    def model(self, slug: str, protocol: Protocol | None = None) -> ModelFile:
        """The published model, with every guarantee computed again from its events.

        It is held against ``protocol``, or the one that the service shows now: it must be a model of that collection.
        What cannot be checked from here is on the docs' page of the collector.
        """
        agreed = protocol or self.study(slug).protocol
        content = reading.parse(self._caller.ask("GET", f"{_path(slug)}/model", largest=reading.LARGEST)[1])
        model, schema = models.from_dict(content)
        for guarantee in models.guarantees_of(model):
            guarantee.verify()
            if guarantee.seeded:
                refuse("The noise of this model can be computed again: it protects nobody.")
            if guarantee.collection != agreed.fingerprint:
                refuse("This model is not of the study's protocol: its guarantee names another collection.")
        if schema != agreed.schema:
            refuse("This model is not of the study's protocol: it has another schema.")
        return ModelFile(model, schema)

    def _receipt(self, path: str, body: dict[str, Any], sent: Pending) -> Receipt:
        try:
            return Receipt.of(understood(self._caller.ask("POST", path, body)[1]), sent)
        except ValueError as error:  # too large, unreadable, or of something else: it may be counted all the same
            raise Unanswered(f"It is not known whether this was counted. {error}") from error

    def _prepared(
        self, slug: str, codes: list[str | None], made: Callable[[Protocol], list[Submission]], mark: Mark, again: bool,
        protocol: Protocol | None, place: str | Path | None, most: float, large_delta: bool,
    ) -> list[Pending]:  # fmt: skip
        """Submissions of a file that is there, or of an earlier call; else made now, and written where that is wished.

        The study is looked at only for those that are made: what was drawn has a receipt after closing, too.
        """
        own = person(slug, self._name, b"")
        people = [person(slug, code, own) for code in codes]
        if place is not None and Path(place).exists():
            found = kept(place)
            same = [(one.study, one.invitation) for one in found] == [(slug, code) for code in codes]
            check(same, f"{Path(place).name} keeps the submissions of others: another study, or other invitations.")
            MEMORY.add_file(people, found)
            return found
        pending = MEMORY.recall(people, own, again, mark, protocol)
        agreed = None if pending is not None else self._agreed(slug, codes, protocol, most, large_delta)
        with MEMORY.lock:  # another thread may have drawn meanwhile
            pending = pending or MEMORY.recall(people, own, again, mark, agreed)
            draw = None
            if pending is None and agreed is not None:
                submissions = made(agreed)
                check(len(submissions) == len(codes), "Expected one invitation, or None, for each record.")
                pending = [Pending(slug, one, code) for one, code in zip(submissions, codes, strict=True)]
                draw = Draw(tuple(people), tuple(pending), agreed, mark(agreed))
            if place is not None:
                keep(place, pending or [])
            if draw is not None:
                MEMORY.add(draw)
        return pending or []

    def _agreed(
        self, slug: str, codes: list[str | None], protocol: Protocol | None, most: float, large_delta: bool
    ) -> Protocol:
        """The protocol to draw for, once nothing speaks against it."""
        if protocol is None:
            offer = self.study(slug)
            if offer.state != "open":
                raise Refused(BY_SENTENCE[CLOSED])
            check(offer.admission == "open" or all(codes), "This study needs an invitation for everybody.")
            protocol = offer.protocol
        _check_accepted(protocol, most, large_delta)
        return protocol


def _check_accepted(protocol: Protocol, most: float, large_delta: bool) -> None:
    """Refuse a protocol that gives less than a record's owner accepts."""
    if protocol.loose and not large_delta:
        raise PrivacyError(
            f"This study's delta = {protocol.delta:g} is above one in its {protocol.numbers.cohort:,} people: at such "
            "a delta an epsilon says little. Nothing was drawn or sent. If the owners accept this, set "
            "large_delta=True."
        )
    epsilon = protocol.record_guarantee().epsilon
    if not epsilon <= most or (protocol.protects_little and not most > LITTLE):
        raise PrivacyError(
            f"Against anyone who sees a submission to this study, its owner has epsilon = {at_most(epsilon, 6)} at "
            f"delta = {protocol.delta:g}, and the best guess between two records is right up to "
            f"{at_most(100 * protocol.best_guess, 4)} times in 100: less protection than most={most:g} asks for. "
            "Nothing was drawn or sent. If the owners accept this, set most=."
        )


def _path(slug: str) -> str:
    check(isinstance(slug, str) and _SLUG.fullmatch(slug), "Expected the name of a study: ten letters and digits.")
    return f"/api/studies/{slug}"
