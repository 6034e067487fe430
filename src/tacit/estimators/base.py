"""What all linear estimators share: settings, the door for records, the run, and the one builder of fitted models.

``epsilon`` is a setting, not an account: every ``fit`` draws fresh noise and carries its own ``guarantee_``.
Cross-validation with k folds is k fits on the same people; :func:`tacit.spent` adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from tacit.arguments import check_fields
from tacit.checks import check, check_positive, check_real, plain_numbers, refuse, shown
from tacit.data.canonical import canonical, check_names, column
from tacit.estimators.coded_targets import LabelCodes, ScaledTargets
from tacit.estimators.counted import Counted, counted
from tacit.estimators.earlier import Earlier, check_together, of_rows, of_schema, remember, remembered
from tacit.estimators.legibility import note_scan
from tacit.estimators.misuse import Watched, watch
from tacit.estimators.notes import note_fit, picked
from tacit.estimators.streaming import Asked, later
from tacit.ledger import CarriesLedger, Ledger, ledger_of
from tacit.linear.predictions import clipped_scores
from tacit.linear.problem import Problem, Records
from tacit.linear.records import Held, in_memory
from tacit.linear.streamed import Streamed, held
from tacit.mechanisms import Chosen, Mechanism, choose_method
from tacit.privacy.noise import SeededSource, Source, SystemSource
from tacit.privacy.theorems import PEOPLE
from tacit.saving import Saved
from tacit.schema import Schema
from tacit.training import Prepared, charge, clipped_rows, prepare, train
from tacit.types import RADII, Adjacency, Array, Budget, Calibration, Loss, Precondition, Solution, Spread

INTERCEPT = 0.5
"""The constant coordinate of the intercept, as a fraction of the clip: public, and counted in the row norm."""
BY_ROW = (
    "individual", "permutation-output", "input-local", "local-duchi-2013", "pidp-sgd", "pi-dbdp-erm", "input-kang-2020",
    "dbdp-erm", "disjoint-gradient",
)  # fmt: skip
"""Theorems of methods that look at single rows again and again, or rely on their places: these must be in memory."""
_ROWS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
_SENTENCES = {
    "Input X contains NaN": (
        "X contains NaN, and missing numbers cannot be encoded here. Describe the columns with tacit.Schema, missing = "
        "true for those that may be empty, or fill them in with a public number first."
    ),
}


def source_from(random_state: Any) -> Source:
    """None is the operating system's entropy; anything else is a seeded stream, and the guarantee will say so."""
    if random_state is None:
        return SystemSource()
    if isinstance(random_state, np.random.RandomState):
        return SeededSource(tuple(int(v) for v in random_state.randint(0, 2**31 - 1, size=8)))
    if isinstance(random_state, np.random.Generator):
        return SeededSource(tuple(int(v) for v in random_state.integers(0, 2**63 - 1, size=4)))
    check(
        isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0,
        f"Expected random_state to be None, a whole number >= 0 or a generator, not {shown(random_state)}.",
    )
    return SeededSource(int(random_state))


def budget_of(
    epsilon: Any, delta: Any, adjacency: Adjacency, records: int, ledger: Ledger | str | None = None
) -> Budget:
    """What a fit may spend; a delta of None is the ledger's where one is charged, else n**-1.5, at most 0.01.

    An epsilon of 'rest' is all that the ledger has left: of a Gaussian release, and where the method's own noise costs
    the ledger more than that, the noise is made as large as the ledger admits.
    """
    book = ledger_of(ledger)
    default = min(records**-1.5, 0.01) if book is None else book.delta
    chosen = default if delta is None else check_real("delta", delta)
    if not (isinstance(epsilon, str) and epsilon == "rest"):
        return Budget(check_real("epsilon", epsilon), chosen, adjacency)
    if book is None:
        raise ValueError(
            "epsilon='rest' spends what a ledger has left, but no ledger is open: add --ledger (in Python, "
            "ledger=), or give a number."
        )
    left = book.left()
    if left <= 0:
        refuse(f"The ledger has nothing left of its epsilon={book.epsilon:g}.")
    return Budget(left, chosen, adjacency, admits=book.admits)


class Begun(NamedTuple):
    """A fit that has begun: what it may spend and has spent, where its noise comes from, and what it assumes so far.

    ``rows`` releases what the budget counts as spent, and gives the rows to train on: at most as wide as those that the
    fit was prepared with. ``weights`` does the same for the weights of rows. Both are called once everything is priced
    and nothing is left to refuse.
    """

    budget: Budget
    source: Source
    assumptions: tuple[str, ...] = ()
    rows: Callable[[], Array] | None = None
    weights: Callable[[], Array] | None = None


def _without(solution: Solution, padding: slice) -> Solution:
    """The solution without the weights of columns that hold nothing but zeros."""
    if padding.start == padding.stop:
        return solution
    found = solution.spread

    def spread() -> Spread | None:
        whole = None if found is None else found()
        if whole is None:
            return None
        basis = np.eye(len(whole.variances)) if whole.basis is None else whole.basis
        masses = None if whole.masses is None else np.delete(whole.masses, padding)
        return Spread(whole.variances, np.delete(basis, padding, axis=0), masses)

    return replace(solution, weights=np.delete(solution.weights, padding, axis=0), spread=spread)


@dataclass(eq=False, repr=False)
class PrivateLinear(CarriesLedger, Saved, Watched):
    """Settings, validation, the run, the linear predictor."""

    epsilon: float | Literal["rest"] = 1.0
    _: KW_ONLY
    delta: float | None = None
    method: str | Mechanism = "auto"
    calibration: Calibration = "proven"
    adjacency: Adjacency = "replace-one"
    precondition: Precondition = "auto"
    clip: float = 1.0
    fit_intercept: bool = True
    regularization: float | None = None
    rows_per_person: int | None = None
    weight_bound: float = 1.0
    random_state: Any = None
    ledger: Ledger | str | None = None
    settings: ClassVar[tuple[str, ...]] = ()
    """Fitted numbers that were chosen from public facts, and that predictions need; model files hold them."""

    def _check_declared(self) -> None:
        """Wrong settings end a fit here, before it looks at a record."""
        check_fields(self)
        least, most = RADII
        clip = check_positive("clip", self.clip)
        check(least <= clip <= most, f"Expected clip={clip:g} to be between {least:g} and {most:g}.")
        check_positive("weight_bound", self.weight_bound)
        if self.regularization is not None:
            given = check_real("regularization", self.regularization)
            check(0 <= given < math.inf, f"Expected regularization={given} >= 0 and finite.")

    def _begin(self, records: int) -> Begun:
        """What the fit may spend, and where its noise comes from."""
        budget = budget_of(self.epsilon, self.delta, self.adjacency, records, self.ledger)
        return Begun(budget, source_from(self.random_state))

    def _train(
        self, X: Any, targets: Array, loss: Loss, outputs: int, assumptions: tuple[str, ...], begun: Begun, own: Counted
    ) -> None:
        """The fit of rows in memory, once they are numbers."""
        clip, intercept = self._design()

        def late() -> tuple[Records, int]:
            columns, rows, shares = X.shape[1], X, own.shares
            if begun.rows is not None:
                # Events must not depend on what was just released: the width stays the one that they were priced with.
                filled = begun.rows()
                columns = filled.shape[1]
                rows = np.hstack([filled, np.zeros((len(filled), X.shape[1] - columns))])
            if begun.weights is not None:
                shares = own.times(begun.weights()).shares
            return Records.build(rows, targets, clip, intercept, shares), columns

        records = Records.build(X, targets, clip, intercept, own.shares)
        waits = begun.rows is not None or begun.weights is not None
        self._run(
            records, loss, outputs, (*own.words, *begun.assumptions, *assumptions), begun, late if waits else None
        )

    def _design(self) -> tuple[float, float]:
        """The norm that rows are clipped to, and the intercept's constant."""
        clip = float(self.clip)
        return clip, INTERCEPT * clip if self.fit_intercept else 0.0

    def _run(
        self,
        records: Held,
        loss: Loss,
        outputs: int,
        assumptions: tuple[str, ...],
        begun: Begun,
        late: Callable[[], tuple[Held, int]] | None = None,
    ) -> None:
        """Choose, prepare, spend, run, build: the whole fit, wherever the records are.

        ``late`` releases what the budget counts as spent, and gives the records to train on, and how many of their
        columns are not just zeros.
        """
        watch(self, remembered(self))
        budget, source = begun.budget, begun.source
        problem = Problem(records, plain_numbers(loss), outputs)
        chosen = choose_method(self._method(), budget, problem.facts, self.calibration, self.precondition)
        problem = replace(problem, loss=self._tuned(problem, chosen))
        said = (clipped_rows(problem.facts), *assumptions)
        prepared = prepare(
            problem.facts, chosen, seeded=source.seeded, regularization=self._regularization(problem, chosen),
            calibration=self.calibration, assumptions=said,
        )  # fmt: skip
        if records.weighted and prepared.plan.theorem not in PEOPLE:
            refuse(
                "This method uses every row as it is, but these rows have weights. Use method='auto', without "
                "inference."
            )
        if prepared.plan.theorem in BY_ROW:
            in_memory(records)
        check_together(self._paid(), "the model", prepared.guarantee)
        charge(prepared, self.ledger, f"{type(self).__name__}, {prepared.guarantee.method}")
        width = columns = problem.facts.features - problem.facts.intercept
        if late is not None:
            self._spend(prepared)  # counts are released before the model is
            records, columns = late()
            problem = replace(problem, records=records)
        found = train(prepared, problem, source, self._spend, charged=True)
        solution = _without(found, slice(columns, width))
        self._keep(solution)
        self.build(solution.weights, columns, records.intercept, prepared)
        note_fit(problem.records.count, picked(problem, found.weights) if hasattr(self, "classes_") else ())

    def _fit_stream(self, asked: Asked) -> Self:
        """The fit to rows that are read again in every pass."""
        self._forget()
        remember(self, (*of_rows(asked.scan.source), *of_schema(asked.scan.schema)))
        records = self._streamed(asked, self._answer(asked))
        return self._fit_records(asked, records, self._begin(records.count))

    def _answer(self, asked: Asked) -> LabelCodes | ScaledTargets:
        """How the targets of a stream are read."""
        raise NotImplementedError

    def _fit_records(
        self, asked: Asked, records: Streamed, begun: Begun, schema: Callable[[], Schema] | None = None
    ) -> Self:
        """The fit to a stream, as far as it has not begun; ``schema`` releases what decides on its columns."""
        raise NotImplementedError

    def _streamed(self, asked: Asked, answer: LabelCodes | ScaledTargets) -> Streamed:
        """The records of a fit that are read again in every pass, under the names that their columns have."""
        if asked.scan.schema is not None:
            asked.scan.schema.check_beside(asked.person, asked.weight)
        self.__dict__.pop("feature_names_in_", None)
        if asked.feature_names is not None:
            self.feature_names_in_ = np.array(asked.feature_names, dtype=object)
        note_scan(asked.scan)
        return asked.records(answer, *self._design(), self.rows_per_person, self.weight_bound)

    def _run_stream(
        self,
        records: Streamed,
        loss: Loss,
        outputs: int,
        assumptions: tuple[str, ...],
        begun: Begun,
        schema: Callable[[], Schema] | None = None,
        factors: Callable[[], Array] | None = None,
    ) -> None:
        """The fit of a stream; ``schema`` and ``factors`` release what decides on columns and weights of classes."""
        late = later(records, schema, factors)
        self._run(held(records) if late is None else records, loss, outputs, assumptions, begun, late)

    def _counted(self, groups: Any, sample_weight: Any, rows: int) -> Counted:
        """Whose rows count, and how much."""
        return counted(groups, sample_weight, rows, self.rows_per_person, self.weight_bound)

    def _paid(self) -> tuple[Earlier, ...]:
        """What was paid for before this fit."""
        return remembered(self)

    def _method(self) -> str | Mechanism:
        """What trains, as far as it is asked for."""
        return self.method

    def _regularization(self, problem: Problem, chosen: Chosen) -> float | None:
        """Lambda of the mean objective, or None: chosen with the noise."""
        return None if self.regularization is None else float(self.regularization)

    def _keep(self, solution: Solution) -> None:
        """What the run gave beside the weights."""
        extras = {f"{extra}_": value for extra, value in solution.extras.items()}
        self.__dict__.update(extras, **({"_extras": tuple(extras)} if extras else {}))

    def check_settings(self) -> None:
        """Raise where what predictions need, of a model that was read from a file, is not what a fit would have."""

    def _tuned(self, problem: Problem, chosen: Chosen) -> Loss:
        """The loss as the chosen method likes it."""
        return problem.loss

    def build(self, weights: Array, columns: int, constant: float, prepared: Prepared) -> None:
        """The one builder of fitted models: design weights, whoever trained them, become what predictions need."""
        offset = constant * weights[columns] if constant else np.zeros(weights.shape[1])
        self.coef_, self.intercept_ = self._unscaled(np.asarray(weights[:columns].T), offset)
        self.n_features_in_ = columns
        self._state(prepared)

    def _spend(self, prepared: Prepared) -> None:
        """The guarantees stand before the result exists; what an earlier fit left goes."""
        for name in ("record_guarantee_", *self.__dict__.pop("_extras", ())):
            self.__dict__.pop(name, None)
        self._state(prepared)

    def _state(self, prepared: Prepared) -> None:
        self.guarantee_ = prepared.guarantee
        if prepared.record_guarantee is not None:
            self.record_guarantee_ = prepared.record_guarantee

    def _unscaled(self, coefficients: Array, offset: Array) -> tuple[Any, Any]:
        """Coefficients and intercept in the units of the target."""
        return coefficients, offset

    def _records(self, X: Any, y: Any) -> Any:
        """The records of a new fit. An earlier model goes first: a fit that ends early leaves none, only what it spent.

        Otherwise the old coefficients would stand beside the new guarantee.
        """
        self._forget()
        remember(self, (*of_rows(X), *of_rows(y)))
        return self._validated(X, y)

    def _forget(self) -> None:
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)
        remember(self, ())

    def _validated(self, X: Any, *y: Any) -> Any:
        """Canonical rows, and y, after scikit-learn's checks of names, sizes and finite numbers.

        Its sentences that quote cells, or give no help here, are replaced.
        """
        matrix = canonical(X)
        check_names(X)
        validate_data(self, X, y="no_validation", reset=bool(y), skip_check_array=True)
        try:
            if not y:
                return check_array(matrix, estimator=self, input_name="X", **_ROWS)
            return check_X_y(matrix, column(y[0]), estimator=self, **_ROWS)
        except ValueError as error:
            sentence = next((own for part, own in _SENTENCES.items() if part in str(error)), None)
            if sentence is None:
                raise
        raise ValueError(sentence)

    def _scores(self, X: Any) -> Array:
        """The linear predictor, of rows clipped as in training."""
        check_is_fitted(self, "coef_")
        scores = clipped_scores(self._validated(X), float(self.clip), self.coef_.T)
        scores += self.intercept_
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
