"""What is tried: settings of one estimator, all of them public, the settings as they are given first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler

from tacit.checks import check, shown
from tacit.privacy.events import CANDIDATES
from tacit.search.accepted import check_accepted, name_of

DRAWS = 15
"""Settings that are drawn where a grid has distributions: with a seed that everybody knows."""
SEED = 0
Settings = dict[str, Any]


def settings_of(estimator: Any, grid: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> tuple[Settings, ...]:
    """Zero tuning first, which is no setting at all; then those of the grid, or drawn from its distributions.

    Settings that the estimator has already are not tried twice.
    """
    maps = [grid] if isinstance(grid, Mapping) else grid
    known = isinstance(maps, Sequence) and all(isinstance(one, Mapping) for one in maps)
    check(known and maps, "Expected a grid: a dict of settings and their values, or a list of such dicts.")
    for name, values in ((name, values) for one in maps for name, values in one.items()):
        some = hasattr(values, "rvs") or (isinstance(values, Iterable) and not isinstance(values, str | bytes))
        check(some, f"Expected the grid to list the values of {shown(name)}, not {shown(values)}.")
    drawn = any(hasattr(values, "rvs") for one in maps for values in one.values())
    listed = ParameterSampler(grid, DRAWS, random_state=SEED) if drawn else ParameterGrid(grid)
    own = estimator.get_params(deep=True)
    unknown = sorted({name for one in maps for name in one} - set(own), key=str)
    check(not unknown, f"Expected settings that the estimator has; it has no {', '.join(map(str, unknown))}.")
    others = [settings for settings in listed if any(not _same(own[name], value) for name, value in settings.items())]
    check(others, "Expected a grid with some settings other than those that the estimator has.")
    check(
        len(others) < CANDIDATES,
        f"Expected at most {CANDIDATES - 1} settings in the grid, which has {len(others)}. Leave some out.",
    )
    return ({}, *others)


def _same(one: Any, other: Any) -> bool:
    """Whether both are the same setting: 1 is 1.0 but not True; objects that cannot be compared are not."""
    try:
        return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
    except (TypeError, ValueError):
        return False


def unfitted(settings: Settings) -> Settings:
    """Copies of settings, as scikit-learn's searches make them: one that is an estimator is never fitted itself."""
    return {name: clone(value, safe=False) for name, value in settings.items()}


def with_settings(estimator: Any, settings: Settings) -> Any:
    """A fresh estimator with these settings, if it is one that can be tried.

    It is silent: words of progress would tell how many trials there were.
    """
    fresh = clone(estimator).set_params(**unfitted(settings))
    check_accepted(fresh)
    spoken = [name for name in fresh.get_params(deep=True) if name.rpartition("__")[2] == "verbose"]
    return fresh.set_params(**dict.fromkeys(spoken, False))


def made(estimator: Any, settings: Settings, **own: Any) -> Any:
    """A fresh estimator with these settings; ``own`` are settings of its private step, which charges no ledger."""
    fresh = with_settings(estimator, settings)
    return fresh.set_params(**{name_of(fresh, name): value for name, value in {**own, "ledger": None}.items()})
