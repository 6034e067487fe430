"""Prices against 50-digit references, quadrature, and dp-accounting called directly; monotone, finite, invertible."""

import itertools
import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import pld, rdp
from scipy import integrate, special

from tacit.checks import PrivacyError
from tacit.privacy import accounting, minimisers, tails
from tacit.privacy.events import Gaussian, Objective, PoissonGaussian, Sensitivity, Sphere, SubsetGaussian
from tacit.types import ADJACENCIES

mpmath.mp.dps = 50


def exact_gaussian(mu, epsilon):
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


MUS = (1e-12, 1e-8, 1e-6, 2.9e-4, 3.1e-4, 1e-3, 0.1, 1.0, 2.5, 5.0, 40.0, 1e3)


@pytest.mark.parametrize("mu", MUS)
def test_gaussian_delta_is_never_below_the_truth_and_hardly_above(mu):
    ratios = (0.0, 1e-3, 0.5, 3.0, 8.0, 20.0, 37.0)
    epsilons = [0.0, 1e-9, 1e-3, 1.0, 50.0, 1e4, *(mu * r for r in ratios), *(mu * r + mu**2 / 2 for r in ratios)]
    for epsilon in (*epsilons, mu**2 / 2 - 1.01 * mu, mu**2 / 2 - 0.99 * mu, -1e-3 * mu, -mu, -3 * mu, -1.0):
        with mpmath.workdps(80):
            exact = exact_gaussian(mu, epsilon)
            found = mpmath.mpf(tails.gaussian_delta(mu, epsilon))
            assert found >= exact, (epsilon, float(found / exact - 1))
            assert found <= exact * (1 + mpmath.mpf("1e-7")) + mpmath.mpf(2.0**-1022), (epsilon, float(found / exact))


def test_gaussian_delta_pays_for_the_rounding_of_its_argument(rng):
    """epsilon/mu is rounded, and a density far out feels it a thousand times: at random points, half of them low."""
    for mu in (1e-7, 1e-5):
        for ratio in rng.uniform(25, 37, 100):
            with mpmath.workdps(80):
                epsilon = float(ratio) * mu
                exact = exact_gaussian(mu, epsilon)
                assert exact <= tails.gaussian_delta(mu, epsilon) <= exact * (1 + mpmath.mpf("1e-10")), epsilon


def test_gaussian_delta_edges():
    assert accounting.gaussian_delta(0.0, 1.0) == 0.0
    assert accounting.gaussian_delta(0.0, -1.0) == pytest.approx(1 - math.exp(-1))
    assert accounting.gaussian_delta(0.0, -1.0) >= 1 - math.exp(-1)
    assert 0 < accounting.gaussian_delta(1e-3, 5.0) < 1e-300
    assert 0 < accounting.gaussian_delta(1e-200, 1e300) < 1e-300
    assert accounting.gaussian_delta(100.0, 1.0) == pytest.approx(1.0)
    assert accounting.gaussian_delta(1e9, 1.0) == 1.0
    assert accounting.gaussian_delta(1.0, -1000.0) == 1.0
    assert accounting.gaussian_delta(1e3, -1000.0) == 1.0
    assert [tails.chi_delta(40.0, -800.0, k) for k in (1, 2, 5)] == [1.0, 1.0, 1.0]


def test_mills_gap_charges_for_its_cancellation():
    """On both sides of the change of formula, where either would lose most."""
    for near, mu in itertools.product((-1.0, 0.0, 2.9, 3.1, 20.0, 39.0), (1e-9, 1e-5, 2.99e-4, 3.01e-4, 1e-2, 3.0)):
        a, b = mpmath.mpf(near), mpmath.mpf(near) + mpmath.mpf(mu)
        exact = mpmath.ncdf(-a) / mpmath.npdf(a) - mpmath.ncdf(-b) / mpmath.npdf(b)
        assert 1 <= tails._gap(near, mu) / exact <= 1 + 1e-7, (near, mu)
        slope = 1 - a * mpmath.ncdf(-a) / mpmath.npdf(a)
        assert abs(tails._slope(near) / slope - 1) < 1e-13


def exact_chi(mu, epsilon, k):
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    start = max(mpmath.mpf(0), (epsilon - mu**2 / 2) / mu)
    constant = mpmath.mpf(2) ** (1 - mpmath.mpf(k) / 2) / mpmath.gamma(mpmath.mpf(k) / 2)

    def integrand(r):
        return constant * r ** (k - 1) * mpmath.exp(-r * r / 2) * (1 - mpmath.exp(epsilon - mu**2 / 2 - mu * r))

    cuts = [start, start + 1, start + 3, start + 6, start + 12, start + 60]
    return mpmath.quad(integrand, cuts)


@pytest.mark.parametrize("directions", [1, 2, 4, 18])
@pytest.mark.parametrize(
    ("mu", "epsilon"), [(0.03, 0.1), (0.25, 1.0), (0.6, 3.0), (1.5, 0.2), (0.5, -0.3), (0.01, 0.1)]
)
def test_chi_delta(directions, mu, epsilon):
    exact = float(exact_chi(mu, epsilon, directions))
    got = accounting.chi_delta(mu, epsilon, directions)
    assert got >= exact
    assert got <= exact * (1 + 5e-5) + 1e-300


def test_chi_delta_far_out_and_for_many_directions():
    """Where quadrature in 50 digits takes long, the tail itself is a bound from above and two tails from below."""
    for mu, epsilon, k in ((0.01, 0.3, 3), (1e-5, 3e-4, 2), (2.0, 60.0, 200), (0.1, 2.0, 1000)):
        start = (epsilon - mu**2 / 2) / mu
        tail = [mpmath.gammainc(mpmath.mpf(k) / 2, (start + x) ** 2 / 2, regularized=True) for x in (0, 1 / start)]
        got = tails.chi_delta(mu, epsilon, k)
        assert tail[1] * -math.expm1(-mu / start) <= got <= tail[0]
    assert tails.chi_delta(1e-3, 1.0, 2) > 0


def test_the_incomplete_gamma_function_is_as_exact_as_is_trusted():
    for half, x in itertools.product((1.0, 1.5, 9.0, 250.0), (0.1, 1.0, 8.0, 90.0, 400.0)):
        exact = mpmath.gammainc(half, x, regularized=True)
        assert abs(float(special.gammaincc(half, x)) / exact - 1) < 1e-11, (half, x)


@pytest.mark.parametrize("ratio", [1e-9, 0.3, 40.0, 1e6])
def test_the_bends_lie_above_the_log_determinant(ratio):
    """In 50 digits, at the knots' own places and between them: rounding must not let a chord cut the curve."""
    for touching in minimisers.TANGENTS:
        knots = minimisers._bends(ratio, touching)
        assert (knots[0][0], knots[-1]) == (0.0, (1.0, 0.0))
        for (s0, h0), (s1, h1) in itertools.pairwise(knots):
            for part in (0.0, 1e-9, 0.25, 0.5, 0.75, 1 - 1e-9, 1.0):
                s = mpmath.mpf(s0) + (mpmath.mpf(s1) - mpmath.mpf(s0)) * part
                height = mpmath.mpf(h0) + (mpmath.mpf(h1) - mpmath.mpf(h0)) * part
                assert height >= mpmath.log1p(mpmath.mpf(ratio) * s * (1 - s))
        # And touch it, where they should.
        for u in touching:
            height = np.interp(u, [s for s, _ in knots], [h for _, h in knots])
            assert height == pytest.approx(math.log1p(ratio * u * (1 - u)), rel=1e-9, abs=1e-9 * ratio)


def test_log_determinant_is_rounded_up():
    for outputs, trace, strong in itertools.product((1, 2, 7), (1e-9, 0.25, 3.0), (1e-3, 1.0, 7.7, 1e5)):
        for geometry in ("monotone", "simplex"):
            rank = outputs - 1 if geometry == "simplex" else 1
            if rank == 0:
                continue
            event = Objective(slope=1.0, trace=trace, strength=strong, scale=1.0, geometry=geometry, outputs=outputs)
            exact = mpmath.log1p(mpmath.mpf(trace) / (rank * mpmath.mpf(strong)))
            exact *= rank if geometry == "simplex" else outputs
            assert exact <= minimisers.log_determinant(event) <= exact * (1 + 1e-14)


@pytest.mark.parametrize(("epsilon", "ratio", "expected"), [(1.0, 0.1, 0.2349), (0.1, 0.01, 0.0280), (3.0, 0.3, 0.641)])
def test_reference_values_of_methods_md(epsilon, ratio, expected):
    """mu of the one-direction formula at delta = 1e-5 and beta/Lambda = ratio, to the digits printed there."""
    low, high = 1e-6, 10.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        fits = accounting.chi_delta(middle, epsilon - math.log1p(ratio), 1) <= 1e-5
        low, high = (middle, high) if fits else (low, middle)
    assert round(low, len(str(expected).split(".")[1])) == expected


# --- objective perturbation: corners ---------------------------------------------------------------------------------
GEOMETRIES = ("logistic", "monotone", "two-sided", "simplex")


def objective(geometry, *, mu, ratio, outputs=None):
    """An event with slope/scale = mu and trace/Lambda = ratio."""
    count = outputs or (3 if geometry == "simplex" else 1)
    return Objective(slope=1.0, trace=ratio, strength=1.0, scale=1.0 / mu, geometry=geometry, outputs=count)


def one_dimensional_worst(geometry, mu, ratio, epsilon, *, replace):
    """E[(1 - e^{epsilon - U})_+] by quadrature, U the largest loss over all parallel gradients and determinants.

    All differing gradients in one direction: U(b) = max over s, s' of D(s) + m b + m^2/2 with m = (s + s') mu.
    """
    s = np.linspace(-1.0 if geometry == "two-sided" else 0.0, 1.0, 81)
    heights = np.log1p(4 * ratio * s * (1 - s) if geometry == "logistic" else np.full_like(s, ratio))
    others = np.array([-1.0, 0.0, 1.0]) if replace else np.array([0.0])
    moves = (mu * (s[:, None] + (others if geometry == "two-sided" else np.abs(others))[None, :])).ravel()
    offsets = np.repeat(heights, len(others))
    b = np.linspace(-12, 12, 4001)
    loss = (offsets[:, None] + moves[:, None] * b + 0.5 * moves[:, None] ** 2).max(axis=0)
    density = np.exp(-0.5 * b**2) / math.sqrt(2 * math.pi)
    return float(np.trapezoid(density * -np.expm1(np.minimum(0.0, epsilon - loss)), b))


@pytest.mark.parametrize("geometry", ["logistic", "monotone", "two-sided"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_corners_cover_the_worst_parallel_records(geometry, adjacency):
    """Also below the determinant's own cost, where the corner at zero matters."""
    tightest = 0.0
    for mu, ratio, epsilon in itertools.product(
        (0.02, 0.2, 1.0, 3.0), (0.01, 0.1, 1.0, 10.0), (0.0, 0.05, 0.3, 1.0, 3.0, 8.0)
    ):
        bound = accounting.objective_delta(objective(geometry, mu=mu, ratio=ratio), epsilon, adjacency)
        worst = one_dimensional_worst(geometry, mu, ratio, epsilon, replace=adjacency == "replace-one")
        assert worst <= bound * (1 + 1e-4) + 1e-12, (mu, ratio, epsilon)
        if worst > 1e-10:
            tightest = max(tightest, worst / bound)
    assert tightest > 0.9, "vacuous"


def two_row_delta(mu, phi, epsilon):
    """E[(1 - e^{epsilon - U})_+] for U = max(m+|a| + m+^2/2, m-|b| + m-^2/2), m+ = mu cos(phi), m- = mu sin(phi).

    = the integral over t >= epsilon of e^{epsilon - t} P(U > t), with a, b independent standard normals.
    """

    def below(m, t):
        return special.erf(np.maximum(0.0, (t - m * m / 2) / m) / math.sqrt(2)) if m > 0 else np.ones_like(t)

    reach = epsilon + mu**2 / 2 + 12 * mu
    t = np.linspace(epsilon, reach, 4001)
    tail = 1 - below(mu * math.cos(phi), t) * below(mu * math.sin(phi), t)
    return float(integrate.simpson(np.exp(epsilon - t) * tail, x=t))


def test_two_rows_that_are_not_parallel():
    """Replace-one, two-sided slopes: parallel rows are the worst, by proof from epsilon >= mu^2/2 + sqrt(3) mu on.

    Below that the grid shows no exception either; nothing rests on it there, since the corners are used.
    """
    angles = np.linspace(0, math.pi / 2, 31)
    for mu in (0.01, 0.1, 0.5, 1.0, 2.0, 4.0):
        for factor in (0.02, 0.1, 0.3, 0.7, 1.0, 1.05, 1.5, 3.0):
            epsilon = factor * (mu**2 / 2 + math.sqrt(3) * mu)
            straight = two_row_delta(mu, 0.0, epsilon)
            assert straight == pytest.approx(accounting.chi_delta(mu, epsilon, 1), rel=1e-4)
            for phi in angles:
                assert two_row_delta(mu, phi, epsilon) <= straight * (1 + 1e-6), (mu, factor, phi)


def test_corners_cover_two_rows_that_are_not_parallel():
    """The bound in use for two-sided slopes, at every angle, on both sides of its own condition."""
    for mu, ratio, epsilon in itertools.product((0.05, 0.5, 1.0, 2.0), (1e-9, 0.1), (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)):
        bound = accounting.objective_delta(objective("two-sided", mu=mu / 2, ratio=ratio), epsilon, "replace-one")
        left = epsilon - math.log1p(ratio)
        if left <= 0:
            continue
        for phi in np.linspace(0, math.pi / 2, 31):
            assert two_row_delta(mu, phi, left) <= bound * (1 + 1e-6) + 1e-14, (mu, ratio, epsilon, phi)


def test_gaussian_delta_is_convex_in_squared_mu_where_the_corners_use_it():
    """delta(mu) convex in mu^2 while epsilon^2 >= mu^2 + mu^4/4, and not far beyond."""
    for epsilon in (0.05, 0.5, 2.0, 6.0):
        limit = 2 * (math.sqrt(1 + epsilon**2) - 1)  # mu^2 + mu^4/4 = epsilon^2
        squares = np.linspace(limit * 1e-3, limit, 200)
        values = np.array([float(exact_gaussian(math.sqrt(v), epsilon)) for v in squares])
        assert (np.diff(values, 2) >= -1e-15).all()
        beyond = np.linspace(limit, 3 * limit, 50)
        values = np.array([float(exact_gaussian(math.sqrt(v), epsilon)) for v in beyond])
        assert (np.diff(values, 2) < 0).any()


def test_softmax_corners_cover_sampled_gradients(rng):
    """Differences of two softmax gradients, rows at any angle: E[(1 - e^{epsilon - max q})_+], sampled."""
    classes, draws = 3, 40_000
    for mu, epsilon in ((0.1, 0.05), (0.3, 0.5), (1.0, 1.0)):
        unit = mu / math.sqrt(2)  # rows of this norm give gradients of norm mu at most
        for adjacency in ADJACENCIES:
            bound = accounting.objective_delta(objective("simplex", mu=mu, ratio=1e-9), epsilon, adjacency)
            for angle, own in itertools.product((0.0, 1.0, math.pi / 2, 2.5, math.pi), ((0, 0), (0, 1))):
                x, x2 = unit * np.array([1.0, 0.0]), unit * np.array([math.cos(angle), math.sin(angle)])
                eye = np.eye(classes)
                first = [np.outer(eye[j] - eye[own[0]], x) for j in range(classes)]
                second = [np.outer(eye[j] - eye[own[1]], x2) for j in range(classes)]
                pairs = first if adjacency == "add-remove" else [a - b for a in first for b in second]
                vectors = np.array([v.ravel() for v in pairs])
                b = rng.normal(size=(draws, vectors.shape[1]))
                q = (b @ vectors.T + 0.5 * (vectors**2).sum(axis=1)).max(axis=1)
                part = -np.expm1(np.minimum(0.0, epsilon - q))
                # 5 standard errors: false alarm below 1e-6 a case.
                assert part.mean() - 5 * part.std() / math.sqrt(draws) <= bound, (mu, epsilon, adjacency, angle, own)


# --- sampled mechanisms ---------------------------------------------------------------------------------------------
def one_sampled_step(rate, scale, epsilon, adjacency):
    """delta of one Poisson-sampled Gaussian sum, by quadrature over both directions."""
    t = np.linspace(-12 * scale - 1, 12 * scale + 1, 200_001)

    def density(mean):
        return np.exp(-0.5 * ((t - mean) / scale) ** 2) / (scale * math.sqrt(2 * math.pi))

    upper = (1 - rate) * density(0) + rate * density(1)
    lower = density(0) if adjacency == "add-remove" else (1 - rate) * density(0) + rate * density(-1)
    parts = [np.maximum(p - math.exp(epsilon) * q, 0.0) for p, q in ((upper, lower), (lower, upper))]
    return max(float(np.trapezoid(part, t)) for part in parts)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("rate", "scale"), [(0.05, 0.7), (0.5, 1.0), (1.0, 2.0), (0.01, 3.0)])
def test_one_poisson_step(rate, scale, adjacency):
    events = (PoissonGaussian(clip=1.0, scale=scale, rate=rate, count=1),)
    for epsilon in (0.05, 0.3, 1.0, 2.0):
        exact = one_sampled_step(rate, scale, epsilon, adjacency)
        got = accounting.delta(events, epsilon, adjacency)
        assert exact * (1 - 1e-6) <= got <= exact * 1.01 + 1e-9


RELATIONS = {
    "replace-one": dp_accounting.NeighboringRelation.REPLACE_ONE,
    "add-remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_poisson_against_dp_accounting(adjacency):
    events = (PoissonGaussian(clip=2.0, scale=3.0, rate=0.02, count=300),)
    step = dp_accounting.PoissonSampledDpEvent(0.02, dp_accounting.GaussianDpEvent(1.5))
    direct = pld.PLDAccountant(RELATIONS[adjacency]).compose(step, 300)
    renyi = rdp.RdpAccountant(neighboring_relation=RELATIONS[adjacency])
    for delta in (1e-8, 1e-5, 1e-3):
        got = accounting.epsilon(events, delta, adjacency)
        assert got == pytest.approx(direct.get_epsilon(delta), rel=2e-3)
    if adjacency == "add-remove":
        renyi.compose(step, 300)
        assert accounting.epsilon(events, 1e-5, adjacency) <= renyi.get_epsilon(1e-5)


def test_subset_against_dp_accounting():
    events = (SubsetGaussian(clip=2.0, scale=12.0, batch=50, records=5000, count=300),)
    inner = dp_accounting.GaussianDpEvent(12.0 / 4.0)
    direct = rdp.RdpAccountant(neighboring_relation=RELATIONS["replace-one"])
    direct.compose(dp_accounting.SampledWithoutReplacementDpEvent(5000, 50, inner), 300)
    assert accounting.epsilon(events, 1e-5, "replace-one") == pytest.approx(direct.get_epsilon(1e-5), rel=1e-8)


def test_large_subsets_cost_no_more_than_everyone():
    """The Renyi bound alone says 0.15 here, thirty times too much."""
    events = (SubsetGaussian(clip=0.5, scale=3000.0, batch=256, records=500, count=200),)
    everyone = (Gaussian(Sensitivity.of_record(0.5), 3000.0, 200),)
    assert accounting.epsilon(events, 1e-5, "replace-one") <= accounting.epsilon(everyone, 1e-5, "replace-one")


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_full_rate_is_the_plain_gaussian(adjacency):
    sampled = (PoissonGaussian(clip=1.0, scale=20.0, rate=1.0, count=50),)
    plain = (Gaussian(Sensitivity.of_record(1.0), 20.0, 50),)
    for delta in (1e-6, 1e-3):
        exact = accounting.epsilon(plain, delta, adjacency)
        assert accounting.epsilon(sampled, delta, adjacency) == pytest.approx(exact, rel=5e-3)


# --- all events ------------------------------------------------------------------------------------------------------
EVENTS = {
    "gaussian": (Gaussian(Sensitivity.of_record(1.0), 4.0, 3),),
    "two gaussians": (Gaussian(Sensitivity.of_record(1.0), 4.0), Gaussian(Sensitivity(2.0, 3.0), 9.0, 2)),
    "poisson": (PoissonGaussian(clip=1.0, scale=1.5, rate=0.05, count=40),),
    "poisson and gaussian": (
        PoissonGaussian(clip=1.0, scale=1.5, rate=0.05, count=40),
        Gaussian(Sensitivity.of_record(1.0), 10.0, 2),
    ),
    "subset": (SubsetGaussian(clip=1.0, scale=3.0, batch=20, records=1000, count=40),),
    "sphere": (Sphere(Sensitivity.of_record(1.0), 2.0),),
    "objective pure": (
        Objective(slope=1.0, trace=0.25, strength=5.0, scale=3.0, geometry="logistic", outputs=1, noise="sphere"),
        Sphere(Sensitivity(1e-6, 1e-6), 1e-3),
    ),
    **{
        f"objective {geometry}": (objective(geometry, mu=0.2, ratio=0.1), Gaussian(Sensitivity(1e-6, 1e-6), 1e-2))
        for geometry in GEOMETRIES
    },
    "objective one-vs-rest": (objective("logistic", mu=0.2, ratio=0.1, outputs=4),),
}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", list(EVENTS))
def test_delta_and_epsilon_are_inverse_and_monotone(name, adjacency):
    events = EVENTS[name]
    if name == "subset" and adjacency == "add-remove":
        with pytest.raises(PrivacyError, match="replace-one"):
            accounting.delta(events, 1.0, adjacency)
        return
    grid = [0.0, 0.1, 0.3, 0.6, 1.0, 2.0, 5.0]
    deltas = [accounting.delta(events, e, adjacency) for e in grid]
    assert all(a >= b for a, b in itertools.pairwise(deltas))
    assert all(0 <= d <= 1 for d in deltas)
    for target in (1e-9, 1e-6, 1e-3):
        epsilon = accounting.epsilon(events, target, adjacency)
        assert epsilon >= 0
        assert accounting.delta(events, epsilon, adjacency) <= target * (1 + 1e-6)
        if epsilon > 1e-2:
            assert accounting.delta(events, 0.98 * epsilon, adjacency) > target
    curve = [accounting.epsilon(events, d, adjacency) for d in (1e-12, 1e-9, 1e-6, 1e-3, 0.1)]
    assert all(a >= b for a, b in itertools.pairwise(curve))


@pytest.mark.parametrize("name", list(EVENTS))
def test_replacing_costs_at_least_as_much_as_adding(name):
    if name != "subset":
        both = [accounting.epsilon(EVENTS[name], 1e-6, adjacency) for adjacency in ADJACENCIES]
        assert both[0] >= both[1]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_more_noise_costs_less_and_more_rounds_cost_more(adjacency):
    def price(scale=2.0, rate=0.1, count=20):
        return accounting.epsilon((PoissonGaussian(clip=1.0, scale=scale, rate=rate, count=count),), 1e-5, adjacency)

    assert price(scale=8.0) < price() < price(scale=1.5)
    assert price(count=1) < price() < price(count=60)
    assert price(rate=0.01) < price() < price(rate=0.5)


EXTREMES = list(itertools.product((1e-9, 0.5, 1.0), (1e-3, 0.2, 1e5), (1, 10**6)))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_extreme_sampling_ends_with_an_answer(adjacency):
    """No hang, no overflow, no negative epsilon: finite or infinite, and monotone in delta."""
    for rate, scale, count in EXTREMES:
        events = (PoissonGaussian(clip=1.0, scale=scale, rate=rate, count=count),)
        found = [accounting.epsilon(events, delta, adjacency) for delta in (1e-15, 1e-5, 0.3)]
        assert all(e >= 0 for e in found), (rate, scale, count, found)
        assert found == sorted(found, reverse=True), (rate, scale, count, found)


def test_extreme_gaussians_end_with_an_answer():
    for ratio in (1e-12, 1e-3, 1.0, 100.0):
        events = (Gaussian(Sensitivity.of_record(ratio), 1.0, 10**6),)
        found = [accounting.epsilon(events, delta, "add-remove") for delta in (1e-300, 1e-15, 1e-5, 0.5)]
        assert found == sorted(found, reverse=True)
        assert all(e >= 0 for e in found)


def test_pure_events_have_a_price_at_delta_zero_and_others_none():
    assert accounting.epsilon(EVENTS["sphere"], 0.0, "replace-one") == pytest.approx(1.0)
    assert accounting.epsilon(EVENTS["sphere"], 0.0, "add-remove") == pytest.approx(0.5)
    for name in ("gaussian", "poisson", "objective logistic"):
        assert accounting.epsilon(EVENTS[name], 0.0, "replace-one") == math.inf


def test_pure_curve_is_randomised_response():
    """A mechanism with pure epsilon 1 has at most the delta of randomised response below it."""
    top = math.e / (1 + math.e)
    for epsilon in (0.0, 0.4, 0.9):
        exact = top - math.exp(epsilon) * (1 - top)
        assert accounting.delta(EVENTS["sphere"], epsilon, "replace-one") == pytest.approx(exact)


@pytest.mark.parametrize(
    "names",
    [("sphere", "gaussian"), ("poisson", "subset"), ("objective logistic", "objective monotone"), ("poisson", "sphere"),
     ("objective logistic", "poisson"), ("objective pure", "gaussian"), ()],
)  # fmt: skip
def test_unknown_mixtures_are_refused(names):
    events = tuple(event for name in names for event in EVENTS[name])
    with pytest.raises(PrivacyError, match="price"):
        accounting.delta(events, 1.0, "replace-one")


def test_an_adjacency_that_an_event_does_not_cover_is_refused():
    events = (Gaussian(Sensitivity(None, 2.0), 4.0),)
    assert accounting.epsilon(events, 1e-5, "replace-one") > 0
    with pytest.raises(PrivacyError, match="add-remove"):
        accounting.epsilon(events, 1e-5, "add-remove")


def test_gaussian_mu_is_the_inverse_rounded_down():
    for epsilon, delta in itertools.product((0.01, 0.1, 1.0, 10.0), (1e-12, 1e-5, 0.1)):
        mu = accounting.gaussian_mu(epsilon, delta)
        assert accounting.gaussian_delta(mu, epsilon) <= delta
        assert accounting.gaussian_delta(1.0001 * mu, epsilon) > delta


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("geometry", ["logistic", "monotone", "two-sided", "simplex"])
def test_objective_with_a_gaussian_release_is_the_mean_over_its_loss(geometry, adjacency):
    """Against quadrature over the second release's loss, N(x^2/2, x^2), of the first one's own bound."""
    event = Objective(
        slope=1.0,
        trace=0.25,
        strength=4.0,
        scale=3.0,
        geometry=geometry,
        outputs=3 if geometry == "simplex" else 1,
        noise="gaussian",
    )
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    for extra in (0.01, 0.1, 0.3):
        for epsilon in (0.5, 1.0, 2.0):
            losses = extra**2 / 2 + extra * nodes
            # Two-sided slopes have two bounds, each for its range: the mean of the smaller is not what is composed.
            full = 2 * event.slope / event.scale
            wide = math.hypot(full, extra)
            convex = (epsilon - minimisers.log_determinant(event)) ** 2 >= wide**2 + wide**4 / 4
            if geometry == "two-sided" and adjacency == "replace-one" and convex:
                left = epsilon - losses - minimisers.log_determinant(event)
                values = [2 * tails.gaussian_delta(full, e) + 2 * tails.gaussian_delta(0.0, e) for e in left]
                expected = float(weights @ values)
            else:
                cases = minimisers.corners(event, adjacency)
                unit = event.slope / event.scale
                expected = min(
                    float(weights @ [
                        sum(c.count * tails.gaussian_delta(c.norm * unit, epsilon - x - c.offset) for c in case)
                        for x in losses
                    ])
                    for case in cases
                )  # fmt: skip
            found = minimisers.objective_delta(event, epsilon, adjacency, extra)
            assert found == pytest.approx(expected, rel=2e-2, abs=1e-9)
            assert found >= minimisers.objective_delta(event, epsilon, adjacency)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("count", "mu"), [(10_000, 4.0), (100_000, 4.0)])
def test_a_long_composition_loses_no_tail(count, mu, adjacency):
    """Rate 1 is the plain Gaussian mechanism. Fourier transforms lose an absolute mass, which must be charged for."""
    factor = 1 if adjacency == "add-remove" else 2
    events = (PoissonGaussian(clip=1.0, scale=factor * math.sqrt(count) / mu, rate=1.0, count=count),)
    for delta in (1e-6, 1e-8, 1e-10, 1e-12):
        epsilon = accounting.epsilon(events, delta, adjacency)
        assert exact_gaussian(mu, epsilon) <= delta * (1 + 1e-6)
        assert accounting.delta(events, epsilon, adjacency) >= float(exact_gaussian(mu, epsilon)) * (1 - 1e-6)
