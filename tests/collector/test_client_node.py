"""The browser's client gives what Python gives, to the last bit: shared vectors, and random records and words."""

import copy
import hashlib
import itertools
import json
import math

import mpmath
import numpy as np
import pytest
from client_bench import CLIENT, Node, check_vectors, needs_node, same, vectors, vectors_job
from make_vectors import CROSS, ROW, VECTORS, Script, answers_of, case, protocols, text
from make_vectors import vectors as made_anew

from tacit.collector.checksums import hashes
from tacit.mechanisms.input import InputNumbers, record_epsilon
from tacit.privacy import accounting, normals
from tacit.protocol.agreement import Protocol
from tacit.protocol.facts import facts
from tacit.schema import Schema, Target

COMMON = {"epsilon": 1.0, "delta": 1e-6, "cohort": 5000}
RECORDS = 60


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    return Node(tmp_path_factory.mktemp("node"))


@pytest.fixture(scope="module")
def sound():
    return facts(protocols()["mixed"])


def changed(known, path, value):
    """A copy of the facts with another value at a path of names."""
    found = copy.deepcopy(known)
    place = found
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return found


def test_the_script_still_gives_the_vectors():
    assert VECTORS.read_text(encoding="utf-8") == text(made_anew()), "run tests/collector/make_vectors.py, and say why"


def test_the_vectors_reach_every_branch():
    """More words than draws: second words, both tails, draws again, and digits where the first do not decide."""
    words = {draw["name"]: len(draw["words"]) - draw["count"] for draw in vectors()["draws"]}
    assert words["all borders at once"] == 40
    assert words["a border of rows"] == 1
    assert words["tail, more than 64 heads"] >= 4
    assert {words[f"on the curve {i}, {end}"] for i in range(5) for end in ("twice, below", "three times")} >= {5, 7}
    kept = {draw["name"]: int(draw["whole"][0]) for draw in vectors()["draws"]}
    assert kept["upper tail, kept"] > 6 * CROSS
    assert kept["lower tail on the curve, kept"] < -6 * CROSS


@needs_node
def test_vectors(node):
    expected = vectors()
    check_vectors(node.run(vectors_job(expected)), expected)


def random_answers(rng, protocol):
    """A record within, at, or far beyond the bounds, with answers missing."""
    if protocol.schema is None:
        scale = 10.0 ** rng.integers(-12, 12)
        return (rng.standard_normal(protocol.columns) * scale).tolist()
    found = {}
    for column in protocol.schema.columns:
        if rng.random() < 0.1:
            found[column.name] = None
        elif column.values:
            found[column.name] = column.values[rng.integers(len(column.values))]
        else:
            width = column.upper - column.lower
            found[column.name] = float(column.lower + width * rng.uniform(-0.1, 1.1))
    return found


def random_target(rng, protocol):
    if protocol.target.classes is not None:
        return protocol.target.classes[rng.integers(2)]
    return float(rng.uniform(protocol.target.lower - 1, protocol.target.upper + 1))


@needs_node
def test_random_records_and_words(node, rng):
    """Whatever the record and the words: the same submission, content and number of words."""
    studies = []
    for name, protocol in protocols().items():
        pairs = [(random_answers(rng, protocol), random_target(rng, protocol)) for _ in range(RECORDS)]
        cases = [case(protocol, *pair, Script(f"random {name} {i}")) for i, pair in enumerate(pairs)]
        studies.append({"facts": facts(protocol), "cases": cases})
    for study, found in zip(studies, node.run({"studies": studies})["studies"], strict=True):
        assert all(same(got, study["facts"], one) for got, one in zip(found, study["cases"], strict=True))


@needs_node
def test_random_words_of_rare_kinds(node, rng):
    """Words of which most choose a crossed box, a tail, or none, with few different digits: all rare paths together."""
    draws, table = [], normals._TABLE
    entries = [*range(table.quick, table.boxes, 97), *([table.boxes, table.boxes + 1] * 6), table.boxes + 2, 5]
    for i in range(60):
        size = 40
        chosen = [(int(rng.choice(entries)) << 49) | int(rng.integers(2**49) >> rng.integers(49)) for _ in range(size)]
        small = [int(rng.integers(2**63) >> rng.integers(63)) for _ in range(2 * size)]
        ratio = float([ROW, CROSS, 3.7, 2.0**50][i % 4])
        source = Script(f"rare {i}", (*chosen, *small))
        numbers = normals.whole(source, size, ratio)
        draws.append({"words": source.hexadecimal(), "count": size, "ratio": ratio, "whole": numbers.tolist()})
    for got, draw in zip(node.run({"draws": draws})["draws"], draws, strict=True):
        assert got == {"whole": list(map(str, draw["whole"])), "left": 0}


@needs_node
def test_what_is_exact_is_what_noise_was_added_to(node):
    """What the page shows beside a submission: what is left is the noise, the same for all records."""
    protocol = protocols()["vector"]
    cases = [case(protocol, answers, 2, Script("the same")) for answers in answers_of(protocol)]
    (found,) = node.run({"studies": [{"facts": facts(protocol), "cases": cases}]})["studies"]
    noise = {tuple(np.subtract(one["submission"][part], one["exact"][part])) for one in found for part in "q"}
    assert len(noise) == 1
    assert len({tuple(one["exact"]["q"]) for one in found}) > 4


WRONG = [
    (("format",), "other"), (("version",), 2), (("protocol",), "ff"), (("protocol",), None), (("delta",), 0.0),
    (("clip",), 0.0), (("clip",), -1.0), (("clip",), 1e60), (("clip",), "1"), (("clip",), None), (("slope",), 0),
    (("curvature",), 1e-60), (("root",), 0.25), (("intercept",), -0.5), (("intercept",), 0), (("features",), 3),
    (("width",), 0), (("row", "scale"), 0.0), (("row", "scale"), 1e-3), (("row", "scale"), None), (("row",), None),
    (("row", "step"), 3e-7), (("row", "step"), 0.0), (("row", "step"), 2.0), (("row", "step"), 2.0**-60),
    (("cross", "scale"), 1e-9), (("cross", "scale"), 1e9), (("cross", "step"), 2.0**-20), (("cross", "limit"), 0),
    (("row", "limit"), 1.5), (("row", "limit"), 2**60), (("rounding", "step"), 0.1), (("rounding", "limit"), 1.5),
    (("rounding", "limit"), 0), (("predicting", "step"), -1.0), (("encoding", "factor"), 0),
    (("encoding", "limit"), 2.0), (("encoding", "columns", 0, "kind"), "constructor"), (("encoding",), 3),
    (("encoding", "columns", 0, "upper"), 18.0), (("encoding", "columns", 0, "width"), 2),
    (("encoding", "columns", 2, "keys", 0), "clerk"), (("encoding", "columns", 3, "points", 0), 1.5),
    (("encoding", "pairs"), []), (("target", "classes"), ["no"]), (("target", "classes"), ["no", "no"]),
]  # fmt: skip


@needs_node
def test_facts_that_are_not_sound_are_refused(node, sound):
    """Noise that is too small, or none, is never drawn silently."""
    given = [changed(sound, path, value) for path, value in WRONG] + [None, [], "facts", {}]
    found = node.run({"prepared": [*given, sound]})["prepared"]
    assert found.pop() is True
    assert [getattr(one, "get", str)("refused") for one in found] == ["facts"] * len(given)


@needs_node
def test_limits_that_honest_numbers_might_pass_are_refused(node):
    """A smaller limit would choose among draws; Python's own are accepted, whatever the study."""
    known = [facts(protocol) for protocol in protocols().values()]
    less = [
        changed(one, (part, "limit"), int(0.999 * one[part]["limit"])) for one in known for part in ("row", "cross")
    ]
    found = node.run({"prepared": [*known, *less]})["prepared"]
    assert found[: len(known)] == [True] * len(known)
    assert [one["refused"] for one in found[len(known) :]] == ["facts"] * len(less)


@needs_node
def test_a_delta_beside_which_epsilon_says_nothing_is_refused(node, sound):
    """In the facts, and in what is stated of a record: the noise of an honest study, and of none at all."""
    stated = [{"epsilon": 1e6, "delta": delta} for delta in (0.011, 0.5, 0.9999, 0.01)]
    found = node.run(
        {
            "prepared": [changed(sound, ("delta",), delta) for delta in (0.011, 0.9999, 0.01)],
            "confirmed": [{"facts": sound, "stated": one} for one in stated],
        }
    )
    assert [one if one is True else one["refused"] for one in found["prepared"]] == ["facts", "facts", True]
    assert [one["refused"] for one in found["confirmed"][:3]] == ["price"] * 3
    assert found["confirmed"][3] > 0


@needs_node
def test_rows_longer_than_the_clip_are_refused_whatever_the_facts_say(node):
    """A factor or a limit that a server made up cannot make a row longer than its noise was made for."""
    protocol = protocols()["mixed, box"]
    known, one = facts(protocol), case(protocol, answers_of(protocol)[0], "yes", Script("long"))
    coarse, other = facts(protocols()["vector"]), case(protocols()["vector"], [0.55] * 5, 2, Script("coarse"))
    studies = [(changed(known, ("encoding", "factor"), 100.0), one), (known, one)]
    studies += [(changed(coarse, ("rounding", "step"), 1.0), other), (coarse, other)]
    found = node.run({"studies": [{"facts": facts, "cases": [case]} for facts, case in studies]})["studies"]
    (longer,), (plain,), (rounded,), (fine,) = found
    row, most = np.array(longer["exact"]["q"][:-1]) * known["row"]["step"], known["clip"] * known["root"]
    assert 0.999 * most < np.linalg.norm(row) < 1.000001 * most  # longer than the record, and no longer than the clip
    assert longer["exact"] != plain["exact"]
    assert rounded["refused"] == "facts"  # five halves of a step and more, each rounded up to a whole one
    assert same(plain, known, one)
    assert same(fine, coarse, other)


@needs_node
def test_answers_that_are_not_declared_are_refused(node, sound):
    answers, words = answers_of(protocols()["mixed"])[0], Script("none")
    words.words(200)
    wrong = {"age": "44", "job": "pilot", "income": True, "height": [1.6], "hours": {}}
    cases = [{"answers": answers | {name: value}, "target": "yes"} for name, value in wrong.items()]
    cases += [{"answers": {k: v for k, v in answers.items() if k != "dose"}, "target": "yes"}]
    cases += [{"answers": answers, "target": target} for target in ("Yes", None, 1)]
    cases += [{"answers": None, "target": "yes"}]
    (found,) = node.run(
        {"studies": [{"facts": sound, "cases": [one | {"words": words.hexadecimal()} for one in cases]}]}
    )["studies"]
    assert [one["refused"] for one in found] == ["answer"] * 6 + ["target"] * 3 + ["answer"]
    assert not any(str(value) in one["sentence"] for one, value in zip(found, wrong.values(), strict=False))


@needs_node
def test_a_submission_beyond_the_limits_is_refused_and_not_drawn_again(node):
    """Forced words far out in the tail, and no more of them than one draw takes."""
    known = facts(protocols()["vector"])
    size = known["features"]
    far = [normals._TABLE.boxes << 49] * size + [2**24 - 1, 0, 0] * size  # each is 18 deviations out
    one = {"answers": [0.1] * known["width"], "target": 2, "words": [f"{w:016x}" for w in far * 2]}
    (found,) = node.run({"studies": [{"facts": known, "cases": [one]}]})["studies"]
    assert found[0]["refused"] == "long"


@needs_node
def test_the_price_of_a_record(node):
    """delta of a Gaussian mechanism against mpmath, in all tails; never below it, and above by less than 1e-9."""
    pairs = [
        (mu, epsilon)
        for mu, epsilon in itertools.product(
            (1e-6, 0.01, 0.3, 1.0, 4.0, 30.0, 200.0), (0.0, 1e-6, 0.1, 1.0, 8.0, 300.0)
        )
        if epsilon / mu - mu / 2 < 35
    ]
    found = node.run({"deltas": pairs})["deltas"]
    for (mu, epsilon), got in zip(pairs, found, strict=True):
        with mpmath.workdps(600):
            m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
            a, b = (e / m - m / 2) / mpmath.sqrt(2), (e / m + m / 2) / mpmath.sqrt(2)
            exact = (mpmath.erfc(a) - mpmath.exp(e) * mpmath.erfc(b)) / 2
            assert exact <= got <= exact * (1 + mpmath.mpf("3e-10")), (mu, epsilon)


@needs_node
@pytest.mark.parametrize("row", [0.3, 1e4])
@pytest.mark.parametrize("intercept", [0.5, 6.0])
def test_whichever_two_records_differ_most(node, sound, row, intercept):
    """Opposite rows where the row noise is small, opposite targets where it is large; a constant beyond the clip."""
    numbers = InputNumbers(
        features=40, cohort=10, clip=1.3, intercept=intercept, curvature=0.7, slope=0.4, radius=1.0, row_scale=row,
        cross_scale=2.9, strength=1.0, tail=1e-9, honest=1.0,
    )  # fmt: skip
    parts = zip(("row", "cross"), (row, 2.9), numbers.steps, numbers.limits, strict=True)
    known = sound | {name: {"scale": s, "step": h, "limit": most} for name, s, h, most in parts}
    known |= {"features": 40, "width": 39, "clip": 1.3, "intercept": intercept, "curvature": 0.7, "slope": 0.4}
    known |= {"root": math.sqrt(0.7), "encoding": None}
    (found,) = node.run({"epsilons": [{"facts": known, "delta": 1e-6}]})["epsilons"]
    stated = record_epsilon(numbers, 1e-6)
    assert (len(numbers.record_events) == 1) == (row > 1)
    assert found <= stated <= found * (1 + 1e-8)


@needs_node
def test_exponentials(node):
    """Against mpmath, to two units of the last digit, whatever the number of digits."""
    jobs = [(t, shift, digits) for t in (0, 1, 7**50, 3**95) for shift in (140, 163) for digits in (8, 128, 364, 1200)]
    for (t, shift, digits), got in zip(
        jobs, node.run({"exponentials": [list(map(str, j)) for j in jobs]})["exponentials"], strict=True
    ):
        with mpmath.workprec(digits + 200):
            exact = mpmath.exp(-mpmath.mpf(t) / 2**shift) * 2 ** (digits + got["halvings"])
            assert abs(int(got["mantissa"]) - exact) <= 2
            assert exact >= 2 ** (digits - 1)  # as many digits as were asked for


@needs_node
def test_the_page_confirms_a_stated_epsilon_and_refuses_a_better_one(node):
    """For any number of columns and any noise: the page's epsilon is at most Python's, and nearly that."""
    jobs, truth = [], []
    for columns, asked, delta in ((1, 0.5, 1e-9), (40, 60.0, 1e-3), (3, None, 1e-6), (200, 3.0, 1e-12)):
        protocol = Protocol.create(
            epsilon=2.0, delta=delta, cohort=20000, columns=columns, target=Target("t", (0, 1)), record_epsilon=asked
        )
        stated = protocol.record_guarantee()
        truth += [record_epsilon(protocol.numbers, delta), None]
        assert stated.epsilon == truth[-2]
        jobs += [
            {"facts": facts(protocol), "stated": {"epsilon": epsilon, "delta": delta}}
            for epsilon in (stated.epsilon, stated.epsilon * (1 - 1e-7))
        ]
    for got, epsilon in zip(node.run({"confirmed": jobs})["confirmed"], truth, strict=True):
        if epsilon is None:
            assert got["refused"] == "price"
        else:
            assert got <= epsilon <= got * (1 + 1e-8)


@needs_node
def test_predictions(node, rng):
    """Scores, probabilities and values of fitted models, as Python's."""
    jobs, expected = [], []
    for name in ("mixed", "mixed, box", "mixed, bounds", "vector", "vector, bounds"):
        protocol = protocols()[name]
        weights = rng.standard_normal(protocol.numbers.features)
        model = protocol.model(weights, protocol.prepared(5000))
        for answers in answers_of(protocol):
            table = np.array([answers]) if protocol.schema is None else {k: [v] for k, v in answers.items()}
            rows = table if protocol.schema is None else protocol.schema.encode(table, protocol.numbers.clip)
            numbers = {"coef": np.asarray(model.coef_).tolist(), "intercept": np.asarray(model.intercept_).tolist()}
            jobs.append({"facts": facts(protocol), "answers": answers, "model": numbers})
            if protocol.target.classes is None:
                expected.append(("value", model.predict(rows)[0]))
            else:
                expected.append(("probability", model.predict_proba(rows)[0, 1]))
    found = node.run({"scores": [*jobs, jobs[0] | {"model": {"coef": [1.0], "intercept": 0.0}}]})["scores"]
    assert found.pop()["refused"] == "model"
    for got, (word, value) in zip(found, expected, strict=True):
        assert math.isclose(got[word], value, rel_tol=1e-12, abs_tol=1e-12)


@needs_node
def test_blake2b(node, rng):
    """Against hashlib, for messages around the ends of blocks."""
    jobs, expected = [], []
    for length in (0, 1, 8, 127, 128, 129, 255, 256, 257, 1000):
        message, key, person = (rng.bytes(n) for n in (length, 1 + length % 64, 16))
        size = 1 + length % 64
        jobs.append({"size": size, "key": list(key), "person": list(person), "message": list(message)})
        expected.append(hashlib.blake2b(message, digest_size=size, key=key, person=person).hexdigest())
    assert node.run({"hashes": jobs})["hashes"] == expected


def test_facts_are_json_that_keeps_every_digit():
    for protocol in protocols().values():
        known = facts(protocol)
        assert json.loads(json.dumps(known, allow_nan=False)) == known
        assert known["protocol"] == protocol.fingerprint
        assert accounting.epsilon(protocol.numbers.record_events, known["delta"], "replace-one") < math.inf


def test_what_a_browser_cannot_do_is_said():
    large = Schema.from_dict({"columns": {"id": {"values": [1, 2**60]}}, "target": {"name": "t", "classes": [0, 1]}})
    with pytest.raises(ValueError, match="declare them as text"):
        facts(Protocol.create(**COMMON, schema=large))
    with pytest.raises(ValueError, match="declare them as text"):
        facts(Protocol.create(**COMMON, columns=1, target=Target("t", (1, 2**60))))


def test_no_other_randomness_and_nothing_of_strangers():
    """The client has one source of randomness, and imports its own files only."""
    for path in CLIENT.glob("*.js"):
        code = path.read_text(encoding="utf-8")
        assert "Math.random" not in code, path.name
        assert ("getRandomValues" in code) == (path.name == "source.js")
        assert all(part.startswith('"./') for part in code.split(" from ")[1:] if part[0] == '"'), path.name
        assert not any(word in code for word in ("eval(", "innerHTML", "fetch(", "localStorage", "http"))
        assert len(code.splitlines()) <= 400


def test_hashes_of_what_is_served(tmp_path):
    """All files, wherever they lie, by their bytes; `sha256sum` gives the same."""
    found = hashes()
    assert {f"client/{path.name}" for path in CLIENT.iterdir()} <= found.keys()
    assert list(found) == sorted(found)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.js").write_bytes(b"abc")
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert hashes(tmp_path) == {"a/b/c.js": abc}
