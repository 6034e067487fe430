"""Both guarantees of a protocol in plain sentences, for people who are asked to take part.

Who is trusted with what, what an onlooker could learn at most, and how many people it takes for the model to be any
good. The sentences lie in ``languages/guarantees.CODE.json``; which of them are said depends on public facts alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType

from tacit.checks import at_most, check
from tacit.collector.onlooker import Onlooker, most, of_model, of_record, percent, proven, worst
from tacit.collector.shapes import Words, localised, whole
from tacit.mechanisms.input import InputNumbers
from tacit.protocol.agreement import Protocol
from tacit.protocol.madeup import UNEXPLAINED
from tacit.protocol.preview import MOST, WORTH, expected, fewest

CODES = ("en", "de")
"""Languages that there are sentences in; the first is complete, whatever is added."""


@lru_cache
def dictionary(name: str, language: str = CODES[0]) -> Words:
    """The words of ``languages/NAME.CODE.json``; what is not translated is in English."""
    check(language in CODES, f"Expected language={language!r} to be one of {', '.join(CODES)}.")
    found: dict[str, str] = {}
    for code in dict.fromkeys((CODES[0], language)):
        path = files("tacit.collector").joinpath("languages", f"{name}.{code}.json")
        found |= json.loads(path.read_text(encoding="utf-8"))
    return MappingProxyType(found)


SEARCHED = 40
"""Features up to which it is looked for how many people it takes: the search takes a time of their third power."""


def words(protocol: Protocol, language: str = CODES[0], unexplained: float = UNEXPLAINED) -> Mapping[str, str]:
    """Sentences by subject, in the order in which they should be read.

    'record' and 'record_trust', 'model' and 'model_trust', 'database_trust', 'withdrawal', 'crowd' and 'basis'. How
    many people it takes is looked for (:func:`tacit.protocol.preview.fewest`): a second or two, once a protocol.
    """
    said, signs = dictionary("guarantees", language), dictionary("pictures", language)
    told = {
        "record": _record(protocol, said, signs),
        "record_trust": said["record_trust_little" if of_record(protocol).little else "record_trust"],
        "model": _model(protocol, said, signs),
        "model_trust": _trust(protocol.numbers, said, signs),
        "database_trust": said["database_trust"],
        "withdrawal": said["withdrawal" if getattr(protocol, "withdrawal", False) else "no_withdrawal"],
        "crowd": _crowd(protocol, unexplained, said, signs),
        "basis": said["quality_basis"].format(unexplained=localised(f"{100 * unexplained:g}", signs)),
    }
    return MappingProxyType(told)


def _record(protocol: Protocol, said: Words, signs: Words) -> str:
    stated, seen = protocol.record_guarantee(), of_record(protocol)
    key = "record_little" if seen.little else "record"
    return said[key].format(**_shown(seen, stated.epsilon, stated.delta, signs))


def _model(protocol: Protocol, said: Words, signs: Words) -> str:
    """By status: what rests on a paper's word alone is said to, with what is proven for the same noise."""
    stated, seen = protocol.guarantee(), of_model(protocol)
    shown = _shown(seen, stated.epsilon, stated.delta, signs) | {"most": localised(f"{most(protocol):,}", signs)}
    if stated.status == "proven":
        return said["model_little" if seen.little else "model"].format(**shown)
    proved = max(proven(released, protocol.delta) for released in worst(protocol))
    amount = said["unbounded"] if math.isinf(proved) else localised(at_most(proved), signs)
    return said[f"model_{stated.status}"].format(proved=amount, **shown)


def _shown(seen: Onlooker, epsilon: float, delta: float, signs: Words) -> dict[str, str]:
    amounts = {"right": percent(seen.right), "epsilon": at_most(epsilon), "delta": plainly(delta)}
    return {name: localised(amount, signs) for name, amount in amounts.items()}


def plainly(delta: float) -> str:
    """A small probability with three digits, never below it, and without a power of ten while it has few zeros."""
    shown = at_most(delta, 3)
    return f"{Decimal(shown):f}" if delta >= 1e-9 else shown


def _trust(numbers: InputNumbers, said: Words, signs: Words) -> str:
    if numbers.honest == 1:
        return said["model_trust_all"]
    share = Fraction(repr(float(numbers.honest)))  # as it was written: 9 of every 10
    few = math.ceil(1 / (1 - share)) - 1  # the most people of whom not even one may fail: few - honest few < 1
    parts = share.denominator, share.numerator, few
    people, sure, all_of = (localised(f"{part:,}", signs) for part in parts)
    return said["model_trust"].format(people=people, sure=sure, few=all_of)


def _crowd(protocol: Protocol, unexplained: float, said: Words, signs: Words) -> str:
    cohort, searched = protocol.numbers.cohort, protocol.numbers.features <= SEARCHED
    needed = fewest(protocol, None, unexplained) if searched else 0
    key = "crowd_none" if needed is None else "crowd" if needed <= cohort else "crowd_more"
    now = expected(protocol, cohort, unexplained)
    if not searched:
        key = "crowd_wide" if now.gain >= WORTH else "crowd_wide_none"
    many = localised(f"{cohort:,}", signs)
    limits = localised(f"{MOST:,}", signs), "" if needed is None else localised(f"{needed:,}", signs)
    sentence = said[key].format(cohort=many, most=limits[0], fewest=limits[1])
    if now.gain < WORTH:
        return sentence
    values = now.private, now.guess
    private, guess = (whole(one, signs) if now.error else localised(f"{100 * one:.0f}", signs) for one in values)
    quality = said["quality_error" if now.error else "quality_accuracy"]
    return f"{sentence} {quality.format(cohort=many, private=private, guess=guess)}"
