"""Who takes part: Tacit's models at their defaults, peers at their best on the test set, and models without privacy."""

import hashlib
import importlib.metadata
import importlib.util
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apart
import dp_ebm
import dp_sgd
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression as PlainLogistic
from tasks import Records

import tacit
from tacit.schema import Schema

ADJACENCIES = ("replace-one", "add-remove")
DELTA = 1e-5


@dataclass(frozen=True)
class Ask:
    """What a fit has to promise, and the seed of everything random in it."""

    epsilon: float
    adjacency: str
    seed: int
    delta: float = DELTA


@dataclass(frozen=True)
class Fit:
    """What one setting gave: predicted labels of the test records, the probability of label 1, CPU seconds."""

    chosen: str
    seconds: float
    labels: np.ndarray
    positive: np.ndarray


Fits = Callable[[Records, Records, Ask], list[Fit]]


@dataclass(frozen=True)
class Model:
    """How to fit, one result a setting; of several settings the best on the test set counts, which flatters it."""

    fits: Fits
    adjacencies: tuple[str, ...]
    absent: Callable[[], str] = lambda: ""
    """Why it cannot be measured here; nothing where it can."""
    made_of: tuple[str, ...] = ()
    """Packages that fit it; none: this one."""

    @property
    def private(self) -> bool:
        """Whether it promises anything."""
        return self.adjacencies != ("none",)


def timed(model: object, X: object, y: np.ndarray, X_test: object) -> Fit:
    """Fit, with its time, and predict."""
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    guarantee = getattr(model, "guarantee_", None)
    chosen = guarantee.method if guarantee is not None else ""
    return Fit(chosen, seconds, np.asarray(model.predict(X_test)), np.asarray(model.predict_proba(X_test))[:, 1])


def _on(form: str, model: object, train: Records, test: Records) -> list[Fit]:
    return [timed(model, train.form(form), train.labels, test.form(form))]


def _ours(ask: Ask) -> dict:
    return {"epsilon": ask.epsilon, "delta": ask.delta, "adjacency": ask.adjacency, "random_state": ask.seed}


def _linear(train: Records, test: Records, ask: Ask) -> list[Fit]:
    return _on("rows", tacit.LogisticRegression(classes=(0, 1), **_ours(ask)), train, test)


def _additive(train: Records, test: Records, ask: Ask) -> list[Fit]:
    """From the table itself, so that its time has the encoding in it."""
    return [timed(tacit.AdditiveClassifier(schema=train.schema, **_ours(ask)), train.table, train.labels, test.table)]


def _network(train: Records, test: Records, ask: Ask) -> list[Fit]:
    return _on("unit", tacit.MLPClassifier(classes=(0, 1), bounds=(0.0, 1.0), **_ours(ask)), train, test)


def _ebm(train: Records, test: Records, ask: Ask) -> list[Fit]:
    with dp_ebm.one_warning_expected():
        return _on("columns", dp_ebm.make(train.schema, ask.epsilon, ask.delta, ask.seed), train, test)


def _opacus_on(form: str) -> Fits:
    def fits(train: Records, test: Records, ask: Ask) -> list[Fit]:
        rows, tests = train.form(form), test.form(form)
        found = dp_sgd.fits(rows, train.labels, tests, ask.epsilon, ask.delta, ask.seed)
        return [Fit(f"step {step:g}", seconds, positive > 0.5, positive) for step, seconds, positive in found]

    return fits


def _diffprivlib(train: Records, test: Records, ask: Ask) -> list[Fit]:
    found = apart.fits(train.form("rows"), train.labels, test.form("rows"), ask.epsilon, ask.seed)
    return [Fit(f"C={C:g}", seconds, positive > 0.5, positive) for C, seconds, positive in found]


def _plain(train: Records, test: Records, ask: Ask) -> list[Fit]:
    del ask
    return _on("rows", PlainLogistic(C=100.0, max_iter=2000), train, test)


def _boosting(interactions: str | None) -> Fits:
    def fits(train: Records, test: Records, ask: Ask) -> list[Fit]:
        named = [place for place, column in enumerate(train.schema.columns) if not column.numeric]
        model = HistGradientBoostingClassifier(
            categorical_features=named or None, interaction_cst=interactions, random_state=ask.seed
        )
        return _on("columns", model, train, test)

    return fits


def _lacks(owner: object, name: str) -> Callable[[], str]:
    return lambda: "" if hasattr(owner, name) else f"{owner.__name__} has no {name}"


def _needs(module: str) -> Callable[[], str]:
    return lambda: "" if importlib.util.find_spec(module) else f"{module} is not installed"


_NONE = ("none",)
MODELS = {
    "linear": Model(_linear, ADJACENCIES),
    "additive": Model(_additive, ADJACENCIES, _lacks(tacit, "AdditiveClassifier")),
    "network": Model(_network, ADJACENCIES, _needs("torch")),
    "DP-EBM": Model(_ebm, ("add-remove",), _needs("interpret"), ("interpret-core",)),
    "Opacus": Model(_opacus_on("rows"), ("add-remove",), _needs("opacus"), ("opacus", "torch")),
    "Opacus bins": Model(
        _opacus_on("binned"), ("add-remove",), lambda: _needs("opacus")() or _lacks(Schema, "additive")(), ("opacus",)
    ),
    "diffprivlib": Model(_diffprivlib, ("replace-one",), apart.why_not, apart.PINS),
    "scikit-learn linear": Model(_plain, _NONE, made_of=("scikit-learn",)),
    "scikit-learn additive": Model(_boosting("no_interactions"), _NONE, made_of=("scikit-learn",)),
    "scikit-learn boosting": Model(_boosting(None), _NONE, made_of=("scikit-learn",)),
}


def stamp(model: str) -> str:
    """What a row was measured with, in a few letters: a row of other code is measured again, and never shown as new."""
    entry, here = MODELS[model], Path(__file__).parent
    files = [here / "tasks.py", here / "scores.py"]
    if entry.made_of:
        files += [here / f"{name}.py" for name in ("dp_ebm", "dp_sgd", "apart", "apart_worker")]
    else:
        files += sorted(Path(tacit.__file__).parent.rglob("*.py"))
    words = "".join(map(_version, entry.made_of)) + inspect.getsource(entry.fits)
    return hashlib.sha256(b"".join([words.encode(), *(file.read_bytes() for file in files)])).hexdigest()[:12]


def _version(package: str) -> str:
    return package if "==" in package else f"{package}=={importlib.metadata.version(package)}"
