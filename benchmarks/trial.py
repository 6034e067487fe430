"""One row of a table: the same model fitted once a seed, its score and its time."""

import time
from collections.abc import Callable

import numpy as np
from data import split

from tacit.checks import PrivacyError

SLOW, FEW = 3.0, 3


def trial(name: str, seeds: int, make: Callable[[int], object], **facts) -> dict:
    """Mean and deviation of the test accuracy over seeds; fits of more than SLOW CPU seconds get FEW seeds."""
    row = {"data": name, "asked": seeds, **facts}
    scores, times = [], []
    while len(scores) < (min(seeds, FEW) if times and min(times) > SLOW else seeds):
        train, test = split(name, len(scores))
        start = time.process_time()
        try:
            model = make(len(scores)).fit(*train)
        except PrivacyError as refusal:
            return row | {"note": "refused", "why": str(refusal)}
        except Exception as error:  # one failure is a cell of the table, not the end of the run
            return row | {"note": "failed", "why": f"{type(error).__name__}: {error}"}
        times.append(time.process_time() - start)
        scores.append(float(model.score(*test)))
    guarantee = getattr(model, "guarantee_", None)
    chosen = {"chosen": guarantee.method, "status": guarantee.status} if guarantee else {}
    return row | chosen | {
        "mean": float(np.mean(scores)),
        "std": float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0,
        "seeds": len(scores),
        "scores": scores,
        "seconds": float(np.median(times)),
        "records": len(train[0]),
        "features": int(train[0].shape[1]),
    }  # fmt: skip
