"""Contributors, database, model user: the same result as in one process, and nothing lost, doubled or let in."""

import functools
import json
import math
import multiprocessing
import os
import signal

import numpy as np
import pytest

from tacit import LinearRegression, LogisticRegression, PrivacyError
from tacit.mechanisms import InputPerturbation
from tacit.mechanisms.moments import Sums
from tacit.privacy.noise import SeededSource
from tacit.protocol import Database, Protocol, Submission
from tacit.protocol import database as words
from tacit.schema import Category, Number, Schema, Target

NUMBER = Target("y", lower=-1, upper=1)
LABEL = Target("y", classes=(0, 1))


@functools.cache
def protocol_for(target=NUMBER, cohort=400, **more):
    return Protocol.create(epsilon=2.0, delta=1e-3, cohort=cohort, columns=3, target=target, **more)


@pytest.fixture
def people(rng):
    X = rng.normal(size=(400, 3))
    return X, X @ [0.4, -0.3, 0.1] + 0.05 * rng.normal(size=400)


def same(one, other):
    assert one.count == other.count
    assert (one.second == other.second).all()
    assert (one.cross == other.cross).all()


def test_protocol_round_trip_and_fingerprint():
    protocol = protocol_for(purpose="a study", record_epsilon=20.0)
    again = Protocol.from_json(protocol.to_json())
    assert again == protocol
    assert again.fingerprint == protocol.fingerprint
    assert protocol_for().fingerprint != protocol.fingerprint
    data = json.loads(protocol.to_json())
    data["numbers"]["cross_scale"] *= 0.5
    with pytest.raises(PrivacyError, match="changed"):
        Protocol.from_json(json.dumps(data))
    from tacit.privacy.guarantee import checksum

    data["fingerprint"] = checksum({k: v for k, v in data.items() if k != "fingerprint"})[:32]
    with pytest.warns(match="CLAIMED"), pytest.raises(PrivacyError, match="more than the stated"):
        Protocol.from_json(json.dumps(data))
    for text in ("", "{}", "[]", '{"format": "tacit-protocol"}', protocol.to_json()[:200]):
        with pytest.raises(ValueError, match="protocol"):
            Protocol.from_json(text)


@pytest.mark.filterwarnings("ignore::tacit.checks.RefutedWarning")  # the paper's claim is neither
def test_a_protocol_says_what_it_will_guarantee():
    protocol = protocol_for(record_epsilon=20.0)
    assert protocol.guarantee().verify() <= 2.0
    assert 10 < protocol.record_guarantee().epsilon <= 20.0
    assert "Your record" in str(protocol)
    published = protocol_for(calibration="paper")
    assert published.guarantee().status == "claimed"
    assert published.record_guarantee().status == "proven"


@pytest.mark.filterwarnings("ignore::tacit.checks.RefutedWarning")  # the paper's claim is neither
@pytest.mark.parametrize("kind", ["regression", "classification"])
@pytest.mark.parametrize("calibration", ["proven", "paper"])
def test_three_parties_give_what_one_process_gives(people, kind, calibration):
    X, y = people
    target, model = NUMBER, LinearRegression(2.0, delta=1e-3, method="input", calibration=calibration, target_bound=1.0)
    model.set_params(random_state=11)
    if kind == "classification":
        y, target = (y > 0).astype(int), LABEL
        model = LogisticRegression(
            2.0, delta=1e-3, method="input", calibration=calibration, classes=[0, 1], random_state=11
        )
    model.fit(X, y)
    protocol, source = protocol_for(target, calibration=calibration, honest=1.0), SeededSource(11)
    base = Database(protocol)
    base.add(protocol.perturb_table(X, y, source=source))
    collected = base.train(source=source)
    assert np.array_equal(collected.coef_, model.coef_)
    assert np.array_equal(collected.intercept_, model.intercept_)
    assert np.array_equal(collected.predict(X), model.predict(X))
    assert collected.guarantee_.events == model.guarantee_.events
    assert collected.record_guarantee_.epsilon == model.record_guarantee_.epsilon
    assert collected.guarantee_.seeded


def test_any_order_any_split_any_merge_gives_the_same_sums(people, rng):
    X, y = people
    protocol = protocol_for()
    all_of_them = protocol.perturb_table(X, y)
    whole = Database(protocol)
    whole.add(all_of_them)
    order = rng.permutation(400)
    pieces = Database(protocol)
    for part in np.array_split(order, 7):
        pieces.add(all_of_them.take(part))
    same(whole.sums, pieces.sums)
    left, right = Database(protocol), Database(protocol)
    left.add(all_of_them.take(order[:150]))
    for one in all_of_them.take(order[150:]).each():
        right.add(one)
    left.merge(right)
    same(whole.sums, left.sums)
    with pytest.raises(PrivacyError, match="both databases"):
        left.merge(right)
    same(whole.sums, left.sums)
    exact = sum(int(v) ** 2 for v in all_of_them.q[:, 0])
    assert whole.sums.second[0, 0] == exact


def test_bad_submissions_are_refused_counted_and_the_rest_is_kept(people, tmp_path):
    X, y = people
    protocol, other = protocol_for(), protocol_for(cohort=500)
    base = Database(protocol)
    good = protocol.perturb_table(X, y)
    assert base.add(good.take(slice(0, 50))).added == 50
    assert base.add(good.take(slice(0, 60))).refused == {words.AGAIN: 10 + 40}
    assert base.add(other.perturb_table(X, y)).refused == {words.FOREIGN: 400}
    one = protocol.perturb(X[0], y[0])
    assert base.add(one).added == 1
    assert base.add(one).refused == {words.AGAIN: 1}
    short = Submission(protocol.fingerprint, one.q[:-1], one.p[:-1])
    lame = Submission(protocol.fingerprint, one.q[:-1], one.p)
    for wrong in (short, lame):
        assert base.add(wrong).refused == {words.SHAPE: 1}
    spoilt = protocol.perturb_table(X, y)
    q = spoilt.q.astype(float)
    q[3, 0], q[5, 1], q[7, 2], q[9, 0] = math.nan, math.inf, 0.5, 1e15
    receipt = base.add(type(spoilt)(spoilt.protocol, q, spoilt.p))
    assert receipt.added == 396
    assert receipt.refused == {words.DAMAGED: 3, words.LONG: 1}
    assert len(base) == 60 + 1 + 396
    assert base.refused == {words.AGAIN: 51, words.FOREIGN: 400, words.SHAPE: 2, words.DAMAGED: 3, words.LONG: 1}
    assert base.add(good.take(slice(60, 100))).added == 40


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_files_round_trip_and_damage(people, tmp_path, suffix):
    X, y = people
    protocol = protocol_for()
    table = protocol.perturb_table(X, y)
    path = tmp_path / f"submissions{suffix}"
    table.save(path)
    whole, base = Database(protocol), Database(protocol)
    whole.add(table)
    assert base.add_file(path).added == 400
    same(whole.sums, base.sums)
    cut = tmp_path / f"cut{suffix}"
    cut.write_bytes(path.read_bytes()[:-40])
    damaged = Database(protocol)
    receipt = damaged.add_file(cut)
    assert receipt.added == (399 if suffix == ".jsonl" else 0)
    assert sum(receipt.refused.values()) == 1
    assert "cut off" in next(iter(receipt.refused))
    for content in (b"", b"\xff\xfe\x00", b"[]\n", b'{"format":"tacit-submission","q":[1e9]}\n'):
        cut.write_bytes(content)
        assert damaged.add_file(cut).added == 0


def test_a_submission_quotes_nothing_and_is_checked(people):
    X, y = people
    protocol = protocol_for()
    for x, target, sentence in (
        (X[0, :2], y[0], "3 numbers"), ([math.nan, 1, 2], y[0], "finite"), (X[0], math.nan, "finite"),
        (X[:2], y[:2], "one record"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            protocol.perturb(x, target)
    with pytest.raises(ValueError, match="not among") as caught:
        protocol_for(LABEL).perturb(X[0], 777)
    assert "777" not in str(caught.value)


def test_a_schema_encodes_raw_records():
    schema = Schema((Number("age", 0, 100), Category("town", ("a", "b"))), Target("pay", lower=0, upper=10))
    protocol = Protocol.create(epsilon=1, delta=1e-3, cohort=100, schema=schema)
    one = protocol.perturb({"age": [40], "town": ["b"]}, 3)
    assert len(one.q) == schema.width + 1
    assert Protocol.from_json(protocol.to_json()).schema == schema


def test_too_few_contributors_are_topped_up_or_refused(people):
    X, y = people
    protocol = protocol_for(cohort=5000)
    base = Database(protocol)
    base.add(protocol.perturb_table(X, y))
    with pytest.raises(PrivacyError, match=r"400 contributors, .* 5,000"):
        base.train(short="refuse")
    model = base.train()
    assert model.guarantee_.verify() <= 2.0 * (1 + 1e-9)
    assert model.guarantee_.events[0].scale == pytest.approx(protocol.numbers.cross_scale * math.sqrt(4500))
    assert model.guarantee_.records == 400


def test_topping_up_adds_the_missing_variance(monkeypatch):
    """The noise of 4,140 contributors, 0.9 (5000 - 400): 40 top-ups of 500 numbers.

    Their mean square is within 5.3 standard errors, 0.053, of it (false alarms 1.2e-7); that of 4,600 is 0.11 away.
    """
    protocol = Protocol.create(epsilon=2.0, delta=1e-3, cohort=5000, columns=500, target=NUMBER, intercept=False)
    numbers, drawn = protocol.numbers, []

    def spy(self, tolerance):
        drawn.append(np.array([float(v) for v in self.sums.cross]) * self.cross_step)
        return np.zeros(500), 0.0

    monkeypatch.setattr("tacit.mechanisms.input_solve.Quadratic.solve", spy)
    empty = Sums.empty(500)
    for seed in range(40):
        numbers.train(Sums.exactly(400, empty.second, empty.cross), SeededSource(seed))
    variance = np.mean(np.square(drawn)) / numbers.cross_scale**2
    assert abs(variance / 4140 - 1) < 5.3 * math.sqrt(2 / 20_000) < abs(variance / 4600 - 1)
    assert numbers.noise_scale(400) == pytest.approx(numbers.cross_scale * math.sqrt(4500))


def test_no_contributors_and_foreign_files(tmp_path):
    protocol = protocol_for()
    with pytest.raises(ValueError, match="no submissions"):
        Database(protocol).train()
    path = tmp_path / "base.sqlite"
    Database(protocol, path).close()
    with pytest.raises(PrivacyError, match="another protocol"):
        Database(protocol_for(cohort=401), path)
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(ValueError, match="not a Tacit database"):
        Database(protocol, path)


def _add_all(text, path, stop=None):
    """Add 80 blocks; in the one numbered ``stop`` the process kills itself, its hashes written and its sums not."""
    protocol = Protocol.from_json(text)
    X = np.random.default_rng(0).normal(size=(400, 3))
    table = protocol.perturb_table(X, X[:, 0].clip(-1, 1), source=SeededSource(3))
    with Database(protocol, path) as base:
        for number, start in enumerate(range(0, 400, 5)):
            if number == stop:
                base._shelf.write = lambda sums: os.kill(os.getpid(), signal.SIGKILL)
            base.add(table.take(slice(start, start + 5)))


def test_a_killed_process_loses_and_doubles_nothing(tmp_path):
    """Killed in a transaction, four times; resumed from the start each time: the sums are those of one clean run."""
    protocol, path = protocol_for(), tmp_path / "base.sqlite"
    text = protocol.to_json()
    context = multiprocessing.get_context("fork")
    for stop in (0, 11, 12, 60):
        worker = context.Process(target=_add_all, args=(text, path, stop))
        worker.start()
        worker.join()
        assert worker.exitcode == -signal.SIGKILL
        with Database(protocol, path) as base:
            assert len(base) == 5 * stop
    _add_all(text, path)
    _add_all(text, tmp_path / "clean.sqlite")
    with Database(protocol, path) as base, Database(protocol, tmp_path / "clean.sqlite") as clean:
        same(base.sums, clean.sums)
        assert len(base) == 400


def _add_share(text, path, share):
    protocol = Protocol.from_json(text)
    X = np.random.default_rng(share).normal(size=(60, 3))
    table = protocol.perturb_table(X, np.zeros(60), source=SeededSource(share))
    with Database(protocol, path) as base:
        for one in table.each():
            base.add(one)


def test_several_processes_add_to_one_file(tmp_path):
    protocol, path = protocol_for(), tmp_path / "base.sqlite"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_add_share, args=(protocol.to_json(), path, share)) for share in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    clean = tmp_path / "clean.sqlite"
    for share in range(3):
        _add_share(protocol.to_json(), clean, share)
    with Database(protocol, path) as base, Database(protocol, clean) as alone:
        assert len(base) == 180
        same(base.sums, alone.sums)


def test_submissions_are_fresh_and_on_the_grid(people):
    X, y = people
    protocol = protocol_for()
    names = {protocol.perturb(X[0], y[0]).to_json() for _ in range(50)}
    assert len(names) == 50
    one = protocol.perturb(X[0], y[0])
    assert Submission.from_json(one.to_json()) == one
    assert all(isinstance(v, int) for v in (*one.q, *one.p))


def test_infinite_budget_is_the_plain_model(people):
    X, y = people
    model = LinearRegression(math.inf, method="input", target_bound=1.0).fit(X, y)
    design = np.hstack([X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True)), np.ones((400, 1))])
    plain = np.linalg.lstsq(design, np.clip(y, -1, 1), rcond=None)[0]
    assert np.allclose(model.coef_, plain[:3])
    assert not model.guarantee_.events


def test_needs_are_said():
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(PrivacyError, match="two classes"):
        LogisticRegression(1.0, method="input").fit(X, np.arange(60) % 3)
    with pytest.raises(PrivacyError, match="replace-one"):
        LinearRegression(1.0, method="input", adjacency="add-remove", target_bound=1.0).fit(X, X[:, 0])
    with pytest.raises(PrivacyError, match="calibration='proven'"):
        LinearRegression(1.0, method=InputPerturbation(record_epsilon=3), calibration="paper", target_bound=1.0).fit(
            X, X[:, 0]
        )
    with pytest.raises(PrivacyError, match="more than 4 log"):
        LinearRegression(1.0, delta=1e-3, method="input", calibration="paper", target_bound=1.0).fit(X[:20], X[:20, 0])


def test_command_line(tmp_path, capsys, monkeypatch):
    from tacit.cli.main import main

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    schema = {"columns": {"age": {"lower": 0, "upper": 100}}, "target": {"name": "pay", "lower": 0, "upper": 10}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    ages = rng.uniform(0, 100, size=300)
    lines = [f"{a:.2f},{a / 12:.2f}" for a in ages] + ["50,", "51,none"]
    (tmp_path / "d.csv").write_text("age,pay\n" + "\n".join(lines) + "\n")
    assert (
        main(
            [
                "protocol",
                "--schema",
                "s.json",
                "--epsilon",
                "2",
                "--delta",
                "1e-3",
                "--cohort",
                "250",
                "--out",
                "p.json",
            ]
        )
        == 0
    )
    assert main(["contribute", "d.csv", "--protocol", "p.json", "--out", "u.parquet"]) == 0
    assert "2 rows left out" in capsys.readouterr().err
    assert (
        main(["collect", "u.parquet", "missing.parquet", "u.parquet", "--protocol", "p.json", "--database", "b.sqlite"])
        == 1
    )
    out = capsys.readouterr().out
    assert "300 submissions added" in out
    assert "300 refused" in out
    assert main(["train", "--protocol", "p.json", "--database", "b.sqlite", "--out", "m.json"]) == 0
    assert main(["verify", "m.json"]) == 0
    assert main(["verify", "m.record.json"]) == 0
    assert main(["predict", "m.json", "d.csv", "--out", "y.csv"]) == 0
    assert main(["train", "--protocol", "p.json", "--database", "none.sqlite", "--out", "m.json"]) == 2
