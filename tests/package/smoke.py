"""The installed package does what its first page says, without the checkout and without extras.

``make package`` runs this in a fresh environment that holds the wheel and its own dependencies, in an empty folder.
"""

import importlib
import pkgutil
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import numpy as np

import tacit

EXTRAS = {
    "torch", "opacus", "safetensors", "pyarrow", "matplotlib", "PIL", "pooch", "sqlalchemy", "alembic", "fastapi",
    "starlette", "uvicorn", "pydantic", "httptools", "anyio",
}  # fmt: skip
COMMAND = Path(sysconfig.get_path("scripts")) / "tacit"


def expect(truth, sentence):
    """End with a sentence when something is not as it should be."""
    if not truth:
        sys.exit(f"smoke: {sentence}")


def run(*words):
    """The output of a command that must succeed without a word of complaint."""
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"tacit {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    expect(not done.stderr, f"tacit {' '.join(words)} complained: {done.stderr}")
    return done.stdout


def loads(name):
    """Import a module, or one that needs an extra that is not here; any other failure is ours."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        needed = error.name in EXTRAS or "pip install '.[" in str(error)
        expect(needed, f"{name} cannot be imported: {error}")
        return False
    return True


def check_names():
    """Every module loads, every public name is there."""
    expect("site-packages" in tacit.__file__, f"the checkout was imported: {tacit.__file__}")
    expect(version("tacit") == tacit.__version__, "the metadata have another version")
    expect((Path(tacit.__file__).parent / "py.typed").exists(), "py.typed is missing, so types would not be seen")
    found = [module.name for module in pkgutil.walk_packages(tacit.__path__, "tacit.", onerror=lambda name: None)]
    loaded = [name for name in found if name != "tacit.__main__" and loads(name)]
    expect(len(loaded) > 60, f"only {len(loaded)} modules load without extras")
    expect({"LogisticRegression", "Guarantee", "Schema"} <= set(dir(tacit)), "dir(tacit) hides names")
    for name in dir(tacit):  # as completion and help() do
        getattr(tacit, name)
    return len(found), len(loaded)


def check_model():
    """Fit, save, load, verify: in Python and on the command line."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, size=(400, 3))
    labels = (rows[:, 0] > 0).astype(int)
    model = tacit.LogisticRegression(epsilon=1.0, classes=(0, 1)).fit(rows, labels)
    tacit.save(model, "saved.json")
    again = tacit.load("saved.json").model
    expect(np.array_equal(model.predict(rows), again.predict(rows)), "a loaded model predicts something else")
    expect(again.guarantee_.verify() <= 1.0, "the guarantee does not hold")
    run("verify", "saved.json")
    table = np.column_stack([rows, labels])
    np.savetxt("table.csv", table, delimiter=",", header="a,b,c,label", comments="", fmt=["%.6f"] * 3 + ["%d"])
    bounds = "\n".join(f"[columns.{name}]\nlower = -0.5\nupper = 0.5" for name in "abc")
    Path("table.toml").write_text(f'[target]\nname = "label"\nclasses = [0, 1]\n{bounds}\n')
    run("fit", "table.csv", "--schema", "table.toml", "--epsilon", "1", "--out", "model.json")
    run("verify", "model.json")


def check_commands():
    """The version, the methods, and the help of every command."""
    expect(run("--version").split()[-1] == tacit.__version__, "tacit --version says another version")
    expect("objective" in run("methods"), "tacit methods does not list the methods")
    names = re.findall(r"^    ([a-z]\S*)", run("--help").partition("commands:")[2], re.MULTILINE)
    expect({"fit", "predict", "verify", "methods", "audit"} <= set(names), f"commands are missing: {names}")
    for name in names:
        expect("usage" in run(name, "--help").lower(), f"tacit {name} has no help")
    return len(names)


if __name__ == "__main__":
    modules, loaded = check_names()
    check_model()
    print(f"smoke: {loaded} of {modules} modules load without extras; {check_commands()} commands; a model verifies.")
