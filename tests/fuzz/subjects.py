"""Honest files for the fuzzer: guarantees of every kind of event, models of every estimator, networks."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline

from tacit import (
    AdditiveClassifier,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PrivateScaler,
    Schema,
    private_schema,
)
from tacit.files import save
from tacit.files import tensors as network_file
from tacit.files.models import from_dict
from tacit.linear.losses import Logistic, Squared
from tacit.mechanisms import METHODS, GradientPerturbation, Poisson, Subset, Svrg, choose_method
from tacit.schema import SchemaEncoder
from tacit.training import prepare
from tacit.types import Budget, Facts

SCHEMA = {"columns": {"a": {"lower": 0, "upper": 9}, "b": {"values": ["x", "y"]}}}
BRIEF = {
    "dp-sgd": GradientPerturbation(Poisson(0.3), steps=4),
    "dp-sgd-subset": GradientPerturbation(Subset(15), steps=4),
    "dp-svrg": Svrg(rounds=1, inner=2, rate=0.3),
}
"""Few steps, so that a changed number is priced at once."""
PRICED = (
    "objective", "objective-chaudhuri-2011", "statistics", "gradient", "dp-sgd", "dp-sgd-subset", "dp-svrg",
    "song-2013", "individual", "input", "input-local", "local-duchi-2013", "output", "output-chaudhuri-2011",
    "output-wu-2017",
)  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """An honest file: its bytes, what it holds as JSON, and what comes after that (the tensors of a network)."""

    name: str
    raw: bytes
    content: dict
    tensors: bytes = b""
    slow: bool = False

    @property
    def is_network(self):
        return bool(self.tensors)


def guarantees():
    """One guarantee a method, and that of one record where there is one."""
    found = []
    for name in PRICED:
        loss = Squared() if name == "statistics" else Logistic()
        facts = Facts(records=300, features=5, outputs=1, radius=1.2, loss=loss)
        chosen = choose_method(name, Budget(1.0, 1e-5), facts)
        prepared = prepare(facts, replace(chosen, mechanism=BRIEF.get(name, chosen.mechanism)), seeded=True)
        for guarantee in (prepared.guarantee, prepared.record_guarantee):
            if guarantee is not None:
                data = guarantee.to_dict()
                label = f"{name}, {guarantee.theorem}"
                found.append(Subject(label, json.dumps(data).encode(), data, slow=name in BRIEF))
    assert len(found) > len(PRICED)
    assert set(PRICED) <= set(METHODS)
    return found


def models(folder: Path):
    """A file of each estimator; one with two guarantees, one with a schema, one with curves, one without noise."""
    X = np.random.default_rng(5).normal(size=(120, 3))
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    fits = {
        "binary": LogisticRegression(1.0, delta=1e-5).fit(X, X[:, 0] > 0),
        "softmax": LogisticRegression(1.0, clip=2.0).fit(X, three),
        "svm": LinearSVC(1.0, classes=[2, 4], smoothing=0.25).fit(X, np.where(X[:, 0] > 0, 2, 4)),
        "regression": LinearRegression(2.0, target_bound=(-3.0, 5.0), adjacency="add-remove").fit(X, X[:, 0]),
        "input": LogisticRegression(1.0, method="input").fit(X, X[:, 0] > 0),
        "no noise": LogisticRegression(math.inf).fit(X, X[:, 0] > 0),
    }
    cells = {"a": 9 * np.abs(X[:, 1]) % 9, "b": np.where(X[:, 2] > 0, "x", "y")}
    additive = AdditiveClassifier(2.0, schema=SCHEMA, cuts="private", pairs=1, slots=3, method="whitened-objective")
    fits["additive"] = additive.fit(cells, X[:, 0] > 0)
    found = []
    for name, model in fits.items():
        schema = Schema.from_dict(SCHEMA) if name == "binary" else None
        if schema is not None:
            model = LogisticRegression(1.0).fit(np.eye(4)[:, : schema.width].repeat(9, 0), [0, 1] * 18)  # noqa: PLW2901
        save(model, folder / "honest.json", schema)
        raw = (folder / "honest.json").read_bytes()
        found.append(Subject(f"model {name}", raw, json.loads(raw)))
        from_dict(found[-1].content)
    return found


def pipelines(folder: Path):
    """A pipeline with a charged scaler, and one with a found schema: several guarantees in one file."""
    X = np.random.default_rng(6).normal(size=(300, 3))
    table = {"a": 9 * np.abs(X[:, 1]) % 9, "b": np.where(X[:, 2] > 0, "x", "y")}
    schema = private_schema(table, epsilon=20.0)
    fits = {
        "scaler": make_pipeline(PrivateScaler(1.0, bounds=(-3, 3)), LogisticRegression(1.0)).fit(X, X[:, 0] > 0),
        "schema": make_pipeline(SchemaEncoder(schema), LogisticRegression(1.0)).fit(table, X[:, 0] > 0),
    }
    found = []
    for name, pipeline in fits.items():
        save(pipeline, folder / "honest.json")
        raw = (folder / "honest.json").read_bytes()
        found.append(Subject(f"pipeline {name}", raw, json.loads(raw)))
    return found


def networks(folder: Path):
    """A network with noise, and one without; nothing where PyTorch is not installed."""
    try:
        from tacit.nn import MLPClassifier
    except ImportError:
        return []
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(80, 4))
    found = []
    for epsilon in (1.0, math.inf):
        model = MLPClassifier(epsilon, classes=(0, 1), bounds=(-1, 1), hidden=3, epochs=1, delta=1e-4, batch=40)
        save(model.fit(X, (X[:, 0] > 0).astype(int)), folder / "honest.safetensors")
        raw = (folder / "honest.safetensors").read_bytes()
        start = 8 + int.from_bytes(raw[:8], "little")
        content = json.loads(json.loads(raw[8:start])["__metadata__"]["tacit"])
        found.append(Subject(f"network, epsilon {epsilon}", raw, content, raw[start:], slow=True))
        assert network_file.holds_tensors(folder / "honest.safetensors")
    return found


def everything(folder: Path):
    """All subjects."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*guarantees(), *models(folder), *pipelines(folder), *networks(folder)]
