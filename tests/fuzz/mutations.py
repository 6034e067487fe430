"""Mutations of files, and what may become of them.

*Plain* mutations change bytes or values and leave the checksum: the file is refused, or what it means is unchanged (a
space more, another spelling of a letter). *Resealed* ones change values and compute every checksum again, as someone
would who read the source: the file is refused, or its price is true, which is computed here by a second road where
there is one.
"""

from __future__ import annotations

import copy
import json
import math
import random
from pathlib import Path

import mpmath
from fuzz.subjects import Subject

from tacit import PrivacyError
from tacit.files import load, stated
from tacit.files import tensors as network_file
from tacit.files.models import from_dict
from tacit.privacy.events import Gaussian, Response, Sphere
from tacit.privacy.guarantee import checksum
from tacit.privacy.theorems import THEOREMS
from tacit.privacy.together import Together
from tacit.reading import parse

ABSURD = (
    10**400, 10**30, 10**12, 10**9, 2**63, -(2**64), -1, 0, 1, 2, 3, 0.0, -0.0, 1e-320, 1e-308, 1e308, 1e999, -1e999,
    math.nan, 1e-12, 0.5, 1.0, 1e3, 1e6, 1e12, 1e100, 1e-100, 1e149, 1e-149, True, False, None, "", "1", "inf",
    "x" * 3000, "\x1b[2J", "\ud800", "a\nVERIFIED.", [], [[]], [1, [2, [3]]], {}, {"kind": "Sphere"}, [0.0] * 500,
    "proven", "paper", "refuted", "gradient", "statistics", "add-remove", "replace-one", "Gaussian", "simplex",
    "sphere", "auto",
)  # fmt: skip
"""What a number or a word may be replaced by."""
DEEP = json.loads("[" * 40 + "]" * 40)
SLACK = 1 + 1e-6


def places(value, path=()):
    """The path of every value inside, lists and mappings included."""
    yield path
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(entry, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def mutate_value(content, rng):
    """The content with one to three values replaced, removed, doubled, moved, or fields added."""
    data = copy.deepcopy(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice([p for p in places(data) if p and "checksum" not in p])
        holder, key = at(data, path[:-1]), path[-1]
        way = rng.random()
        if way < 0.55:
            holder[key] = copy.deepcopy(rng.choice(ABSURD))
        elif way < 0.75 and type(holder[key]) in (int, float) and abs(holder[key]) < 1e100:
            factor = rng.choice((0.5, 2, 10, 1e-3, 1e3, 1e30, 1e-30))
            holder[key] = int(holder[key] * factor) if type(holder[key]) is int else holder[key] * factor
        elif way < 0.8:
            del holder[key]
        elif way < 0.85:
            holder[key] = copy.deepcopy(at(data, rng.choice(list(places(data)))))  # of another place
        elif way < 0.9 and isinstance(holder, list):
            holder.extend([copy.deepcopy(holder[key])] * rng.choice((1, 100)))
        elif way < 0.95 and isinstance(holder, dict):
            holder[rng.choice(("extra", "kind", "epsilon"))] = rng.choice(ABSURD)
        else:
            holder[key] = copy.deepcopy(DEEP)
    return data


def resealed(data):
    """Every checksum inside computed again, innermost first, as far as there is something to compute it of."""
    if isinstance(data, list):
        return [resealed(entry) for entry in data]
    if not isinstance(data, dict):
        return data
    content = {key: resealed(value) for key, value in data.items() if key != "checksum"}
    return {**content, "checksum": checksum(content)} if "checksum" in data or "format" in data else content


def packed(subject, content):
    """The bytes of a file with this content; NaN and infinity are written as Python writes them."""
    text = json.dumps(content)
    if not subject.is_network:
        return text.encode()
    header = json.loads(subject.raw[8 : len(subject.raw) - len(subject.tensors)])
    header["__metadata__"]["tacit"] = text
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + subject.tensors


def mutate_bytes(raw, rng):
    """One to three bits flipped, or a slice cut, doubled, replaced, moved, or the end lost."""
    data = bytearray(raw)
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    b = min(b, a + 40)
    way = rng.randrange(7)
    if way == 0:
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif way == 1:
        del data[a:b]
    elif way == 2:
        data[a:a] = data[a:b] * rng.choice((1, 50))
    elif way == 3:
        data[a:b] = rng.randbytes(rng.randrange(20))
    elif way == 4:
        del data[a:]
    elif way == 5:
        data[a:a] = rng.choice(
            (b" ", b"\n", b"\xff", b"NaN", b"1e999", b"9" * 5000, b"[" * 2000, b'"x":', b"\\u0041", b"0")
        )
    else:
        digits = [i for i, letter in enumerate(data) if chr(letter).isdigit()]
        data[rng.choice(digits)] = ord(rng.choice("0123456789"))
    return bytes(data)


def meaning(raw):
    """What a file says, apart from how it is spelled."""
    if int.from_bytes(raw[:8], "little") <= network_file.HEADER:
        start = 8 + int.from_bytes(raw[:8], "little")
        header = parse(raw[8:start])
        return parse(header["__metadata__"].pop("tacit")), header, raw[start:]
    return parse(raw)


def exact_delta(events, epsilon, adjacency):
    """A second road to delta(epsilon), where there is one: Gaussian releases alone, or pure ones; else None."""
    with mpmath.workdps(60):
        if all(isinstance(event, Gaussian) for event in events):
            terms = (e.count * (mpmath.mpf(e.sensitivity.under(adjacency)) / mpmath.mpf(e.scale)) ** 2 for e in events)
            mu, e = mpmath.sqrt(mpmath.fsum(terms)), mpmath.mpf(epsilon)
            return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
        if all(isinstance(event, Sphere | Response) for event in events):
            total = mpmath.fsum(
                e.epsilon
                if isinstance(e, Response)
                else mpmath.mpf(e.sensitivity.under(adjacency)) / mpmath.mpf(e.scale)
                for e in events
            )
            return max(mpmath.mpf(0), 1 - mpmath.exp(epsilon - total)) / (1 + mpmath.exp(-total))
    return None


def check_price(guarantee, price):
    """A guarantee that verified: its price is at most the stated one, and true."""
    assert 0 <= price <= guarantee.epsilon * SLACK
    assert math.isfinite(guarantee.epsilon)
    assert guarantee.events
    assert guarantee.status == THEOREMS[guarantee.theorem].status == "proven"
    true = exact_delta(guarantee.events, price * (1 + 1e-9), guarantee.adjacency)  # computed to the last digits
    assert true is None or true <= guarantee.delta * SLACK, f"{float(true)} at {price} for {guarantee}"


def outcome(raw: bytes, path: Path, subject: Subject, sealed: bool) -> str:
    """What becomes of a mutated file: 'refused', 'verified', or 'no guarantee'; anything else is an AssertionError.

    ``sealed``: the checksums were computed again.
    """
    path.write_bytes(raw)
    try:
        promised = stated(path)
    except PrivacyError as error:
        return _refused(error)
    if not sealed:
        assert meaning(raw) == meaning(subject.raw), "a file with another meaning was read"
    if subject.name.startswith("model"):
        from_dict(parse(raw))
    elif subject.is_network:
        _load_network(path)
    try:
        prices = [guarantee.verify() for guarantee in promised]
    except PrivacyError as error:
        assert sealed or subject.name.endswith(("no noise", "epsilon inf")), "an honest file was not verified"
        return _refused(error)
    for promise, price in zip(promised, prices, strict=True):
        parts = promise.guarantees if isinstance(promise, Together) else (promise,)
        for guarantee in parts:
            check_price(guarantee, guarantee.verify())
        assert max(guarantee.verify() for guarantee in parts) <= price <= sum(g.epsilon for g in parts) * SLACK
    return "verified"


def _load_network(path):
    try:
        load(path)
    except PrivacyError as error:
        _refused(error)


def _refused(error):
    sentence = str(error)
    assert sentence.endswith("."), sentence
    assert len(sentence) < 1000
    assert sentence.isprintable()
    return "refused"


def mutated(subject: Subject, rng: random.Random) -> tuple[bytes, bool]:
    """A mutation of a file, and whether its checksums were computed again."""
    way = rng.random()
    if way < 0.45:
        return mutate_bytes(subject.raw, rng), False
    content = mutate_value(subject.content, rng)
    if way < 0.6:
        return packed(subject, content), False
    return packed(subject, resealed(content)), True
