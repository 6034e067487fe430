"""How good predicted labels and probabilities are: accuracy, area under the curve, recall, log loss."""

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_auc_score

PRECISION = 0.8
CLOSEST = 1e-6
"""Probabilities stay this far from 0 and 1 in the log loss, so that one sure mistake costs 13.8 and not infinity."""
METRICS = ("accuracy", "auc", "recall", "log_loss")


def scores(truth: np.ndarray, labels: np.ndarray, positive: np.ndarray) -> dict[str, float]:
    """All metrics of predictions against labels 0 and 1; ``positive`` is the probability of 1."""
    if not np.isfinite(positive).all():
        raise ValueError("A predicted probability is not a number.")
    return {
        "accuracy": float(np.mean(labels == truth)),
        "auc": float(roc_auc_score(truth, positive)),
        "recall": recall_at(truth, positive),
        "log_loss": log_loss(truth, positive),
    }


def recall_at(truth: np.ndarray, positive: np.ndarray, precision: float = PRECISION) -> float:
    """The largest recall among thresholds whose precision is at least ``precision``; 0 where there is none.

    Thresholds are those that the test records give, so this is the best that a user could pick, not a promise.
    """
    precisions, recalls, _ = precision_recall_curve(truth, positive)
    return float(recalls[precisions >= precision].max())  # the curve ends at precision 1, recall 0


def log_loss(truth: np.ndarray, positive: np.ndarray, closest: float = CLOSEST) -> float:
    """Mean of -log p(label), probabilities clipped to [closest, 1 - closest]."""
    inside = np.clip(positive, closest, 1 - closest)
    return float(-np.mean(np.where(truth == 1, np.log(inside), np.log1p(-inside))))
