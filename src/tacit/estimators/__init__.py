"""The scikit-learn face of linear models. Every name here is a name of ``tacit``."""

from tacit.estimators import additive, classification, regression
from tacit.estimators.additive import *  # noqa: F403
from tacit.estimators.classification import *  # noqa: F403
from tacit.estimators.regression import *  # noqa: F403

__all__ = [*classification.__all__, *regression.__all__, *additive.__all__]  # noqa: PLE0604
