"""Run by another Python, with diffprivlib: fit its logistic regression on the matrices of a file, write predictions.

python apart_worker.py in.npz out.npz '{"epsilon": 1.0, "seed": 0, "strengths": [1.0]}'
"""

import json
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # that it stopped after max_iter, and that its seed is fixed
    source, target, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    with np.load(source) as given:
        X, y, X_test = given["X"], given["y"], given["X_test"]
    seconds, positive = [], []
    for C in settings["strengths"]:
        model = LogisticRegression(
            epsilon=settings["epsilon"], data_norm=1.0, C=C, max_iter=1000, random_state=settings["seed"]
        )
        start = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - start)
        positive.append(model.predict_proba(X_test)[:, 1])
    np.savez(target, seconds=seconds, positive=np.array(positive))
