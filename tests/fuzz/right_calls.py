"""How every public name is called rightly, on a tiny table: the fuzzer then makes one argument, or two, wrong."""

from __future__ import annotations

import importlib
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from fuzz.public_names import Subject

import tacit
from tacit import LogisticRegression, Schema, mechanisms, published, statistics
from tacit.types import Adjacency, Facts

RNG = np.random.default_rng(18)
ROWS, COLUMNS = 24, 3
X = RNG.uniform(-1, 1, size=(ROWS, COLUMNS))
LABELS = np.arange(ROWS) % 2
NUMBERS = np.clip(X[:, 0], -1, 1)
IMAGES = RNG.uniform(0, 1, size=(6, 16, 16))
PEOPLE = np.arange(ROWS) // 2
ENTRIES = {
    "columns": {"a": {"lower": -1, "upper": 1}, "b": {"values": ["x", "y"]}},
    "target": {"name": "t", "classes": ["no", "yes"]},
}
SCHEMA = Schema.from_dict(ENTRIES)
TABLE = {"a": X[:, 0], "r": X[:, 1], "b": np.where(X[:, 1] > 0, "x", "y"), "t": np.where(LABELS > 0, "yes", "no")}
BUDGET = tacit.Budget(1.0, 1e-5)


def _labels(model):
    return model.fit(X, LABELS).predict(X)


def _numbers(model):
    return model.fit(X, NUMBERS).predict(X)


def _images(model):
    return model.fit(IMAGES, LABELS[:6]).predict(IMAGES)


def _table(model):
    return model.fit(TABLE).predict(TABLE)


def _method(mechanism):
    return LogisticRegression(1.0, delta=1e-5, classes=[0, 1], method=mechanism).fit(X, LABELS)


def _squared(mechanism):
    return tacit.LinearRegression(1.0, delta=1e-5, target_bound=1.0, method=mechanism).fit(X, NUMBERS)


def _published(mechanism):
    return LogisticRegression(
        1.0, delta=1e-3, classes=[0, 1], method=mechanism, calibration="paper", regularization=0.1
    ).fit(X, LABELS)


def estimators() -> Iterator[Subject]:
    """Constructors that store, and ``fit`` that checks."""
    classes = {"classes": [0, 1], "random_state": 1}
    yield Subject("LogisticRegression", tacit.LogisticRegression, classes, _labels)
    yield Subject("LinearSVC", tacit.LinearSVC, classes, _labels)
    for name in ("LinearRegression", "PoissonRegressor", "QuantileRegressor"):
        yield Subject(name, getattr(tacit, name), {"target_bound": 1.0, "random_state": 1}, _numbers)
    declared = {"schema": SCHEMA, "random_state": 1}
    yield Subject("AdditiveClassifier", tacit.AdditiveClassifier, declared, _table)
    ranged = Schema.from_dict({"columns": ENTRIES["columns"], "target": {"name": "r", "lower": -1, "upper": 1}})
    yield Subject(
        "AdditiveRegressor",
        tacit.AdditiveRegressor,
        {"schema": ranged, "target_bound": (-1, 1), "random_state": 1},
        _table,
    )
    scaler = {"bounds": [(-1, 1)] * COLUMNS, "random_state": 1}
    yield Subject("PrivateScaler", tacit.PrivateScaler, scaler, lambda one: one.fit(X).transform(X))
    search = {"estimator": LogisticRegression(0.1, classes=[0, 1]), "grid": {"clip": [1.0, 2.0]}, "random_state": 1}
    yield Subject("PrivateSearch", tacit.PrivateSearch, search, _labels, slow=True)
    yield Subject(
        "Scattering", tacit.features.Scattering, {"scale": 1.0, "threads": 1}, lambda one: one.fit_transform(IMAGES)
    )
    yield Subject(
        "SchemaEncoder",
        importlib.import_module("tacit.schema").SchemaEncoder,
        {"schema": SCHEMA},
        lambda one: one.fit(TABLE).transform(TABLE),
    )


def networks() -> Iterator[Subject]:
    """What needs PyTorch."""
    import torch

    common = {"classes": [0, 1], "bounds": (-1.0, 1.0), "epochs": 1, "batch": 12, "random_state": 1}
    yield Subject("MLPClassifier", tacit.MLPClassifier, {**common, "hidden": 2}, _labels, slow=True)
    yield Subject("CNNClassifier", tacit.CNNClassifier, {**common, "batch": 3}, _images, slow=True)
    made = {
        "method": "dbdp-erm",
        "classes": [0, 1],
        "bounds": (-1.0, 1.0),
        "hidden": 2,
        "steps": 2,
        "random_state": 1,
        "pretraining": 2,
        "delta": 1e-3,
        "constant": 1.0,
    }
    yield Subject("PublishedMLPClassifier", published.PublishedMLPClassifier, made, _labels, slow=True)
    yield Subject("mlp_network", tacit.nn.mlp_network, {"features": 3, "classes": 2})
    yield Subject("mnist_network", tacit.nn.mnist_network, slow=True)
    yield Subject("cifar_network", tacit.nn.cifar_network, {"shape": (3, 16, 16)}, slow=True)
    weights = torch.nn.Linear(2, 1)
    yield Subject("smooth", tacit.nn.smooth, {"optimizer": torch.optim.SGD(weights.parameters(), lr=0.1)})
    yield Subject("smooth_tensor", tacit.nn.smooth_tensor, {"values": torch.ones(4), "sigma": 1.0})


def methods() -> Iterator[Subject]:
    """Mechanisms and samplers; each is used in a fit."""
    brief = {"steps": 3}
    for name, right, use in (
        ("DuchiSgd", {"batches": 3}, _method), ("GradientPerturbation", brief, _method), ("Individual", brief, _method),
        ("InputPerturbation", {}, _method), ("LocalPerturbation", {}, _method), ("ObjectivePerturbation", {}, _method),
        ("Output", {}, _method), ("SufficientStatistics", {}, _squared), ("Svrg", {"rounds": 1, "inner": 2}, _method),
        ("Whitened", {"inner": mechanisms.ObjectivePerturbation()}, _method),
    ):  # fmt: skip
        yield Subject(name, getattr(mechanisms, name), right, use, slow=name == "InputPerturbation")
    for name, right in (("Disjoint", {}), ("Everyone", {}), ("Poisson", {"rate": 0.5}), ("Subset", {"batch": 4})):
        yield Subject(
            name, getattr(mechanisms, name), right,
            lambda one: _method(mechanisms.GradientPerturbation(one, steps=3)), skipped=("theorem",),
        )  # fmt: skip
    yield Subject(
        "Penalty",
        mechanisms.Penalty,
        {"weight": 0.1},
        lambda one: _method(mechanisms.InputPerturbation(penalty=one)),
        slow=True,
    )
    facts = Facts.example(importlib.import_module("tacit.linear.losses").Logistic())
    yield Subject("choose_method", mechanisms.choose_method, {"method": "auto", "budget": BUDGET, "facts": facts})
    yield Subject(
        "PidpSgd", published.PidpSgd, {"rounds": 1, "constant": 1.0, "contribution_constant": 1.0}, _published
    )
    yield Subject("PiDbdpErm", published.PiDbdpErm, {"steps": 2, "constant": 1.0}, _published)
    yield Subject("PublishedInput", published.PublishedInput, {"steps": 2, "constant": 1.0}, _published)


def looks() -> Iterator[Subject]:
    """Statistics, scores, and what is found before training."""
    rows, column = (ROWS, COLUMNS), (ROWS, 1)
    asked = {"epsilon": 1.0, "random_state": 1}
    generous = {**asked, "epsilon": 1000.0}  # so small a table has nothing to find otherwise
    people = {"groups": column}
    for name in ("mean", "sum", "histogram", "quantiles"):
        right = {"data": NUMBERS, "bounds": (-1, 1), **asked}
        yield Subject(name, getattr(statistics, name), right, data={"data": column, "by": column, **people})
    yield Subject(
        "covariance",
        statistics.covariance,
        {"data": X, "bounds": [(-1, 1)] * 3, **asked},
        data={"data": rows, "by": column, **people},
    )
    yield Subject(
        "count", statistics.count, {"by": TABLE["b"], "categories": ["x", "y"], **asked}, data={"by": column, **people}
    )
    yield Subject(
        "private_bounds", statistics.private_bounds, {"data": NUMBERS, **generous}, data={"data": column, **people}
    )
    yield Subject(
        "private_categories",
        statistics.private_categories,
        {"data": TABLE["b"], **asked},
        data={"data": column, **people},
    )
    yield Subject(
        "describe", statistics.describe, {"table": TABLE, "schema": SCHEMA, **asked}, data={"table": rows, **people}
    )
    yield Subject(
        "private_schema",
        statistics.private_schema,
        {"table": TABLE, "target": SCHEMA.target, **generous},
        data={"table": rows, **people},
    )
    yield Subject("Bounds", statistics.Bounds, {"lower": -1.0, "upper": 1.0}, skipped=("guarantee",))
    model = LogisticRegression(1.0, classes=[0, 1], random_state=1).fit(X, LABELS)
    yield Subject(
        "evaluate",
        tacit.evaluate,
        {"model": model, "X": X, "y": LABELS, **asked},
        data={"X": rows, "y": column, **people},
    )
    yield Subject(
        "influence_of", tacit.influence.influence_of, {"X": X, "y": LABELS * 2.0 - 1}, data={"X": rows, "y": column}
    )
    yield Subject(
        "error_bound",
        tacit.influence.error_bound,
        {"records": 9, "lipschitz": 1.0, "smoothness": 1.0, "third": 1.0, "zeta": 1.0},
    )
    yield Subject("Budget", tacit.Budget, {"epsilon": 1.0, "delta": 1e-5}, skipped=("spent", "admits"))
    yield Subject("spent", tacit.spent, {"guarantees": [model.guarantee_], "delta": 1e-5})
    fit = {"X": rows, "y": column, "groups": column, "sample_weight": column}
    yield Subject(
        "LogisticRegression.fit",
        LogisticRegression(1.0, rows_per_person=2, random_state=1).fit,
        {"X": X, "y": LABELS, "groups": PEOPLE},
        data=fit,
    )
    yield Subject(
        "LogisticRegression.fit one row each",
        LogisticRegression(1.0, classes=[0, 1], random_state=1).fit,
        {"X": X, "y": LABELS},
        data=fit,
    )
    yield Subject(
        "LinearRegression.fit",
        tacit.LinearRegression(1.0, target_bound=1.0, random_state=1).fit,
        {"X": X, "y": NUMBERS},
        data=fit,
    )
    yield Subject(
        "PoissonRegressor.fit",
        tacit.PoissonRegressor(1.0, target_bound=1.0, random_state=1).fit,
        {"X": X, "y": NUMBERS},
        data=fit,
    )
    yield Subject(
        "AdditiveClassifier.fit",
        tacit.AdditiveClassifier(1.0, schema=SCHEMA, random_state=1).fit,
        {"X": TABLE, "y": TABLE["t"]},
        data=fit,
    )
    yield Subject(
        "PrivateScaler.fit",
        tacit.PrivateScaler(1.0, bounds=[(-1, 1)] * 3, random_state=1).fit,
        {"X": X},
        data={"X": rows, "groups": column},
        skipped=("y",),
    )
    yield Subject(
        "PrivateSearch.fit",
        tacit.PrivateSearch(LogisticRegression(0.1, classes=[0, 1]), {"clip": [1.0, 2.0]}, random_state=1).fit,
        {"X": X, "y": LABELS},
        data=fit,
        slow=True,
    )
    network = tacit.MLPClassifier(1.0, classes=[0, 1], bounds=(-1, 1), hidden=2, epochs=1, batch=12, random_state=1)
    yield Subject("MLPClassifier.fit", network.fit, {"X": X, "y": LABELS}, data=fit, slow=True)
    for method in ("predict", "predict_proba", "decision_function"):
        yield Subject(f"LogisticRegression.{method}", getattr(model, method), {"X": X}, data=fit)
    yield Subject(
        "SchemaEncoder.transform",
        importlib.import_module("tacit.schema").SchemaEncoder(SCHEMA).transform,
        {"X": TABLE},
        data=fit,
    )


def agreements(folder: Path) -> Iterator[Subject]:
    """Files, ledgers, protocols, audits, data sets, clients."""
    model = LogisticRegression(1.0, classes=[0, 1], random_state=1).fit(X, LABELS)
    tacit.save(model, folder / "model.json")
    yield Subject("save", tacit.save, {"model": model, "path": folder / "again.json"})
    yield Subject("load", tacit.load, {"path": folder / "model.json"})
    (folder / "table.csv").write_text("a,b,t\n0.5,x,no\n-0.5,y,yes\n", encoding="utf-8")
    yield Subject(
        "scan",
        tacit.scan,
        {"thing": str(folder / "table.csv"), "schema": SCHEMA},
        words={"thing": "(table|file|scan|column)"},
    )
    table = tacit.AdditiveClassifier(1.0, schema=SCHEMA, random_state=1).fit(TABLE)
    yield Subject(
        "predict_to",
        tacit.predict_to,
        {"model": table, "source": str(folder / "table.csv"), "path": str(folder / "out.csv")},
        words={"source": "(table|file|column)", "keep": "kept"},
    )
    yield Subject("Ledger", _ledger(folder), {"epsilon": 1.0, "delta": 1e-5})
    yield Subject(
        "Ledger address",
        tacit.Ledger,
        {"address": ":memory:", "epsilon": 1.0, "delta": 1e-5},
        skipped=("epsilon", "delta", "adjacency", "rows_per_person"),
        words={"address": "ledger"},
    )
    yield Subject("Schema", Schema, {"columns": SCHEMA.columns, "target": SCHEMA.target})
    yield Subject("Schema.from_dict", Schema.from_dict, {"entries": ENTRIES}, words={"entries": "schema"})
    rooms = importlib.import_module("tacit.schema")
    bounds = {"name": "a", "lower": -1.0, "upper": 1.0}
    yield Subject("Number", rooms.Number, bounds)
    yield Subject("Bins", rooms.Bins, {**bounds, "cuts": (0.0,)}, words={"cuts": "bins"})
    yield Subject("Hats", rooms.Hats, {**bounds, "knots": (0.0,)})
    yield Subject("Category", rooms.Category, {"name": "b", "values": ("x", "y")})
    yield Subject("Target", rooms.Target, {"name": "t", "classes": ("x", "y")})
    yield Subject("Pair", rooms.Pair, {"first": SCHEMA.columns[0], "second": SCHEMA.columns[1]})
    create = {"epsilon": 1.0, "delta": 1e-3, "cohort": 50, "schema": SCHEMA}
    yield Subject("Protocol", tacit.protocol.Protocol.create, create, words={"schema": "target"}, slow=True)
    made = tacit.protocol.Protocol.create(**create)
    yield Subject(
        "Database", tacit.protocol.Database, {"protocol": made}, words={"place": "(place|database)"}, slow=True
    )
    yield Subject("Client", importlib.import_module("tacit.collector").Client, {"address": "http://127.0.0.1:9"})
    called = {"name": "data set", "split": "split"}
    for name in ("fetch", "stored"):
        yield Subject(name, getattr(tacit.datasets, name), {"name": "breast_cancer"}, words=called)
    yield Subject("datasets.load", tacit.datasets.load, {"name": "breast_cancer"}, words=called)
    yield Subject("images", tacit.datasets.images, {"name": "mnist"}, words=called, slow=True)
    yield Subject("as_in_papers", tacit.datasets.as_in_papers, {"name": "breast_cancer"}, words=called)
    yield Subject(
        "standing_in",
        tacit.datasets.standing_in,
        {"names": ["adult"]},
        lambda one: one.__enter__() and one.__exit__(None, None, None),
    )


def audits() -> Iterator[Subject]:
    """What measures a promise."""
    quick = {"trials": 200, "seed": 1}
    yield Subject("audit", tacit.audit.audit, {"train": "output", "claimed": BUDGET, **quick}, slow=True)
    draw = lambda rng, count: rng.normal(size=(count, 1))  # noqa: E731
    yield Subject(
        "audit_samplers",
        tacit.audit.audit_samplers,
        {"first": draw, "second": draw, "claimed": BUDGET, **quick},
        slow=True,
    )
    yield Subject("library", tacit.audit.library, {"adjacency": "replace-one"})
    yield Subject("planned", tacit.audit.planned, {"method": "output", "claimed": BUDGET, "records": 16, "features": 2})
    train = lambda X, y, rng, trials: rng.normal(size=(trials, 1))  # noqa: E731
    yield Subject("Batched", tacit.audit.Batched, {"train": train}, slow=True)
    pair = {"first": (X, LABELS * 2.0 - 1), "second": (X, 1.0 - LABELS * 2)}
    yield Subject("audit.Pair", tacit.audit.Pair.of, pair)


def _ledger(folder: Path):
    def make(
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: Adjacency | None = None,
        rows_per_person: int | None = None,
    ):
        with tempfile.NamedTemporaryFile(dir=folder) as unused:
            name = unused.name
        return tacit.Ledger(name, epsilon, delta, adjacency, rows_per_person)

    make.__annotations__ = {
        "epsilon": "float | None",
        "delta": "float | None",
        "adjacency": "Adjacency | None",
        "rows_per_person": "int | None",
    }
    return make


def everything(folder: Path) -> list[Subject]:
    """All subjects, those of PyTorch where it is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*estimators(), *networks(), *methods(), *looks(), *agreements(folder), *audits()]
