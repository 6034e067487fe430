"""How much of the house a task walks through: modules and functions of Tacit that it calls, each counted once.

Run ``python benchmarks/walks.py`` (``--names`` lists them): a fit, ``tacit fit`` on a table with a schema, and a
collection from the first submission to the model. Fewer is easier to follow; nothing else is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

SCHEMA = """
[target]
name = "y"
classes = ["no", "yes"]

[columns.a]
lower = -3
upper = 3

[columns.b]
values = ["u", "v"]
"""


def walk(task: Callable[[], object]) -> set[tuple[str, str]]:
    """(module, function) of every function of the package that the task calls."""
    seen: set[tuple[str, str]] = set()

    def called(frame, event, argument):  # the form that sys.setprofile asks for
        code = frame.f_code
        if event == "call" and "/tacit/" in code.co_filename and not code.co_name.startswith("<"):
            seen.add((code.co_filename.rpartition("/tacit/")[2], code.co_qualname))

    sys.setprofile(called)
    try:
        task()
    finally:
        sys.setprofile(None)
    return seen


def tasks(folder: Path) -> dict[str, Callable[[], object]]:
    """The three tasks, everything they need made before."""
    import tacit
    from tacit.cli.main import main
    from tacit.protocol import Database, Protocol
    from tacit.schema import Target

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = np.where(X[:, 0] > 0, "yes", "no")
    (folder / "schema.toml").write_text(SCHEMA)
    lines = [f"{row[0]:.4f},{'u' if row[1] > 0 else 'v'},{label}" for row, label in zip(X, y, strict=True)]
    (folder / "people.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    model = tacit.LogisticRegression(epsilon=1.0, delta=1e-6)

    def fit_command() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            paths = [str(folder / name) for name in ("people.csv", "schema.toml", "model.json")]
            given = ["--schema", paths[1], "--epsilon", "1", "--out", paths[2], "--overwrite"]
            assert main(["fit", paths[0], *given]) == 0

    protocol = Protocol.create(epsilon=1.0, delta=1e-5, cohort=500, columns=3, target=Target("y", ("no", "yes")))

    def collection() -> None:
        database = Database(protocol)
        for row, label in zip(X[:5], y[:5], strict=True):
            database.add(protocol.perturb(row, label))
        database.train()

    return {"fit": lambda: model.fit(X, y), "tacit fit": fit_command, "submission to model": collection}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", action="store_true", help="list modules and functions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        for name, task in tasks(Path(place)).items():
            task()  # what is imported on the way is no part of the walk
            found = walk(task)
            print(f"{name}: {len({module for module, _ in found})} modules, {len(found)} functions")
            if options.names:
                print("\n".join(f"    {module} {function}" for module, function in sorted(found)))
