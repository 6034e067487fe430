"""Grid, tables and checks of the Euclidean bound and of example (10)."""

import itertools
import math

from papers.engine.figure import Finding, TextTable
from papers.wang_2020 import euclidean

_SETTINGS = {"size": None, "sigma": None, "epsilon": None, "start": None, "records": None, "run": None}


def cells(size):
    """Constants, exact quadratics, the ring, the example: one part a cell."""
    found = [{"part": "letters", "size": d, "sigma": s} for d in (2, 101, 1000) for s in (1.0, 2.0, 3.0)]
    found += [{"part": "constant", "epsilon": e} for e in (0.1, 0.2, 0.3, 1.0)]
    found += [
        {"part": "quadratic", "size": 784, "sigma": s, "start": start}
        for s, start in itertools.product(euclidean.SIGMAS, ("even", "alternating"))
    ]
    found += [
        {"part": "ring", "records": n, "sigma": s, "run": 0}
        for n, s in itertools.product((3_000,) if size.quick else (3_000, 6_000, 12_000), (0.0, 1.0))
    ] + ([] if size.quick else [{"part": "ring", "records": 24_000, "sigma": 1.0, "run": 0}])
    found.append({"part": "example"})
    return [{**_SETTINGS, **cell} for cell in found]


def measure(part, size, sigma, epsilon, start, records, run):
    """One part at one place."""
    if part == "letters":
        return euclidean.letters(size, sigma)
    if part == "constant":
        return euclidean.constant(epsilon)
    if part == "quadratic":
        return euclidean.quadratic(size, sigma, start, 10_000)
    return euclidean.ring(records, sigma, run) if part == "ring" else euclidean.example()


def show(points):
    """A table a part."""
    of = {part: [p for p in points if p["part"] == part] for part in ("letters", "constant", "quadratic", "ring")}
    return [
        TextTable("Constants", ("d", "σ", "ζ", "least eigenvalue of the inverse", "1/(1 + 4σ)", "γ", "1/√(4σ + 1)"),
            tuple((f"{p['size']}", f"{p['sigma']:g}", *(f"{p[y]:.4g}" for y in ("zeta", "least", "bound", "gamma",
                  "limit"))) for p in of["letters"])),
        TextTable("The constant of the Euclidean bound, δ = 1e-5",
            ("ε", "printed, 4√6", "from the paper's proof", "repaired, small steps"),
            tuple((f"{p['epsilon']:g}", *(f"{p[y]:.3g}" for y in ("paper", "proof", "small_steps")))
                  for p in of["constant"])),
        TextTable("Squared gradient of a quadratic, exact mean over the iterates, d = 784",
            ("start", "σ", "Euclidean", "repaired bound", "in the metric of the inverse", "repaired bound there",
             "noise part", "over σ = 0", "γ"),
            tuple((p["start"], f"{p['sigma']:g}", f"{p['euclidean']:.4g}", f"{p['bound']:.4g}", f"{p['induced']:.4g}",
                   f"{p['induced_bound']:.4g}", f"{p['noise']:.3g}", f"{p['euclidean'] / _plain(of, p):.2f}",
                   f"{p['gamma']:.3f}") for p in of["quadratic"])),
        TextTable(f"The ring: squared Euclidean gradient, ε = {euclidean.EPSILON:g}, δ = 1e-5, b = {euclidean.BATCH}",
            ("n", "σ", "T", "at the average", "± 95%", "printed bound", "at a random iterate", "repaired bound"),
            tuple((f"{p['records']:,}", f"{p['sigma']:g}", f"{p['steps']:,}", f"{p['average']:.3g}",
                   f"{1.96 * p['error']:.2g}", f"{p['printed']:.3g}", f"{p['iterate']:.3g}", f"{p['bound']:.3g}")
                  for p in of["ring"])),
        TextTable("Example (10)", ("point", "times", "distance to the minimum", "gradient from inside",
                                   "gradient from outside"),
            tuple((p["point"], f"{p['shrink']:g}", f"{p['distance']:.4g}", f"{p['inside']:.4g}",
                   "" if p["outside"] is None else f"{p['outside']:.1g}")
                  for p in points if p["part"] == "example")),
    ]  # fmt: skip


def check(points, expected):
    """Every sentence about the Euclidean norm, and Proposition 5's last one."""
    said = expected["euclidean"]
    letters, constants, quadratics, rings, places = (
        [p for p in points if p["part"] == part] for part in ("letters", "constant", "quadratic", "ring", "example")
    )
    by_sigma = {s: sorted((p for p in rings if p["sigma"] == s), key=lambda p: p["records"])
                for s in sorted({p["sigma"] for p in rings})}  # fmt: skip
    share = max(p[y] / p[of] for p in rings for y, of in (("iterate", "bound"), ("iterate_induced", "induced_bound")))
    tight = max(p[y] / p[of] for p in quadratics for y, of in (("euclidean", "bound"), ("induced", "induced_bound")))
    over = {start: [p["euclidean"] / _plain({"quadratic": quadratics}, p) for p in quadratics
                    if p["start"] == start and p["sigma"] > 0] for start in ("even", "alternating")}  # fmt: skip
    far = [p for p in letters if p["size"] == max(q["size"] for q in letters)]
    whole = {p["point"]: p for p in places if p["shrink"] == 1}
    half = {p["point"]: p for p in places if p["shrink"] < 1}
    return [
        Finding(said["eigenvalue"], all(p["least"] >= p["bound"] * (1 - 1e-12) and p["zeta"] > 1 for p in letters),
            "ζ at d = 1000: " + ", ".join(f"{p['zeta']:.2f} (σ = {p['sigma']:g})" for p in far) + "."),
        Finding(said["average"], _below(rings),
            "The ring: " + "; ".join(f"σ = {s:g}, n = " + ", ".join(f"{p['records']:,}: {p['average']:.3g} where the "
            f"print allows {p['printed']:.3g}" for p in (mine[0], mine[-1])) for s, mine in by_sigma.items())
            + ". The print halves with each doubling of n, the gradient stays."),
        Finding(said["iterate"], share <= 1 and tight <= 1,
            f"At most {share:.2f} of the bound on the ring, and up to {tight:.3f} of it on quadratics: it can hardly "
            "be better."),
        Finding(said["constant"], all(p["proof"] <= p["paper"] for p in constants),
            f"The proof gives {min(p['proof'] for p in constants):.3g} to {max(p['proof'] for p in constants):.3g} "
            f"where {constants[0]['paper']:.3g} is printed; small steps need {constants[0]['small_steps']:.3g} at "
            f"ε = {constants[0]['epsilon']:g}, so that for a random iterate it holds."),
        Finding(said["worse"], all(ratio < 1 for ratio in over["even"]),
            "Exact squared gradient over that without smoothing: "
            + "; ".join(f"{start} start " + ", ".join(f"{r:.2f}" for r in ratios) for start, ratios in over.items())
            + ". It can be better and it can be worse."),
        Finding(said["gamma"], all(p["gamma"] < 0.01 for p in far),
            f"γ tends to 1/√(4σ + 1), from which it differs by less than "
            f"{max(*(abs(p['gamma'] - p['limit']) for p in far), 1e-15):.1g} at d = 1000; Table 3 says the same."),
        Finding(said["numbers"], all(
                math.isclose(whole[name][y], value, rel_tol=1e-9)
                for name, distance, slope in (("a1", 2.0, 1.0), ("a2", math.sqrt(7) / 2, math.sqrt(13) / 2))
                for y, value in (("distance", distance), ("inside", slope))),
            "Distances 2 and √7/2, gradients 1 and √13/2, from inside the ellipse."),
        Finding(said["differentiable"], all(math.isclose(p["inside"], p["outside"], abs_tol=1e-9)
                                            for p in whole.values()),
            "Both points lie on the ellipse where the two pieces meet, and the gradient from outside is 0 there."),
        Finding(said["half"], half["a2"]["distance"] < half["a1"]["distance"] and
            half["a2"]["inside"] > half["a1"]["inside"],
            f"Distances {half['a1']['distance']:.3g} and {half['a2']['distance']:.3g}, gradients "
            f"{half['a1']['inside']:.3g} and {half['a2']['inside']:.3g}."),
    ]  # fmt: skip


def _below(points):
    """Is the gradient at the average below the print everywhere (five standard errors)? None where nobody can tell."""
    if any(p["average"] - 5 * p["error"] > p["printed"] for p in points):
        return False
    return True if all(p["average"] + 5 * p["error"] <= p["printed"] for p in points) else None


def _plain(parts, point):
    (found,) = (p for p in parts["quadratic"] if p["start"] == point["start"] and p["sigma"] == 0)
    return found["euclidean"]
