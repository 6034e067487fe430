"""Both guarantees of a published model in plain sentences, for people who use it: words first, then numbers.

What is said depends on the model's own guarantees: how many contributed, whether it is proven, whether the model is
the only one of its collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tacit.checks import at_most
from tacit.collector.onlooker import Onlooker, of_model, of_record, percent
from tacit.collector.sentences import dictionary, plainly
from tacit.collector.shapes import Words, localised, whole
from tacit.collector.speaking import Say, sayer
from tacit.privacy import accounting
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.theorems import RECORD
from tacit.protocol.agreement import LITTLE, Protocol
from tacit.protocol.madeup import UNEXPLAINED
from tacit.protocol.preview import WORTH, expected


class Numbers(NamedTuple):
    """One guarantee in figures, each rounded to the side that promises less."""

    title: str
    epsilon: str
    delta: str
    status: str
    right: str


@dataclass(frozen=True)
class Told:
    """What the page says: sentences about model, record and trust, figures, and the statements of the release desk."""

    count: int
    model: str
    came: str
    record: str
    trust: tuple[str, ...]
    numbers: tuple[Numbers, ...]
    anew: str
    sent: Onlooker
    seen: Onlooker
    weak: bool
    statements: tuple[str, ...]


def told(protocol: Protocol, model: Guarantee, record: Guarantee, language: str) -> Told:
    """The sentences for a model file's two guarantees."""
    say, signs = sayer("model", language), dictionary("pictures", language)
    count, again = model.records, model.protects == RECORD
    count = protocol.numbers.cohort if again else count
    sent = of_record(protocol)
    seen = sent if again else of_model(protocol, count)

    def shown(stated: Guarantee, by: Onlooker) -> dict[str, str]:
        amounts = {"right": percent(by.right), "epsilon": at_most(stated.epsilon), "delta": plainly(stated.delta)}
        return {name: localised(amount, signs) for name, amount in amounts.items()}

    def figures(title: str, stated: Guarantee, by: Onlooker) -> Numbers:
        amounts = shown(stated, by)
        status = say(f"status.{stated.status}")
        return Numbers(say(title), amounts["epsilon"], amounts["delta"], status, amounts["right"])

    def proved() -> str:
        """What is proven for the noise of this model, also where its guarantee is a paper's claim."""
        priced = accounting.epsilon(protocol.numbers.events(count), protocol.delta, "replace-one")
        return localised(at_most(priced), signs)

    weak = seen.little or model.epsilon > LITTLE
    if again:
        sentence = say("model.again")
    elif model.status != "proven":
        sentence = say(f"model.{model.status}", proved=proved(), **shown(model, seen))
    else:
        sentence = say("model.little" if weak else "model.words", **shown(model, seen))
    return Told(
        count=0 if again else count,
        model=sentence,
        came="" if again else _came(protocol, count, seen, say, signs),
        record=say("record.little" if sent.little else "record.words", **shown(record, sent)),
        trust=_trust(protocol, count, again, say),
        numbers=(figures("numbers.model", model, seen), figures("numbers.record", record, sent)),
        anew="" if again or model.status != "proven" else say("numbers.anew", count=count, proved=proved()),
        sent=sent,
        seen=seen,
        weak=sent.little or weak or model.status != "proven",
        statements=(str(model.statement()), str(record.statement())),
    )


def _trust(protocol: Protocol, count: int, again: bool, say: Say) -> tuple[str, ...]:
    """Who is trusted with what: first for the record, then, where it has a guarantee of its own, for the model."""
    said = [say("trust.record")]
    if not again:
        sure = protocol.numbers.sure(count)
        said.append(say("trust.all", count=count) if sure == count else say("trust.most", sure=sure, count=count))
        said.append(say("trust.service"))
        said += [say("trust.remaining")] if protocol.withdrawal else []
    return tuple(said)


def _came(protocol: Protocol, count: int, seen: Onlooker, say: Say, signs: Words) -> str:
    """That more people came than the study was made for, where this made the number smaller that they were told."""
    cohort, promised = protocol.numbers.cohort, percent(of_model(protocol).right)
    if count <= cohort or float(percent(seen.right)) >= float(promised):
        return ""
    return say("model.came", promised=localised(promised, signs), cohort=cohort, count=count)


@dataclass(frozen=True)
class Hope:
    """How good the model can be expected to be. ``worth``: whether it is expected to be better than guessing."""

    worth: bool
    sentence: str
    why: str


def hoped(protocol: Protocol, count: int, language: str) -> Hope:
    """What a model of ``count`` people can be expected to be, from public numbers and made-up people alone."""
    say, signs, now = sayer("model", language), dictionary("pictures", language), expected(protocol, count)
    share = localised(f"{100 * UNEXPLAINED:g}", signs)
    basis = dictionary("guarantees", language)["quality_basis"].format(unexplained=share)
    if now.gain < WORTH:
        return Hope(False, say("quality.none"), f"{say('quality.none-why', count=count)} {basis}")
    values = now.private, now.guess
    private, guess = (whole(one, signs) if now.error else localised(f"{100 * one:.0f}", signs) for one in values)
    key = "quality.error" if now.error else "quality.accuracy"
    return Hope(True, say(key, private=private, guess=guess), basis)
