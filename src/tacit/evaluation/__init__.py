"""How good a model is, on records that are private too: every score is charged and has an interval."""

from tacit.evaluation.evaluate import evaluate
from tacit.evaluation.scores import Evaluation, Score

__all__ = ["Evaluation", "Score", "evaluate"]
