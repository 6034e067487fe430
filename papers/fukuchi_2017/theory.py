"""Section 3.5 (the alpha trade-off) and Table 1 (rates) with numbers: the paper's formulas, exact prices, simulations.

The simulations run on made-up records in the census setting (``tacit.protocol.expect.synthetic``): no one's data.
"""

import itertools
import math
from dataclasses import replace

import numpy as np

from papers.engine.figure import Finding, TextTable, panels
from papers.fukuchi_2017.census import (
    DELTA,
    EPSILONS,
    NOISES,
    asked,
    input_numbers,
    input_status,
    named,
    objective_noise,
    objective_status,
    power_of_two,
    setting_of,
    sizes,
)
from tacit.linear.solvers.ball import minimise
from tacit.mechanisms.input import record_epsilon
from tacit.mechanisms.input_plan import corollary_1, proven, published
from tacit.privacy import accounting
from tacit.privacy.noise import SeededSource, gaussian
from tacit.protocol.expect import Published, balance, excess_bound, risk, simulate, synthetic
from tacit.types import Budget

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0)
FEATURES = 14


def alpha_points(calibration, cohort, epsilon, trials):
    """Both epsilons and the excess risk over alpha, our price of the model, and what Corollary 1 says of the record."""
    setting, budget = setting_of("regression", FEATURES, cohort), Budget(epsilon, DELTA)
    points = []
    for found in balance(setting, budget, ALPHAS, calibration=calibration, trials=trials):
        part = Budget(found.model_epsilon, DELTA)
        scale = math.sqrt(2 / (part.epsilon * cohort)) * setting.row  # the row noise that balance() takes
        numbers = published(setting, part, None) if calibration == "paper" else proven(setting, part, None, None, scale)
        points.append({
            "method": calibration, "status": input_status(numbers, cohort, part), "alpha": found.alpha,
            "model": found.model_epsilon, "price": accounting.epsilon(numbers.events(cohort), DELTA, "replace-one"),
            "record": found.record_epsilon, "corollary": corollary_1(numbers, DELTA / 2)[0],
            "excess": found.simulated, "bound": found.bound,
        })  # fmt: skip
    return points


def simulated_objective(setting, noise, strong, trials, seed=0):
    """The mean excess risk of central objective perturbation on the same made-up records as Input's."""
    source = SeededSource((seed, 17))
    second, cross = (setting.cohort * part for part in synthetic(setting, source))
    best = minimise(second, cross, setting.radius).weights
    ridge = second + strong * np.eye(setting.features)
    risks = [
        risk(second, cross, setting.cohort, minimise(ridge, cross + pull, setting.radius).weights)
        for pull in (noise * gaussian(source, (setting.features,)) for _ in range(trials))
    ]
    return float(np.mean(risks)) - risk(second, cross, setting.cohort, best)


def rates(setting, budget):
    """Table 1's utility column with constants of one: eta zeta sqrt(d log(1/delta)) / (epsilon n), and its twin."""
    lipschitz = setting.row**2 * setting.radius + setting.cross
    front = setting.radius * lipschitz * math.sqrt(setting.features) / (budget.epsilon * setting.cohort)
    plain = front * math.sqrt(math.log(1 / budget.delta))
    return {"objective": plain, "gradient": front * math.log(setting.cohort / budget.delta), "input": plain}


def rate_points(epsilon, largest, trials):
    """Table 1 at one epsilon: rate, bound with its constants, and simulated excess risk, over the number of records."""
    points = []
    for n in sizes(largest):
        setting, budget = setting_of("regression", FEATURES, n), Budget(epsilon, DELTA)
        rate = rates(setting, budget)
        points.append({
            "method": "Gradient descent", "status": None, "n": n, "rate": rate["gradient"], "bound": None,
            "excess": None, "record": None, "corollary": None,
        })  # fmt: skip
        for calibration in ("proven", "paper"):
            noise, strong = objective_noise(setting, budget, calibration)
            points.append({
                "method": f"Objective ({calibration})", "status": objective_status(setting, budget, noise, strong),
                "n": n, "rate": rate["objective"], "bound": None,
                "excess": simulated_objective(setting, noise, strong, trials), "record": None, "corollary": None,
            })  # fmt: skip
        for calibration, numbers in input_numbers(setting, budget).items():
            paper = calibration == "paper"
            bound = Published.of(numbers, budget).theorem_2(setting.radius) if paper else excess_bound(numbers, n)
            points.append({
                "method": f"Input ({calibration})", "status": input_status(numbers, n, budget),
                "n": n, "rate": rate["input"], "bound": bound, "excess": simulate(numbers, setting, n, trials=trials),
                "record": record_epsilon(numbers, DELTA), "corollary": corollary_1(numbers, DELTA / 2)[0],
            })  # fmt: skip
    return points


def alpha_cells(size):
    """One cell a calibration."""
    trials = size.pick(200, 20)
    shared = {"cohort": 2**17, "epsilon": 1.0, "trials": trials}
    return [{"calibration": kind, **shared} for kind in ("proven", "paper")]


def show_alpha(points):
    """The model's epsilon, the record's (exact and by Corollary 1) and the excess risk, over alpha; then as a table."""
    points = [{**p, "method": NOISES[p["method"]]} for p in points]
    names = {
        "model": "epsilon of the model, stated", "price": "epsilon of the model that we can prove",
        "record": "epsilon of a record, exact",
        "corollary": "epsilon of a record by Corollary 1 (refuted)", "excess": "excess risk, simulated",
    }  # fmt: skip
    drawn = []
    for y, name in names.items():
        for panel in panels(points, x="alpha", y=y, x_scale="log", y_scale="log", y_name=name):
            drawn.append(replace(panel, title=name))
    head = ("noise", "alpha", *names.values(), "excess risk, bound")
    rows = [
        (p["method"], f"{p['alpha']:g}", *(f"{p[y]:.3g}" for y in ("model", "price")),
         *(_large(p[y]) for y in ("record", "corollary")), *(f"{p[y]:.3g}" for y in ("excess", "bound")))
        for p in points
    ]  # fmt: skip
    return [*drawn, TextTable("The trade-off of section 3.5 at epsilon = 1", head, tuple(rows))]


def check_alpha(points, expected):
    """What section 3.5 says of the model, of a record and of the excess risk, against what is computed.

    With our noise only the excess risk is asked: its model is private by construction, its row noise is the paper's,
    and Corollary 1 is about Algorithm 1.
    """
    says, found = expected["section_3_5"], []
    for kind in NOISES:
        mine = sorted((p for p in points if p["method"] == kind), key=lambda p: p["alpha"])
        power = {y: _power_law(mine, "alpha", y) for y in ("record", "corollary", "excess", "bound")}
        if kind == "paper":
            found += _of_section_3_5(mine, power, says)
        found.append(Finding(asked(kind, f"The excess risk is O(1/(alpha n)) ({NOISES[kind]})."),
            all(p["excess"] <= p["bound"] for p in mine),
            f"The bound with its constants goes as alpha^{power['bound']:.2f}, the simulated excess as "
            f"alpha^{power['excess']:.2f}; {_above(mine)}."))  # fmt: skip
    return found


def _of_section_3_5(mine, power, says):
    """The model's epsilon and the record's, with the published noise."""
    covered = [p["price"] <= p["model"] for p in mine]
    above = max(p["record"] / p["corollary"] for p in mine)
    least = says["record_power"] - says["tolerance"]
    return [
        Finding("The model is (alpha epsilon, delta)-private (published noise).",
            True if all(covered) else None,  # no price refutes what a paper claims
            f"What we can prove is {min(p['price'] / p['model'] for p in mine):.2f} to "
            f"{max(p['price'] / p['model'] for p in mine):.2f} times alpha epsilon."),
        Finding("A smaller alpha lowers a record's epsilon, at least as the square root of alpha "
                f"(taken as: alpha^{least:g} or steeper) (published noise).",
            power["record"] >= least,
            f"Exact price: alpha^{power['record']:.2f}; Corollary 1: alpha^{power['corollary']:.2f}."),
        Finding("A record's epsilon is at most what Corollary 1 states (published noise).", above <= 1,
            f"Up to {above:.3g} times as much: {mine[-1]['record']:,.0f} where {mine[-1]['corollary']:,.0f} is "
            "stated, at alpha = 1."),
    ]  # fmt: skip


def _above(points):
    """How far the bound is from what was simulated."""
    times = [p["bound"] / p["excess"] for p in points]
    if min(times) < 1:
        return "a simulated value is above the bound"
    return f"the bound is {min(times):,.0f} to {max(times):,.0f} times the simulated value"


def rate_cells(size):
    """One cell an epsilon."""
    trials = size.pick(100, 10)
    return [{"epsilon": e, "largest": 15 if size.quick else 21, "trials": trials} for e in EPSILONS]


def show_rates(points):
    """Excess risk over n, Table 1 with numbers at the largest n, and a record's epsilon over n."""
    shown = [{**p, "method": named(p["method"])} for p in points]
    drawn = panels(shown, x="n", y="excess", by="epsilon", x_scale="log", y_scale="log", x_name="records",
                   y_name="excess risk, simulated")  # fmt: skip
    drawn = [replace(panel, title=f"epsilon = {panel.title}") for panel in drawn]
    largest = max(p["n"] for p in points)
    head = ("epsilon", "method", "status", "rate of Table 1, constant 1", "bound with constants",
            "excess risk, simulated", "epsilon of a record, exact", "by Corollary 1")  # fmt: skip
    rows = tuple(
        (f"{p['epsilon']:g}", p["method"], p["status"] or "",
         *("" if p[y] is None else f"{p[y]:.3g}" for y in ("rate", "bound", "excess")),
         *("" if p[y] is None else _large(p[y]) for y in ("record", "corollary")))
        for p in shown if p["n"] == largest
    )  # fmt: skip
    table = TextTable(f"Table 1 with numbers, n = {power_of_two(largest)}, d = {FEATURES}", head, rows)
    return [*drawn, table, _records(points)]


def _records(points):
    """A record's epsilon over n: exact, with either noise, and what Corollary 1 states of the published one."""
    inputs = [p for p in points if p["method"].startswith("Input")]
    places, rows = sorted({p["n"] for p in inputs}), []
    for epsilon, (kind, y, words) in itertools.product(
        EPSILONS,
        (("paper", "record", "published noise"), ("paper", "corollary", "published noise, by Corollary 1 (refuted)"),
         ("proven", "record", "our noise")),
    ):  # fmt: skip
        mine = {p["n"]: p[y] for p in inputs if (p["epsilon"], p["method"]) == (epsilon, f"Input ({kind})")}
        rows.append((f"{epsilon:g}", words, *(_large(mine[n]) if n in mine else "" for n in places)))
    return TextTable("A record's epsilon", ("epsilon", "noise", *map(power_of_two, places)), tuple(rows))


def _large(value):
    if math.isinf(value):
        return "not computed"  # beyond what is priced in double precision
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def check_rates(points, expected):
    """Excess risk O(1/n), as objective perturbation, and below the bounds; a record's epsilon O(sqrt(n))."""
    says, found = expected["table_1"], []
    limit = says["utility_power_of_n"] + says["tolerance"]
    for epsilon, kind in itertools.product(EPSILONS, NOISES):
        mine, other = (
            sorted(
                (p for p in points if p["epsilon"] == epsilon and p["method"] == f"{m} ({kind})"), key=lambda p: p["n"]
            )
            for m in ("Input", "Objective")
        )
        tail, others = mine[len(mine) // 2 :], other[len(other) // 2 :]
        slopes = [_power_law(part, "n", "excess") for part in (tail, others)]
        ratios = [p["excess"] / q["excess"] for p, q in zip(tail, others, strict=True)]
        place = f"(epsilon = {epsilon:g}, {NOISES[kind]})"
        words = f"{_sizes(tail)}: Input n^{slopes[0]:.2f}, Objective n^{slopes[1]:.2f}"
        asks = [s <= limit for s in (slopes if kind == "paper" else slopes[:1])]
        found.append(Finding(
            asked(kind, f"The expected excess risk of Input is O(1/n){', as that of Objective' * (kind == 'paper')} "
                        f"(taken as: n^{limit:g} or steeper) {place}."),
            all(asks) and all(p["excess"] <= p["bound"] for p in mine),
            f"{words}; {min(ratios):.2f} to {max(ratios):.2f} times Objective's; {_above(mine)}.",
        ))  # fmt: skip
        if kind == "paper":  # the row noise of the other calibration follows a rule of ours
            found.append(_difference(place, tail, others, says))
            found.append(_growth(place, [p for p in tail if math.isfinite(p["record"])], says))
    return found


def _difference(place, ours, others, says):
    """Both excesses are positive, so their difference is at most the larger: that can show it, and not refute it."""
    limit = says["difference_power_of_n"] + says["tolerance"]
    larger = [{"n": p["n"], "excess": max(p["excess"], q["excess"])} for p, q in zip(ours, others, strict=True)]
    slope = _power_law(larger, "n", "excess")
    return Finding(
        f"The excess risks of Input and Objective differ by O(1/n^{-says['difference_power_of_n']:g}) "
        f"(taken as: n^{limit:g} or steeper) {place}.",
        True if slope <= limit else None,
        f"{_sizes(ours)}: the larger of the two goes as n^{slope:.2f}, and the difference is at most that.",
    )


def _growth(place, tail, says):
    """How a record's epsilon grows with n, over sizes at which its exact price is a finite number."""
    record, stated = (_power_law(tail, "n", y) if len(tail) > 1 else math.nan for y in ("record", "corollary"))
    limit = says["record_power_of_n"] + says["tolerance"]
    return Finding(
        f"A record's epsilon is O(sqrt(n)) (taken as: at most n^{limit:g}) {place}.",
        None if math.isnan(record) else record <= limit,
        f"{_sizes(tail)}: n^{record:.2f}, exactly; Corollary 1: n^{stated:.2f}.",
    )


def _sizes(points):
    return f"From {power_of_two(points[0]['n'])} to {power_of_two(points[-1]['n'])}" if points else "At no size"


def _power_law(points, x, y):
    first, last = points[0], points[-1]
    return math.log(last[y] / first[y]) / math.log(last[x] / first[x])
