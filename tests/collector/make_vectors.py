"""Write ``vectors.json``: forced random words and the whole numbers that Python makes of them.

Python and every browser must give them, to the last bit. Run this file to write them anew; a test says when they are
not what Python gives any more.
"""

import functools
import hashlib
import itertools
import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np

from tacit.mechanisms.input import record_epsilon
from tacit.privacy import normals
from tacit.protocol.agreement import Protocol
from tacit.protocol.facts import facts
from tacit.schema import Schema, Target

VECTORS = Path(__file__).with_name("vectors.json")
TABLE = normals._TABLE
CROSS, ROW = 2.0**36 * 1.37, 2.0**20 * 1.0009765625
BEYOND = 1e308


@dataclass
class Script:
    """Some words, then SHA-256 of a counter; keeps what it gave out."""

    seed: str
    first: tuple[int, ...] = ()
    given: list[int] = field(default_factory=list)
    seeded: bool = True

    def words(self, count):
        places = range(len(self.given), len(self.given) + count)
        found = [self.first[i] if i < len(self.first) else self._hashed(i) for i in places]
        self.given += found
        return np.array(found, dtype=np.uint64)

    def _hashed(self, place):
        return int.from_bytes(hashlib.sha256(f"{self.seed} {place}".encode()).digest()[:8], "big")

    def hexadecimal(self):
        return [f"{word:016x}" for word in self.given]


def word(entry, place=0):
    """The word that chooses this entry of the table, with these 49 digits."""
    return (int(entry) << 49) | place


def curve_digits(entry, place, words=1):
    """How high the curve is over the bottom of this box, at the left end of this place: in units of 2**-64 a word."""
    with mpmath.workdps(120):
        x = mpmath.mpf(int(TABLE.columns[entry]) + place) / 2**54
        height = normals.FACTOR * mpmath.exp(-x * x / 2) - int(TABLE.levels[entry])
        return int(mpmath.floor(height * 2 ** (64 * words)))


def crossing():
    """Entries and places where the curve runs through the inside of the box."""
    for entry, place in itertools.product(range(TABLE.quick, TABLE.boxes, 7), (1 << 47, 1 << 48, 3 << 47)):
        if 2**40 < curve_digits(entry, place) < 2**64 - 2**40:
            yield entry, place


def on_the_curve(entry, place):
    """Three words of y whose intervals hold the curve: while the digits of x are zeros, none of them can decide."""
    digits = curve_digits(entry, place, 3)
    return [digits >> (64 * i) & (2**64 - 1) for i in (2, 1, 0)]


def tail_second(column, place):
    """The word of y that the curve runs through, in the tail's column."""
    with mpmath.workdps(60):
        x = mpmath.mpf((6 << 54) + (column << 53) + place) / 2**54
        return int(mpmath.floor(normals.FACTOR * 2 ** (column + 5) * mpmath.exp(-x * x / 2) * 2**64))


def at_a_border(ratio, whole):
    """A word whose interval, times the ratio, holds whole + 1/2: more digits must decide."""
    place = math.floor((whole + 0.5) / ratio * 2**54)
    for near in range(place - 4, place + 5):
        low, high = (math.floor(Fraction(ratio) * Fraction(near + i, 2**54) + Fraction(1, 2)) for i in (0, 1))
        if low != high:
            entry = int(np.flatnonzero(TABLE.columns[: TABLE.quick] == near >> 49 << 49)[0])
            return word(entry, near & ((1 << 49) - 1))
    raise AssertionError("no border near there")


def scripts():
    """Name -> words that begin the draw, how many numbers, and the ratio."""
    full, upper, lower = 2**64 - 1, TABLE.boxes, TABLE.boxes + 1
    found = {
        "zero words": ([0] * 8, 4, CROSS),
        "all kinds of entries": ([word(e, e) for e in range(0, 1 << 15, 1 << 8)], 128, CROSS),
        "entries that are no box": ([word(e, 5) for e in range(upper + 2, 1 << 15)], (1 << 15) - upper - 2, ROW),
        "upper tail, kept": ([word(upper), 0, 1 << 60, 1], 1, CROSS),
        "lower tail, kept": ([word(lower), 0, 1 << 60, 1], 1, CROSS),
        "tails above the curve": ([word(upper), 1, 5, full, word(lower), 2, 6, 2**52, word(9, 9)], 1, ROW),
        "tail, three columns out": ([word(upper), 0b0111, 3 << 50, 0], 1, CROSS),
        "tail, more than 64 heads": ([word(lower), full, 0b011, 7, 0], 1, ROW),
        "tail on the curve, kept": ([word(upper), 0, 5 << 40, tail_second(0, 5 << 29), 0, 0], 1, CROSS),
        "tail on the curve, above": ([word(upper), 0, 5 << 40, tail_second(0, 5 << 29), full, full, 3], 1, CROSS),
        "lower tail on the curve, kept": ([word(lower), 2, 0, tail_second(0, 0), full, 0], 1, CROSS),
        "all borders at once": ([at_a_border(CROSS, 12345 + 1000003 * i) for i in range(40)], 40, CROSS),
        "borders of negative numbers": ([at_a_border(CROSS, -98765 - 70001 * i) for i in range(9)], 9, CROSS),
        "a border of rows": ([at_a_border(ROW, 1048575)], 1, ROW),
        "a ratio below one": ([], 16, 0.3),
        "a great ratio": ([], 16, 2.0**51 * 1.5),
        "hashed, rows": ([], 300, ROW),
        "hashed, cross": ([], 300, CROSS),
    }  # fmt: skip
    for i, (entry, place) in enumerate(itertools.islice(crossing(), 0, 60, 12)):
        first, (y, second, third) = word(entry, place), on_the_curve(entry, place)
        ends = {"below": [0, 0], "above": [0, full], "left": [1 << 63, 1], "right": [full, full]}
        ends["twice, below"] = [0, second, 0, third - 1]
        ends["twice, above"] = [0, second, 0, third + 1]
        ends["three times"] = [0, second, 0, third, 0]
        for name, more in ends.items():
            found[f"on the curve {i}, {name}"] = ([first, y, *more], 1, CROSS)
        found[f"beside the curve {i}"] = ([first, first, y - 2**20, y + 2**20], 2, ROW)
    both = list(itertools.islice(crossing(), 2))
    found["two on the curve"] = ([word(*one) for one in both] + [on_the_curve(*one)[0] for one in both], 2, CROSS)
    return found


def draw_vectors():
    vectors = []
    for name, (first, count, ratio) in scripts().items():
        source = Script(name, tuple(first))
        numbers = normals.whole(source, count, ratio)
        vectors.append(
            {"name": name, "words": source.hexadecimal(), "count": count, "ratio": ratio,
             "whole": [str(v) for v in numbers.tolist()]}
        )  # fmt: skip
    return vectors


def _mixed(target, layout="auto"):
    return Schema.from_dict({
        "columns": {
            "age": {"lower": 18, "upper": 95},
            "income": {"lower": -1e3, "upper": 2.5e5, "missing": True},
            "job": {"values": ["nurse", "clerk", 3, "4.5", True]},
            "height": {"lower": 0.1, "upper": 2.3, "bins": [0.7, 1.3, 1.9]},
            "weight": {"lower": 1, "upper": 300, "bins": 6, "missing": True},
            "hours": {"lower": 0, "upper": 99, "knots": 5},
            "dose": {"lower": 0.01, "upper": 10, "knots": [0.1, 1.0], "missing": True},
        },
        "missing": ["-9", "?"], "layout": layout, "target": target,
        "pairs": [
            [["age", {"lower": 18, "upper": 95, "bins": 3}], ["job", {"values": ["clerk"]}]],
            [["hours", {"lower": 0, "upper": 99}], ["dose", {"lower": 0.01, "upper": 10, "knots": 3, "missing": True}]],
        ],
    })  # fmt: skip


CLASSES = {"name": "ill", "classes": ["yes", "no"]}
BOUNDS = {"name": "cost", "lower": -3.3, "upper": 1700.1}


@functools.cache
def protocols():
    """Name -> protocol: all kinds of columns, both layouts, classes and bounds, without intercept, without schema."""
    common = {"epsilon": 1.0, "delta": 1e-6, "cohort": 5000}
    one = Schema.from_dict({"columns": {"x": {"lower": -1, "upper": 1}}, "target": {"name": "t", "classes": [0, 1]}})
    return {
        "mixed": Protocol.create(**common, schema=_mixed(CLASSES), record_epsilon=8.0),
        "mixed, box": Protocol.create(
            **common, schema=_mixed(CLASSES, "box"), clip=0.7, surrogate="least-squares"
        ),
        "mixed, bounds": Protocol.create(**common, schema=_mixed(BOUNDS), record_epsilon=4.0),
        "mixed, bounds, rows": Protocol.create(**common, schema=_mixed(BOUNDS, "rows"), intercept=False, clip=3.0),
        "one number": Protocol.create(**common, schema=one, intercept=False),
        "truths": Protocol.create(
            **common, columns=2, target=Target("t", (True, False)), clip=1e-3, record_epsilon=2.0
        ),
        "vector": Protocol.create(**common, columns=5, target=Target("t", (2, -1)), clip=1.3, record_epsilon=1.0),
        "vector, bounds": Protocol.create(
            **common, columns=3, target=Target("t", None, 0.1, 0.3), intercept=False, clip=20.0
        ),
    }  # fmt: skip


def mixed_answers():
    """Ordinary, at the bounds, beyond them, missing, with a marker, and with numbers that are hard to write."""
    ordinary = {"age": 44, "income": 52341.17, "job": "clerk", "height": 1.62, "weight": 63.5, "hours": 38.5, "dose": 2}
    lowest = {"age": 18, "income": -1e3, "job": "nurse", "height": 0.1, "weight": 1, "hours": 0, "dose": 0.01}
    highest = {"age": 95, "income": 2.5e5, "job": 3, "height": 2.3, "weight": 300, "hours": 99, "dose": 10}
    return [
        ordinary, lowest, highest,
        dict.fromkeys(ordinary),
        dict.fromkeys(ordinary, BEYOND) | {"job": "4.5"},
        dict.fromkeys(ordinary, -BEYOND) | {"job": True},
        dict.fromkeys(ordinary, -0.0) | {"job": None},
        dict.fromkeys(ordinary, -9) | {"job": "nurse"},
        ordinary | {"height": 1.3, "hours": 49.5, "dose": 0.1, "weight": math.nextafter(50, 0)},
        ordinary | {"age": 5e-324, "income": 1e-300, "dose": math.pi, "hours": math.nextafter(99, 0), "job": None},
    ]  # fmt: skip


def vector_answers(columns):
    rising = [0.1 * (i + 1) for i in range(columns)]
    return [
        rising, [0.0] * columns, [-0.0] * columns, [BEYOND] * columns, [-BEYOND, *rising[1:]], [1e-200] * columns,
        [5e-324, *[-1e-150] * (columns - 1)], [1e99, *rising[1:]], [-v for v in rising], [1e-10] * columns,
        [1e140] * columns, [3e80, *[1e80] * (columns - 1)], [3e101, *[1e99] * (columns - 1)],
        [3e-9, *[1e-12] * (columns - 1)],
    ]  # fmt: skip


def answers_of(protocol):
    if protocol.schema is None:
        return vector_answers(protocol.columns)
    if protocol.schema.names == ("x",):
        return [{"x": value} for value in (-1, 1, 0, -0.0, None, 0.3, BEYOND, -1 + 1e-16)]
    return mixed_answers()


def targets_of(protocol):
    if protocol.target.classes is not None:
        return list(protocol.target.classes)
    low, high = protocol.target.lower, protocol.target.upper
    return [low, high, 0.5 * (low + high), -0.0, BEYOND, -BEYOND, low + 0.1 * (high - low)]


def case(protocol, answers, target, source):
    """One submission by Python."""
    record = np.array([answers], dtype=np.float64) if protocol.schema is None else answers
    submission = protocol.perturb(record, np.array([target]), source=source)
    return {
        "answers": answers, "target": target, "words": source.hexadecimal(), "q": list(submission.q),
        "p": list(submission.p), "content": submission.many().contents()[0].hex(),
    }  # fmt: skip


def study_vectors():
    vectors = []
    for name, protocol in protocols().items():
        both = zip(answers_of(protocol), itertools.cycle(targets_of(protocol)))
        cases = [case(protocol, *pair, Script(f"{name} {i}")) for i, pair in enumerate(both)]
        epsilon = record_epsilon(protocol.numbers, protocol.delta)
        vectors.append({"name": name, "facts": facts(protocol), "epsilon": epsilon, "cases": cases})
    return vectors


def vectors():
    return {"draws": draw_vectors(), "studies": study_vectors()}


def text(found):
    """JSON with one entry a line, so that a change shows where it is."""
    parts = [
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, entries)) + "\n]" for name, entries in found.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    VECTORS.write_text(text(vectors()), encoding="utf-8")
