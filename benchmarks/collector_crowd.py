"""A crowd for the benchmark of the collector: good submissions, copies, rivals for one invitation, and garbage.

Afterwards the tables are held against what the crowd was told.
"""

import json
import random
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from collector_clients import request
from sqlalchemy import select

from tacit.collector.engine import reading
from tacit.collector.invitations import code_hash
from tacit.collector.layout import CONTENTS, INVITATIONS
from tacit.protocol import Database, Protocol, Submissions
from tacit.schema import Number, Schema, Target

LARGE = b" " * (2**20 + 1)
GARBAGE = {
    "unreadable": lambda one, code: b'{"submission": {"format": "tacit-subm',
    "fraction": lambda one, code: body({**one, "q": [0.5, *one["q"][1:]]}, code),
    "foreign": lambda one, code: body({**one, "protocol": "0" * 32}, code),
    "shape": lambda one, code: body({**one, "q": one["q"][1:]}, code),
    "damaged": lambda one, code: body({**one, "p": [2**60, *one["p"][1:]]}, code),
    "long": lambda one, code: body({**one, "q": [2**45, *one["q"][1:]]}, code),
    "seeded": lambda one, code: body({**one, "seeded": True}, code),
    "invitation-unknown": lambda one, code: body(one, "00000-00000-00000-00000"),
    "too-large": lambda one, code: LARGE,
}
"""What is refused, by its kind: none of it uses up an invitation."""
REASONS = {kind: "unreadable" if kind == "fraction" else kind for kind in GARBAGE}


def body(submission, code):
    return json.dumps({"invitation": code, "submission": submission}, separators=(",", ":")).encode()


def protocol_of(features, cohort):
    """A protocol of so many features, the intercept among them."""
    schema = Schema(tuple(Number(f"x{j}", -1, 1) for j in range(features - 1)), Target("y", classes=(0, 1)))
    return Protocol.create(epsilon=1.0, delta=1e-6, cohort=cohort, schema=schema)


def people(protocol, number, seed=0):
    """Submissions of made-up people; their noise is the operating system's."""
    rng = np.random.default_rng(seed)
    table = {column.name: rng.uniform(-1, 1, number) for column in protocol.schema.columns}
    return list(protocol.perturb_table(table, rng.integers(0, 2, number)).each())


@dataclass(frozen=True)
class Piece:
    """One request of the crowd: what is sent, whose it is (a place in the crowd; -1 for garbage), and of what kind."""

    raw: bytes
    who: int
    kind: str


class Crowd:
    """So many requests to a study: a tenth are copies of others, a tenth garbage, one in a hundred a rival."""

    def __init__(self, collector, study, number, seed=0):
        protocol = collector.study(study).protocol
        self.collector, self.study, dice = collector, study, random.Random(seed)
        garbage, copies, self.rivals = number // 10, number // 10, number // 100
        good = number - garbage - copies
        self.people = people(protocol, good, seed)
        codes = collector.invite(study, good - self.rivals)
        self.codes = codes + codes[: self.rivals]  # the last ones come with the invitations of the first ones
        spoiled = people(protocol, garbage, seed + 1)
        place = f"/api/studies/{study}/submissions"
        large = request(place, LARGE)  # one for all: it takes a megabyte
        self.bodies = [body(json.loads(one.to_json()), code) for one, code in zip(self.people, self.codes, strict=True)]
        pieces = [Piece(request(place, body), who, "good") for who, body in enumerate(self.bodies)]
        for one, kind in zip(spoiled, dice.choices(list(GARBAGE), k=garbage), strict=True):
            spoil = GARBAGE[kind](json.loads(one.to_json()), codes[dice.randrange(len(codes))])
            pieces.append(Piece(large if kind == "too-large" else request(place, spoil), -1, kind))
        dice.shuffle(pieces)
        again = dice.sample(range(good), copies)
        beside = set(again[::2])  # sent twice at about the same time; the others at any time
        pieces = [piece for one in pieces for piece in [one] * (2 if one.who in beside else 1)]
        for who in again[1::2]:
            pieces.insert(dice.randrange(len(pieces)), Piece(request(place, self.bodies[who]), who, "good"))
        self.pieces = pieces

    def check(self, answers):
        """Hold answers and tables against each other; raises where anything was lost or counted twice."""
        receipts, refused = defaultdict(list), defaultdict(set)
        for piece, answer in zip(self.pieces, answers, strict=True):
            if piece.who < 0:
                expect(answer.data.get("reason") == REASONS[piece.kind], "garbage has its refusal")
            elif answer.status in (200, 201):
                receipts[piece.who].append(answer.data)
            else:
                refused[piece.who].add(answer.data["reason"])
        expect(not set(receipts) & set(refused), "one submission has one fate")
        expect(set(receipts) | set(refused) == set(range(len(self.people))), "everyone was answered")
        expect(all(reasons == {"invitation-used"} for reasons in refused.values()), "only rivals are refused")
        expect(len(refused) == self.rivals, "of two with one invitation, one is counted")
        expect(all(one == many[0] for many in receipts.values() for one in many), "the same receipt every time")
        with reading(self.collector.engine) as base:
            own = select(CONTENTS.c.content).where(CONTENTS.c.study == self.study)
            kept = list(base.execute(own).scalars())
            i = INVITATIONS.c
            used = list(base.execute(select(i.code).where(i.study == self.study, i.used == 1)).scalars())
        told = sorted(many[0]["content"] for many in receipts.values())
        expect(sorted(one.hex() for one in kept) == told, "what has a receipt is in the table, and nothing else")
        codes = sorted(code_hash(self.study, self.codes[who]) for who in receipts)
        expect(sorted(bytes(code) for code in used) == codes, "each of their invitations is used, and no other")
        database = self.collector.database(self.study)
        with Database(database.protocol) as alone:
            alone.add(_table([self.people[who] for who in receipts]))
            expect(alone.sums.count == len(receipts) == database.sums.count, "the count is the number of people")
            expect(alone.sums.to_bytes() == database.sums.to_bytes(), "sums are equal to the bit")
        return len(receipts)


def _table(ones):
    q, p = (np.array([getattr(one, part) for one in ones], dtype=np.int64) for part in "qp")
    return Submissions(ones[0].protocol, q, p)


def expect(true, what):
    """Raise with these words, also where Python runs without assertions."""
    if not true:
        raise AssertionError(f"Expected: {what}.")
