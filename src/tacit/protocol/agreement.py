"""The protocol: everything public about a collection and nothing private; anyone can read and check it.

It is fixed before anything is collected, and says what it will guarantee: the model's epsilon, the record's epsilon,
and what the noise is expected to cost.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tacit.arguments import checked
from tacit.checks import PrivacyError, at_most, check, check_count, check_positive, refuse
from tacit.data.canonical import check_labels, column, dense
from tacit.data.rows import Design, rounded_intercept
from tacit.estimators import LinearRegression, LogisticRegression
from tacit.estimators.base import INTERCEPT
from tacit.linear.losses import Logistic, Squared
from tacit.mechanisms.base import Chosen
from tacit.mechanisms.input import CROSS_BITS, ROW_BITS, InputNumbers
from tacit.mechanisms.input_plan import InputPerturbation, InputPlan, Setting, plan_of
from tacit.mechanisms.surrogates import Surrogate
from tacit.privacy.guarantee import Guarantee, checksum
from tacit.privacy.noise import Source, SystemSource
from tacit.privacy.theorems import OWNER
from tacit.protocol import strength, trust
from tacit.protocol.submission import Submission, Submissions
from tacit.reading import parse, read_bytes
from tacit.schema import Schema, Target
from tacit.training import Prepared, calibrate, clipped_rows, state
from tacit.types import RADII, Array, Budget, Calibration, Facts, Loss

FORMAT = "tacit-protocol"
VERSION = 4
GRID = {"row_bits": ROW_BITS, "cross_bits": CROSS_BITS}
LARGEST_FILE = 16 * 2**20
"""Bytes that a protocol file may have."""
LITTLE = strength.LITTLE
"""Above this epsilon a submission as good as tells the record; :attr:`Protocol.protects_little` asks for more."""
_AGAIN = (
    "not the only model of its collection: the contributors' noise is, or may be, in another one too, so the model's "
    "own guarantee does not hold for either; what holds is the guarantee of one record"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Protocol:
    """A public agreement on what is collected, with which noise, for which guarantee. Make one with :meth:`create`.

    ``schema`` turns raw records into rows; without one a record is a vector of ``columns`` numbers. ``target`` declares
    the classes or the bounds of what is predicted. Two are equal if their fingerprints are: Python's 1, 1.0 and True
    are one number, and in a protocol three.
    """

    target: Target
    columns: int
    epsilon: float
    delta: float
    surrogate: str
    numbers: InputNumbers
    schema: Schema | None = None
    calibration: Calibration = "proven"
    purpose: str = ""
    withdrawal: bool = False

    def __post_init__(self) -> None:
        check(type(self.withdrawal) is bool, "Expected withdrawal to be true or false.")
        expected = self.columns + (1 if self.numbers.intercept else 0)
        check(self.numbers.features == expected, "Expected as many features as columns, and one for the intercept.")
        price = self.guarantee(self.numbers.cohort)
        if self.calibration == "proven":
            price.verify()

    @classmethod
    @checked
    def create(
        cls,
        *,
        epsilon: float,
        delta: float,
        cohort: int,
        schema: Schema | None = None,
        columns: int | None = None,
        target: Target | None = None,
        clip: float = 1.0,
        intercept: bool = True,
        radius: float | None = None,
        record_epsilon: float | None = None,
        surrogate: str = "paper",
        regularization: float | None = None,
        honest: float | None = None,
        calibration: Calibration = "proven",
        purpose: str = "",
        withdrawal: bool = False,
    ) -> Protocol:
        """Calibrate a protocol for at least ``cohort`` contributors.

        ``record_epsilon``: what contributors ask for their own record, at the same delta; None leaves it to the model's
        needs. ``radius`` bounds the weights; ``regularization`` is lambda of the mean objective, None chooses it.
        ``honest``: the fraction of contributors, however many there are, who add their noise and keep it to themselves;
        the model's guarantee counts on their noise alone. None is 0.9; 1.0 counts on everyone and has to be asked for
        (a published calibration knows nothing else). ``withdrawal``: whether contributors may take their submission
        back before a model is trained.
        """
        aim = target if target is not None else None if schema is None else schema.target
        if aim is None:
            raise ValueError("Declare the target: its classes, or its lower and upper bound.")
        check((schema is None) != (columns is None), "Give a schema, or the number of columns.")
        width = schema.width if schema is not None else check_count("columns", columns or 0)
        cohort, clip = check_count("cohort", cohort), check_positive("clip", clip)
        check(RADII[0] <= clip <= RADII[1], f"Expected clip={clip:g} to be between {RADII[0]:g} and {RADII[1]:g}.")
        epsilon, delta = float(epsilon), float(delta)
        regularization = None if regularization is None else float(regularization)
        constant = rounded_intercept(clip, INTERCEPT * clip) if intercept else 0.0
        if honest is None:
            honest = 1.0 if calibration == "paper" else trust.HONEST
        mechanism = InputPerturbation(
            radius=radius, record_epsilon=record_epsilon, surrogate=surrogate, honest=check_positive("honest", honest)
        )
        facts = _facts(width, cohort, clip, constant, aim)
        budget = Budget(epsilon, delta)
        check(budget.private, "A protocol needs a finite epsilon.")
        plan = calibrate(facts, Chosen("input", mechanism, budget), regularization, calibration)
        if not isinstance(plan, InputPlan) or plan.numbers is None:
            refuse("A protocol needs noise.")
        return cls(
            target=aim, columns=width, epsilon=epsilon, delta=delta, surrogate=plan.setting.surrogate.name,
            numbers=plan.numbers, schema=schema, calibration=calibration, purpose=purpose, withdrawal=withdrawal,
        )  # fmt: skip

    @property
    def budget(self) -> Budget:
        """What the model may cost."""
        return Budget(self.epsilon, self.delta)

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of everything in the protocol, order of the columns and grid included; submissions carry it."""
        return checksum(self._content())[:32]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Protocol) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def _facts(self, count: int) -> Facts:
        return _facts(self.columns, count, self.numbers.clip, self.numbers.intercept, self.target)

    def plan(self, count: int) -> InputPlan:
        """The plan for this many contributors."""
        n = self.numbers
        loss = Surrogate(self.surrogate, n.curvature, n.slope)
        setting = Setting(
            features=n.features, cohort=n.cohort, clip=n.clip, intercept=n.intercept, surrogate=loss, radius=n.radius,
            honest=n.honest,
        )  # fmt: skip
        return plan_of(n, setting, self.budget, self.calibration, count)

    def prepared(self, count: int, seeded: bool = False, again: bool = False) -> Prepared:
        """Both guarantees for this many contributors, before anyone has contributed.

        ``again``: for a model that is not the first of its collection; the record's guarantee is then the only one.
        """
        words = () if self.target.classes else (f"targets clipped to [{self.target.lower:g}, {self.target.upper:g}]",)
        words = (clipped_rows(self._facts(count)), *((_AGAIN,) if again else ()), *words)
        trusted = trust.words(self.numbers.honest, self.numbers.sure(count), count, self.withdrawal)
        stated = state(
            self.plan(count), count, self.budget, method="input", seeded=seeded, calibration=self.calibration,
            assumptions=(*words, *trusted), record_assumptions=(*words, OWNER), collection=self.fingerprint,
        )  # fmt: skip
        record = stated.record_guarantee
        return dataclasses.replace(stated, guarantee=record) if again and record is not None else stated

    def guarantee(self, count: int | None = None) -> Guarantee:
        """What the model will guarantee."""
        return self.prepared(count or self.numbers.cohort).guarantee

    def record_guarantee(self) -> Guarantee:
        """What one submission guarantees to its owner, whoever sees it."""
        record = self.prepared(self.numbers.cohort).record_guarantee
        assert record is not None  # for the type checker: a protocol always has noise
        return record

    def rows(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Design rows and targets in [-1, 1] from raw records: encoded, clipped, checked, not perturbed yet.

        Edges: a mapping of single cells is one record; text in a numeric column raises, because its owner can correct
        it.
        """
        if self.schema is not None and not isinstance(X, np.ndarray):
            table = {k: _listed(v) for k, v in X.items()} if isinstance(X, Mapping) else X
            self.schema.check_readable(table, every=True)
            values = self.schema.encode(table, self.numbers.clip)
        else:
            values = np.atleast_2d(dense(X))
        check(values.ndim == 2 and values.shape[1] == self.columns, f"Expected records of {self.columns} numbers.")
        design = Design(values, self.numbers.clip, self.numbers.intercept)  # rows on the grid, as in a fit
        values = design.dense(slice(None))[:, : design.columns]
        labels = np.atleast_1d(np.asarray(column(y)))
        check(labels.shape == (len(values),), "Expected one target for each record.")
        constant = np.full((len(values), 1 if self.numbers.intercept else 0), self.numbers.intercept)
        return np.hstack([values, constant]), _targets(labels, self.target)

    def perturb(self, x: Any, y: Any, *, source: Source | None = None) -> Submission:
        """One person's submission, made with operating-system entropy. Submit once: every further one costs again.

        Edges: wrong sizes, NaN or an undeclared label raise; the sentence does not quote them.
        """
        design, targets = self.rows(x, y)
        check(len(design) == 1, "Expected one record; use perturb_table for several.")
        chosen: Source = source or SystemSource()
        q, p = self.numbers.perturb(design, targets, chosen)
        return Submission(self.fingerprint, tuple(q[0].tolist()), tuple(p[0].tolist()), chosen.seeded)

    def perturb_table(self, X: Any, y: Any, *, source: Source | None = None) -> Submissions:
        """The submissions of a table of people, one row each, all with noise of their own."""
        chosen: Source = source or SystemSource()
        q, p = self.numbers.perturb(*self.rows(X, y), chosen)
        return Submissions(self.fingerprint, q, p, chosen.seeded)

    def model(self, weights: Array, prepared: Prepared) -> Any:
        """A fitted Tacit estimator with these weights and both guarantees."""
        c, epsilon = self.numbers.intercept, prepared.guarantee.epsilon
        settings: dict[str, Any] = {
            "delta": self.delta, "method": "input", "calibration": self.calibration, "clip": self.numbers.clip,
            "fit_intercept": bool(c),
        }  # fmt: skip
        if self.target.classes is None:
            low, high = float(self.target.lower or 0.0), float(self.target.upper or 0.0)
            model: Any = LinearRegression(epsilon, target_bound=(low, high), **settings)
        else:
            model = LogisticRegression(epsilon, classes=list(self.target.classes), **settings)
            model.classes_, model.margin_ = np.unique(np.asarray(self.target.classes)), 0.0
        model.build(weights[:, None], self.columns, c, prepared)
        return model

    def __str__(self) -> str:
        record = self.record_guarantee()
        caution = self.caution()
        return (
            f"Protocol {self.fingerprint}: {self.purpose or 'no purpose stated'}\n\n"
            f"The model, from {self.numbers.cohort:,} contributors on:\n{self.guarantee()}\n\n"
            f"Your record, as it leaves your device:\n{record}" + (f"\n\n{caution}" if caution else "")
        )

    @cached_property
    def best_guess(self) -> float:
        """How often, at most, whoever sees a submission tells rightly which of two equally likely records it is of."""
        return strength.best_guess(self.numbers.record_events)

    @cached_property
    def protects_little(self) -> bool:
        """Whether a submission as good as tells its record: by its epsilon, or by the best guess, whatever delta is."""
        return strength.little(self.record_guarantee().epsilon, self.best_guess)

    @property
    def loose(self) -> bool:
        """Whether delta is above one in the cohort: a guarantee that may fail for one person of a crowd is none."""
        return self.delta * self.numbers.cohort > 1

    def caution(self) -> str:
        """One sentence where the record's guarantee is next to none; empty where it is not."""
        if not self.protects_little:
            return ""
        return (
            f"WARNING: against anyone who sees a submission, epsilon = {at_most(self.record_guarantee().epsilon, 6)} "
            f"at delta = {self.delta:g} is practically NO PROTECTION of the record: the best guess between two records "
            f"is right up to {at_most(100 * self.best_guess, 4)} times in 100. To ask for more noise, set "
            f"record_epsilon= in Python, --record-epsilon on the command line ({LITTLE:g} or less, at a small delta)."
        )

    def _content(self) -> dict[str, Any]:
        target = {k: v for k, v in dataclasses.asdict(self.target).items() if v is not None}
        content = {
            "format": FORMAT, "version": VERSION, "grid": GRID, "purpose": self.purpose,
            "epsilon": self.epsilon, "delta": self.delta, "calibration": self.calibration,
            "surrogate": self.surrogate, "columns": self.columns,
            "schema": None if self.schema is None else self.schema.to_dict(),
            "target": target, "numbers": dataclasses.asdict(self.numbers),
            **({"withdrawal": True} if self.withdrawal else {}),
        }  # fmt: skip
        return {name: _plain(entry) for name, entry in content.items()}

    def to_json(self) -> str:
        """The protocol as JSON, with its fingerprint."""
        return json.dumps({**self._content(), "fingerprint": self.fingerprint}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Protocol:
        """Read what :meth:`to_json` wrote; everything is checked again, the price of the noise included."""
        try:
            data = parse(text)
        except PrivacyError as error:
            raise PrivacyError(f"This is not a Tacit protocol. {error}") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            refuse("This is not a Tacit protocol.")
        if data.get("version") != VERSION or data.get("grid") != GRID:
            refuse(
                "This protocol was written by another version of Tacit, or it is incomplete: its guarantee would not "
                "say who is trusted. Create it again, and collect again."
            )
        if checksum({k: v for k, v in data.items() if k != "fingerprint"})[:32] != data.get("fingerprint"):
            refuse("This protocol was changed after it was written: its fingerprint does not match.")
        try:
            target = dict(data["target"])
            if "classes" in target:
                target["classes"] = tuple(target["classes"])
            schema = None if data["schema"] is None else Schema.from_dict(data["schema"])
            fields = {k: data[k] for k in ("columns", "epsilon", "delta", "surrogate", "calibration", "purpose")}
            fields["withdrawal"] = data.get("withdrawal", False)
            return cls(target=Target(**target), numbers=InputNumbers(**data["numbers"]), schema=schema, **fields)
        except (KeyError, TypeError) as error:
            raise ValueError("This protocol is incomplete or malformed.") from error

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Protocol:
        """Read a protocol file of at most LARGEST_FILE bytes."""
        try:
            return cls.from_json(read_bytes(path, LARGEST_FILE).decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError("This is not a Tacit protocol: it is not text.") from error


def _listed(cells: Any) -> Any:
    """A single cell as a column of one."""
    return [cells] if cells is None or np.isscalar(cells) else cells


def _plain(value: Any) -> Any:
    """Entries as JSON has them: lists for tuples, and NumPy's numbers as plain ones."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


def _facts(columns: int, count: int, clip: float, constant: float, target: Target) -> Facts:
    check(target.classes is None or len(target.classes) == 2, "Input perturbation learns two classes, or a number.")
    loss: Loss = Squared(1.0) if target.classes is None else Logistic()
    reach = float(np.hypot(clip, constant))
    return Facts(
        records=count,
        features=columns + (1 if constant else 0),
        outputs=1,
        radius=reach,
        loss=loss,
        intercept=bool(constant),
        constant=constant,
    )


def _targets(labels: Any, target: Target) -> Array:
    """Targets scaled to [-1, 1]; what rounding of the centre may add is clipped."""
    if target.classes is not None:
        check_labels(labels)
        known = np.unique(np.asarray(target.classes))
        check(np.isin(labels, known).all(), "A label is not among the protocol's classes.")
        return np.asarray(np.where(labels == known[1], 1.0, -1.0))
    low, high = float(target.lower or 0.0), float(target.upper or 0.0)
    centre, half = 0.5 * (low + high), 0.5 * (high - low)
    values = np.asarray(labels, dtype=np.float64)
    check(np.isfinite(values).all(), "A target is not a finite number.")
    scaled = np.clip((np.clip(values, low, high) - centre) / half, -1.0, 1.0)
    if not np.isfinite(scaled).all():
        refuse(f"Targets cannot be scaled between lower={low:g} and upper={high:g}.")
    return np.asarray(scaled)
