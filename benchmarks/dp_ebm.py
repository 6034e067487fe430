"""DP-EBM, the private boosted additive model of interpret-core, with the schema's public facts.

Its promise (Nori et al., ICML 2021): (epsilon, delta) under add-remove, a tenth of epsilon and half of delta for the
bins of the columns, the rest for the boosting, each a composition of Gaussian mechanisms and the two added up. It is
therefore comparable with add-remove rows at the same epsilon and delta. It takes the number of records as public, and
the list of categories from the records: here they are the schema's numbers, so it sees which of them occur.
"""

import contextlib
import warnings
from collections.abc import Iterator

from tacit.schema import Schema


def make(schema: Schema, epsilon: float, delta: float, seed: int) -> object:
    """The classifier at its defaults; types and bounds of the columns are declared, so that it looks at neither.

    Bounds of the target (``privacy_target_min``) are the regressor's alone.
    """
    from interpret.privacy import DPExplainableBoostingClassifier

    return DPExplainableBoostingClassifier(
        feature_names=[column.name for column in schema.columns],
        feature_types=["continuous" if column.numeric else "nominal" for column in schema.columns],
        privacy_bounds={column.name: (column.lower, column.upper) for column in schema.columns if column.numeric},
        epsilon=epsilon, delta=delta, random_state=seed, n_jobs=1,
    )  # fmt: skip


@contextlib.contextmanager
def one_warning_expected() -> Iterator[None]:
    """That the seed is fixed. Another warning says that it looks at the records beyond its promise: an error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Privacy violation: using a fixed random_state")
        yield
