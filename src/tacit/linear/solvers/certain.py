"""A minimum that is certified: the fast solver first, then one that is slower and surer, then one that is proven.

Newton's method reaches its tolerance in a few steps on ordinary records. Where it does not, Newton steps of the best
size go on, and where these do not, accelerated descent, which ends for every set of records within a number of passes
that is known beforehand. So the result is certified whatever the records are; how long it takes depends on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.checks import refuse
from tacit.linear.arithmetic import gradient_rounding, linear_rounding, minimum_reach
from tacit.linear.problem import Problem
from tacit.linear.solvers.accelerated import Accelerated, largest_condition
from tacit.linear.solvers.centre import Centre
from tacit.linear.solvers.newton import Newton
from tacit.linear.solvers.searched import Searched
from tacit.types import Array, Facts

QUICK = 60
"""Ordinary Newton steps: several times as many as ordinary records take."""
CONDITION = 1e8
"""The most that n records can curve the objective, over what the regulariser curves it at least: a limit on the passes
of accelerated descent, seven million for a few hundred records. :func:`largest_condition`, from rounding, may be
lower."""
ROUNDINGS = 5
"""How many times the rounding of one gradient the certificate allows for: 1 for the rounding itself, 4 so that
refinement, which leaves ``gradient <= gradient/2 + 2 roundings`` a centre, gets there."""


def least_strength(facts: Facts) -> float:
    """The smallest Lambda at which every set of records ends certified: from n, d, the scores and beta alone."""
    return facts.records * facts.curvature / (min(CONDITION, largest_condition(facts)) - 1)


def check_certifiable(facts: Facts, strength: float) -> None:
    """Refuse a regulariser so weak that double precision, or patience, might not suffice to certify a minimum.

    Whether they do would depend on the records. The threshold is public: see :func:`least_strength`.
    """
    least = least_strength(facts)
    if strength < least * (1 - 1e-9):
        refuse(
            f"A minimum can be certified in double precision only with regularization >= {least / facts.records:.6g} "
            "here; leave it out to have it chosen."
        )


def solver_slack(facts: Facts, strength: float, linear: float = 0.0) -> float:
    """What the certificate allows for rounding, for a linear term of norm at most ``linear``: public.

    Five times the rounding of one gradient at the minimum, and that of adding the linear term.
    """
    rounding = gradient_rounding(facts, minimum_reach(facts, strength, linear))
    return ROUNDINGS * rounding + math.sqrt(facts.models) * linear_rounding(linear)


@dataclass(frozen=True)
class Certified:
    """Weights, the certified gradient norm of each model, and the steps that each solver took (the most of a model)."""

    weights: Array
    gaps: Array
    newton: int
    searched: int = 0
    passes: int = 0


def solve(problem: Problem, tau: float, slack: float) -> Certified:
    """Minimise to a certified gradient norm of at most ``tau + slack``, all models together.

    Guarantee: it ends so for all records, if Lambda is at least :func:`least_strength` and slack at least
    :func:`solver_slack`.

    Edges: a linear term longer than the slack was computed for gets its own slack, so that it ends then too.
    """
    if problem.loss.coupled or problem.outputs == 1:
        quick = Newton(tau, QUICK).solve(problem)
        return _finish(problem, tau, slack, Certified(quick.weights, np.array([quick.gap]), quick.steps))
    share = 1 / math.sqrt(problem.outputs)
    return solve_columns(problem, tau * share, slack * share)


def solve_columns(problem: Problem, tau: float, slack: float) -> Certified:
    """Minimise each of several independent models to a certified gradient norm of at most ``tau + slack``."""
    weights, gaps, steps = Newton(tau, QUICK).solve_columns(problem)
    searched = passes = 0
    for j in np.flatnonzero(~(gaps <= tau + slack)):
        quick = Certified(weights[:, [j]], gaps[[j]], steps)
        one = _finish(problem.column(int(j)), tau, slack, quick)
        weights[:, [j]], gaps[j] = one.weights, one.gaps[0]
        searched, passes = max(searched, one.searched), max(passes, one.passes)
    return Certified(weights, gaps, steps, searched, passes)


def _finish(problem: Problem, tau: float, slack: float, quick: Certified) -> Certified:
    """Go on from where Newton's method stopped, or from zero if that is nearer, until the certificate holds."""
    if quick.gaps[0] <= tau + slack:
        return quick
    linear = 0.0 if problem.linear is None else float(np.linalg.norm(problem.linear))
    limit = tau + max(slack, solver_slack(problem.facts, problem.strength, linear))
    origin = Centre(problem, problem.start())
    start = quick.weights if quick.gaps[0] < origin.gap else origin.weights
    surer = Searched(limit).solve(problem, start)
    if surer.gap <= limit:
        return Certified(surer.weights, np.array([surer.gap]), quick.newton, surer.steps)
    proven = Accelerated(limit).solve(problem, surer.weights)
    return Certified(proven.weights, np.array([proven.gap]), quick.newton, surer.steps, proven.steps)
