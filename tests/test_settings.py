"""Docstrings list what the signatures have: every parameter, in order, with its default and what it means."""

import inspect

import pytest

import tacit
from tacit import statistics
from tacit.audit import audit
from tacit.features import Scattering
from tacit.settings import SHARED, described, entries

CLASSES = (
    "LogisticRegression", "LinearSVC", "LinearRegression", "PoissonRegressor", "QuantileRegressor",
    "AdditiveClassifier", "AdditiveRegressor", "PrivateScaler", "PrivateSearch", "Ledger", "Schema",
)  # fmt: skip
FUNCTIONS = (
    "count", "covariance", "describe", "histogram", "mean", "private_bounds", "private_categories", "quantiles", "sum",
)  # fmt: skip
THINGS = [
    *(getattr(tacit, name) for name in (*CLASSES, "evaluate", "predict_to", "private_schema", "scan")),
    *(getattr(statistics, name) for name in FUNCTIONS), audit, Scattering,
]  # fmt: skip


def listed(thing):
    return thing.__doc__.split("Parameters\n----------\n")[1].split("\n\n")[0] + "\n"


def check(thing):
    signature = inspect.signature(thing).parameters
    assert list(entries(listed(thing))) == list(signature)
    for name, parameter in signature.items():
        assert (f"default={parameter.default!r}\n" in listed(thing)) or parameter.default is parameter.empty, name
    assert max(map(len, thing.__doc__.splitlines())) <= 120


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: thing.__name__)
def test_every_parameter_is_described(thing):
    check(thing)


@pytest.mark.parametrize("name", ["MLPClassifier", "CNNClassifier"])
def test_every_parameter_of_networks_is_described(name):
    pytest.importorskip("opacus", reason="networks need the extra 'torch': pip install '.[torch]'")
    check(getattr(tacit, name))


def test_what_is_nearer_goes_first():
    class Base:
        """A base.

        Parameters
        ----------
        clip : float
            The base's.
        level : float
            The base's.
        """

    @described
    class Own(Base):
        """A class.

        More about it.

        Parameters
        ----------
        level : int
            Its own.

        Attributes
        ----------
        found_ : float
            Found.
        """

        def __init__(self, level, clip=2.0, delta=None, unknown=1):
            pass

    lead, parameters, attributes = Own.__doc__.partition("Parameters\n")[0], listed(Own), Own.__doc__[-40:]
    assert lead == "A class.\n\nMore about it.\n\n"
    assert parameters.startswith(
        "level : int\n    Its own.\nclip : float, default=2.0\n    The base's.\ndelta : float or "
    )
    assert "unknown" not in parameters
    assert attributes.endswith("----------\nfound_ : float\n    Found.\n")


def test_no_shared_meaning_is_unused():
    used = {name for thing in THINGS for name in inspect.signature(thing).parameters}
    assert entries(SHARED).keys() <= used


def test_without_docstrings_nothing_happens():
    def bare():
        pass

    assert described(bare).__doc__ is None
