"""An audit whose records are people with several rows: what is right passes, and rows that all count in full do not."""

import numpy as np

from tacit.audit import audit
from tacit.audit.all_methods import RECORDS, ROWS, STRESSED
from tacit.audit.pairs import library
from tacit.audit.planned import planned
from tacit.data.shares import Shares
from tacit.types import Budget

CLAIM = Budget(1.0, 1e-5, "add-remove")


def measured():
    stress = STRESSED["output"]
    subject = planned(
        stress.mechanism, CLAIM, loss=stress.loss, records=RECORDS, features=2, regularization=stress.regularization,
        rows_per_person=ROWS,
    )  # fmt: skip
    pairs = library("add-remove", records=RECORDS)[:1]
    return audit(subject, CLAIM, pairs=pairs, trials=6000, confidence=1 - 1e-6, seed=3)


def test_people_pass_and_shares_that_are_left_out_do_not(monkeypatch):
    right = measured()
    assert right.verdict == "consistent"
    assert right.epsilon > 0.1, "an audit that sees nothing says nothing"
    monkeypatch.setattr(Shares, "check_for", lambda self, rows: None)
    monkeypatch.setattr(
        Shares, "of", classmethod(lambda cls, people, _: cls(np.ones(len(people.rows)), people.starts, people.most))
    )
    assert measured().verdict == "violated"
