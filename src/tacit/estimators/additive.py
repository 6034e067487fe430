"""Additive models: one curve per column, trained privately, on tables whose bounds are declared.

Each number becomes bins or hat functions, each category its slots, pairs of columns their products; a linear model of
these is the sum of one curve per column (Hastie and Tibshirani 1986). The encoding is linear in the slots and scaled by
one public constant, so the terms add up to the score, but for the last of the 24 digits that rows have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.checks import check, check_count, refuse
from tacit.data.canonical import column
from tacit.data.cells import column_or_given, columns_of
from tacit.estimators import terms
from tacit.estimators.base import Begun, PrivateLinear
from tacit.estimators.choosing import interaction, recut, strongest
from tacit.estimators.classification import LogisticRegression, label_codes, plain_labels
from tacit.estimators.counted import Counted
from tacit.estimators.earlier import Earlier, of_rows, of_schema, remember
from tacit.estimators.regression import LinearRegression, target_numbers
from tacit.estimators.streamed_counts import SurveyCells, answer_cells, streamed_counts
from tacit.estimators.streaming import Asked
from tacit.estimators.survey import ANSWERS, QUARTERS, Survey, asked_pairs, number_cells, with_curves, with_pairs
from tacit.estimators.tabled import with_names
from tacit.estimators.terms import Term
from tacit.linear.problem import Problem
from tacit.linear.streamed import Streamed
from tacit.mechanisms import Chosen, defaults
from tacit.mechanisms.counts import Cells, CountsPlan, calibrate_counts
from tacit.privacy import accounting
from tacit.privacy.theorems import COUNTED, THEOREMS
from tacit.schema import Schema, Target
from tacit.settings import described
from tacit.streams.reader import SchemaRows
from tacit.streams.scanned import is_stream
from tacit.training import state, train
from tacit.types import Array, Solution

__all__ = ["AdditiveClassifier", "AdditiveRegressor", "Term"]

METHODS_COUNTED = tuple(method for name in COUNTED for method in THEOREMS[name].methods)
"""Names of methods that may train after counts were released."""
_NO_SCHEMA = (
    "An additive model needs schema=: a tacit.Schema, a dict or a file that declares bounds of numbers and values of "
    "categories. They are public facts, and are never taken from the records."
)


@dataclass(eq=False, repr=False)
class Additive(PrivateLinear):
    """What both additive models share: tables in, a survey where one is asked for, terms out."""

    _: KW_ONLY
    schema: Any = None
    kind: Literal["knots", "bins"] = "knots"
    slots: int | None = None
    cuts: Literal["auto", "even", "log", "round", "private"] = "auto"
    pairs: Any = ()
    fitted: ClassVar[tuple[str, ...]] = ("schema_", "slot_weights_", "slot_errors_")
    _inferable: ClassVar[bool] = False

    def _finish(self, rows: Array, targets: Any, declared: bool, begun: Begun, own: Counted) -> Self:
        """Train on encoded rows; ``declared``: what the schema declares about its target holds for these targets."""
        raise NotImplementedError

    def _answers(self, targets: Any, declared: bool) -> tuple[Cells, int]:
        """Each record's cell of the target, and how many there are."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Train privately on a table: a data frame, or a dict of columns. Without y the schema names the target.

        What the schema declares about its target also holds for a y that is given as labels or numbers, unless
        ``classes`` or ``target_bound`` declare something else.
        ``groups`` and ``sample_weight`` as in :meth:`LogisticRegression.fit`. All three may be names of columns of the
        table; of a :func:`tacit.scan`, or of files, they must be.
        """
        self._check_declared()
        declared = self.declared()
        if is_stream(X) and not isinstance(X, np.ndarray):
            return self._fit_stream(Asked.of(X, y, groups, sample_weight, declared))
        table, own_target = with_names(X, declared), True
        if isinstance(y, str):
            check(y not in declared.names, f"{y!r} cannot be predicted from itself: the schema has it as a column.")
            own_target = declared.target is not None and y == declared.target.name
            y = None if own_target else column_or_given(table, y)
        elif y is not None:
            own_target = self._fits(declared.target)
        declared = declared if own_target else self._untargeted(declared)
        declared.check_beside(*(getattr(given, "name", given) for given in (groups, sample_weight)))
        groups, sample_weight = column_or_given(table, groups), column_or_given(table, sample_weight)
        targets = declared.encode_target(table) if y is None else column(y)
        cells = dict(zip(declared.names, columns_of(table, declared.names), strict=True))
        records = len(cells[declared.names[0]])
        check(records >= 1, "Expected a table with at least one row.")
        check(
            np.ndim(targets) >= 1, f"Expected y to be a list, an array or a column of a table, not {type(y).__name__}."
        )
        check(len(targets) == records, f"Expected as many targets as the table has rows: {len(targets)}, {records}.")
        self._clear(X, targets)
        own = self._counted(groups, sample_weight, records)
        cells, targets = {name: own.pick(values) for name, values in cells.items()}, own.pick(np.asarray(targets))
        own = replace(own, placed=True)
        wanted = asked_pairs(declared, self.pairs)[0]
        codes, answers = self._answers(targets, own_target) if wanted else (np.zeros(len(targets), dtype=np.intp), 1)

        def counts(survey: Survey) -> Array:
            return survey.tables().count(survey.cells(cells, declared.missing, codes), own.shares.weights)

        schema, begun, chosen = self._expanded(declared, answers, self._begin(own.count), own, counts)
        if chosen is None:
            self.schema_ = schema
            return self._finish(schema.encode(cells, float(self.clip)), targets, own_target, begun, own)
        begun = begun._replace(rows=lambda: chosen().encode(cells, float(self.clip)))
        # Only their number and width count until the survey is made.
        return self._finish(np.zeros((len(targets), schema.width)), targets, own_target, begun, own)

    def _fit_stream(self, asked: Asked) -> Self:
        """The fit to a table that is read again in every pass: first for the survey, where one is asked for."""
        self._clear(asked.scan.source)
        declared = self.declared() if asked.goal is not None else self._untargeted(self.declared())
        answer = self._answer(asked)
        records = self._streamed(asked, answer)
        cells, answers = answer_cells(answer) if asked_pairs(declared, self.pairs)[0] else (None, 1)
        reader = records.changed.reader

        def counts(survey: Survey) -> Array:
            encode = SurveyCells(survey, declared.names, declared.missing, cells)
            return streamed_counts(records, replace(reader, encode=encode), survey.tables())

        schema, begun, chosen = self._expanded(declared, answers, self._begin(records.count), records, counts)
        if chosen is None:
            self.schema_ = schema
        wide = replace(reader, encode=SchemaRows(schema, reader.clip), features=schema.width)
        return self._fit_records(asked, records.read_by(wide), begun, chosen)

    def _fits(self, target: Target | None) -> bool:
        """Whether what the schema declares about its target is not contradicted by the model's own settings."""
        return True

    def _untargeted(self, schema: Schema) -> Schema:
        """The schema of a model of some other column than its target."""
        return replace(schema, target=None)

    def _clear(self, rows: Any, targets: Any = None) -> None:
        """An earlier model goes, and a new one of these rows begins."""
        self._forget()
        remember(self, (*of_rows(rows), *of_rows(targets)))
        for name in self.fitted:
            self.__dict__.pop(name, None)

    def declared(self) -> Schema:
        """The schema as it was declared."""
        check(self.schema is not None, _NO_SCHEMA)
        return Schema.of(self.schema)

    def _expanded(
        self,
        declared: Schema,
        answers: int,
        begun: Begun,
        own: Counted | Streamed,
        counts: Callable[[Survey], Array],
    ) -> tuple[Schema, Begun, Callable[[], Schema] | None]:
        """The schema with curves and pairs: by public facts; and where a survey is to decide, the widest it can choose.

        Everything is prepared with that, so that no event depends on the counts. What is returned last, if anything,
        then makes the survey, and gives the schema. Rows are scaled by one constant, so that the terms add up to the
        score.
        """
        check(
            self.precondition in ("auto", True, False),
            f"Expected precondition={self.precondition!r} to be 'auto', True or False: curves have no runs of columns.",
        )
        if self.slots is not None:
            check(2 <= check_count("slots", self.slots) <= 1000, f"Expected slots={self.slots} to be from 2 to 1000.")
        sizes = begun.budget, own.count, len(declared.columns)
        private = self.cuts == "private" or (self.cuts == "auto" and self._countable and defaults.counts_first(*sizes))
        wanted, named = asked_pairs(declared, self.pairs)
        schema = replace(with_curves(declared, self.slots, defaults.slots(*sizes), self.kind, self.cuts), layout="box")
        survey = Survey.of(declared, cuts=private, contest=wanted > 0, answers=answers)
        most = len(survey.rivals)
        check(wanted <= most, f"Expected pairs={wanted} to be at most {most}, the number of pairs that there are.")
        plain = with_pairs(schema, named, self.kind)
        if not survey.sizes:
            return plain, begun, None
        plan, words = self._planned(survey, begun)
        widths = [with_pairs(schema, (*named, rival), self.kind).width for rival in survey.rivals]
        widest = sorted(range(most), key=widths.__getitem__)[most - wanted :] if wanted else []
        broad = with_pairs(schema, (*named, *(survey.rivals[place] for place in widest)), self.kind)

        def chosen() -> Schema:
            found, deviations = self._surveyed(survey, counts, plan, begun, own)
            numbers = len(survey.grids)
            cut = recut(schema, survey.grids, found[:numbers])
            scores = [
                interaction(table.reshape(shape), deviation)
                for table, shape, deviation in zip(found[numbers:], survey.shapes, deviations[numbers:], strict=True)
            ]
            best = tuple(survey.rivals[place] for place in strongest(scores, wanted))
            self.schema_ = with_pairs(cut, (*named, *best), self.kind)
            return self.schema_

        spent = replace(begun.budget, spent=plan.events)
        return broad, Begun(spent, begun.source, (*begun.assumptions, *words)), chosen

    def _paid(self) -> tuple[Earlier, ...]:
        return (*of_schema(self.declared()), *super()._paid())

    @property
    def _countable(self) -> bool:
        """Whether the method that trains has a proof for what comes after counts."""
        method = self.method if isinstance(self.method, str) else type(self.method).__name__
        return self.calibration == "proven" and method in ("auto", *METHODS_COUNTED)

    def _planned(self, survey: Survey, begun: Begun) -> tuple[CountsPlan, tuple[str, ...]]:
        """The survey's noise, and what it assumes."""
        if not self._countable:
            refuse(
                "A survey of counts can only be used with calibration='proven' and the methods auto, "
                f"{', '.join(METHODS_COUNTED)}. Use one of these, or cuts that are public and pairs that are named."
            )
        share = defaults.SURVEY * bool(survey.grids) + defaults.CONTEST * bool(survey.rivals)
        plan = calibrate_counts(survey.tables(), begun.budget, share)
        return plan, plan.assumptions

    def _surveyed(
        self,
        survey: Survey,
        counts: Callable[[Survey], Array],
        plan: CountsPlan,
        begun: Begun,
        own: Counted | Streamed,
    ) -> tuple[list[Array], list[float]]:
        """State, spend, release the counts; what is trained afterwards is priced together with them."""
        budget, tables = begun.budget, survey.tables()
        price = accounting.epsilon(plan.events, budget.delta, budget.adjacency) if plan.events else math.inf
        alone = replace(budget, epsilon=max(price, 1e-9 * min(budget.epsilon, 1.0)))
        prepared = state(
            plan, own.count, alone, method="counts", seeded=begun.source.seeded, rows_per_person=own.rows_per_person
        )
        released = train(prepared, counts(survey), begun.source, self._spend, charged=True).weights
        return tables.counts(released), [plan.scale / weight for weight in tables.weights]

    def _regularization(self, problem: Problem, chosen: Chosen) -> float | None:
        if self.regularization is not None or chosen.name not in ("objective", "whitened-objective"):
            return self.regularization
        return defaults.additive_strength(chosen.budget, problem.facts) / problem.facts.records

    def _keep(self, solution: Solution) -> None:
        super()._keep(solution)
        spread = None if solution.spread is None else solution.spread()
        self.slot_weights_ = terms.centring(self.schema_, None if spread is None else spread.masses)
        self.slot_errors_ = terms.deviations(
            self.schema_, self.slot_weights_, spread, self._slot, len(solution.weights)
        )

    @property
    def _slot(self) -> float:
        """The entry of a filled slot in an encoded row."""
        return float(self.clip) / self.schema_.radius

    def _unit(self) -> float:
        """What one unit of a design score is in the units of the model's scores."""
        return 1.0

    @property
    def terms_(self) -> tuple[Term, ...]:
        """The curve of each column, then of each pair: what it adds to the score, with an interval for the noise."""
        check_is_fitted(self, "coef_")
        values = self._slot * np.atleast_2d(self.coef_)
        errors = None if self.slot_errors_ is None else self._unit() * self.slot_errors_
        classes = self.classes_ if len(values) > 1 else None
        return terms.terms_of(self.schema_, values, self.slot_weights_, errors, classes)

    @property
    def offset_(self) -> Any:
        """The score of a record all of whose terms are 0: one number, or with several classes one for each."""
        check_is_fitted(self, "coef_")
        values = self._slot * np.atleast_2d(self.coef_)
        offsets = np.atleast_1d(self.intercept_) + values @ self.slot_weights_
        return float(offsets[0]) if len(offsets) == 1 else offsets

    def plot_terms(self) -> Any:
        """A matplotlib figure with a small picture of each term; needs the extra ``plot``."""
        from tacit.estimators.drawing import draw_terms  # matplotlib is an extra

        return draw_terms(self.terms_)

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self, "coef_")
        return super()._scores(self.schema_.encode(with_names(X, self.schema_), float(self.clip)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """As scikit-learn's; without y, on the target that the schema names."""
        check_is_fitted(self, "coef_")
        targets = self.schema_.encode_target(X) if y is None else y
        return float(super().score(X, targets, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


@described
@dataclass(eq=False, repr=False)
class AdditiveClassifier(Additive, LogisticRegression):
    """Differentially private additive logistic regression, on tables, for two or more classes.

    Attributes
    ----------
    terms_ : tuple of Term
        The curves, one for each column and pair; they and ``offset_`` add up to the score.
    offset_ : float or array
        What is added to the terms.
    schema_ : Schema
        The schema with the curves and pairs that were used.
    classes_ : array
        The labels, sorted.
    guarantee_ : Guarantee
        What the fit cost, and why.
    """

    def _finish(self, rows: Array, targets: Any, declared: bool, begun: Begun, own: Counted) -> Self:
        X, y = self._validated(rows, targets)
        self._fit(X, y, self._classes(declared), own, begun)
        return self._settled()

    def _fit_records(self, *arguments: Any) -> Self:  # as of a logistic regression
        super()._fit_records(*arguments)
        return self._settled()

    def _settled(self) -> Self:
        target = self.schema_.target
        if target is not None and set(target.classes or ()) != set(self.classes_.tolist()):
            self.schema_ = replace(self.schema_, target=None)  # classes= declares something else than the schema does
        return self

    def _classes(self, declared: bool) -> Any:
        target = self.declared().target
        own = None if target is None or not declared else target.classes
        return self.classes if self.classes is not None or own is None else list(own)

    def _answers(self, targets: Any, declared: bool) -> tuple[Cells, int]:
        known, codes, _ = label_codes(plain_labels(targets), self._classes(declared))
        answers = min(len(known), ANSWERS)
        return np.minimum(codes, answers - 1).astype(np.intp), answers


@described
@dataclass(eq=False, repr=False)
class AdditiveRegressor(Additive, LinearRegression):
    """Differentially private additive regression, on tables.

    Parameters
    ----------
    target_bound : float, pair of floats or None
        B for targets within [-B, B], or the pair (lower, upper), a public range. None: the bounds of the schema's
        target.
    """

    def _finish(self, rows: Array, targets: Any, declared: bool, begun: Begun, own: Counted) -> Self:
        X, y = self._validated(rows, targets)
        return self._fit(X, y, own, begun)

    def _range(self) -> tuple[float, float]:
        if self.target_bound is not None:
            return super()._range()
        target = (vars(self).get("schema_") or self.declared()).target
        if target is None or target.lower is None or target.upper is None:
            raise ValueError("Declare the range of the targets: bounds of the schema's target, or target_bound=.")
        return float(target.lower), float(target.upper)

    def _fits(self, target: Target | None) -> bool:
        declared = None if target is None else (target.lower, target.upper)
        return self.target_bound is None or self._range() == declared

    def _untargeted(self, schema: Schema) -> Schema:
        check(self.target_bound is not None, "The schema says nothing about this column's range: use target_bound=.")
        return super()._untargeted(schema)

    def _unit(self) -> float:
        return self._units()[1]

    def _answers(self, targets: Any, declared: bool) -> tuple[Cells, int]:
        low, high = self._range()
        return number_cells(target_numbers(targets), low, high), QUARTERS
