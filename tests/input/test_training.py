"""A collection gives one model: what two would show, and every way to a second one refused or said."""

import functools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tacit import PrivacyError, files, spent
from tacit.privacy.noise import SeededSource, SystemSource
from tacit.protocol import Database, Protocol
from tacit.protocol import trainings as training
from tacit.schema import Target

NUMBER = Target("y", lower=-1, upper=1)


@functools.cache
def protocol_for(cohort=400, target=NUMBER, **more):
    return Protocol.create(epsilon=2.0, delta=1e-3, cohort=cohort, columns=3, target=target, **more)


@pytest.fixture
def people(rng):
    X = rng.normal(size=(400, 3))
    return X, X @ [0.4, -0.3, 0.1]


def weights(model):
    return np.append(np.ravel(model.coef_), model.intercept_)


def filled(protocol, people, path=None, **more):
    base = Database(protocol, path)
    base.add(protocol.perturb_table(*people, **more))
    return base


def test_two_models_of_one_collection_show_a_submission():
    """The attack that the refusal is for: with the models before and after one person joined, A(w2 - w1) + q(q.w1) is
    that person's submission, but for a rest far below their own noise; the guarantee counts on the noise of all."""
    n = 2000
    protocol = Protocol.create(epsilon=1.0, delta=1e-6, cohort=n, columns=1, target=NUMBER)
    numbers, c = protocol.numbers, protocol.numbers.intercept
    X = np.random.default_rng(0).uniform(-0.6, 0.6, size=(n, 1))
    design = np.hstack([np.vstack([X, [[1.0]]]), np.full((n + 1, 1), c)])
    shift = (n + 1) * numbers.row_scale**2 + numbers.minimum(n + 1).ridge
    known = numbers.curvature * design.T @ design + shift * np.eye(2)
    sent, rebuilt = [], []
    for seed in range(40):
        base = Database(protocol)
        base.add(protocol.perturb_table(X, 0.5 * X[:, 0], source=SeededSource((seed, 1))))
        first = base.train(source=SeededSource((seed, 2)))
        alice = protocol.perturb([1.0], 1.0 if seed % 2 else -1.0, source=SeededSource((seed, 3)))
        base.add(alice)
        with pytest.raises(PrivacyError, match="share its contributors' noise"):
            base.train()
        second = base.train(source=SeededSource((seed, 4)), accept_record_guarantee=True)
        before, after = (np.array([model.coef_[0], model.intercept_ / c]) for model in (first, second))
        q = np.array([1.0, c])
        rebuilt.append(known @ (after - before) + q * (q @ before))
        sent.append(np.array(alice.p) * numbers.steps[1])
        assert second.guarantee_.epsilon == protocol.record_guarantee().epsilon > 1000
        base.close()
    off = np.std(np.array(rebuilt) - np.array(sent), axis=0)
    assert np.all(off < 0.7 * numbers.cross_scale)
    assert np.all(off < 0.02 * numbers.noise_scale(n))


@pytest.mark.parametrize("place", ["memory", "file"])
@pytest.mark.parametrize("cohort", [400, 5000])
def test_an_unchanged_database_gives_the_same_model_back(people, tmp_path, place, cohort):
    protocol, path = protocol_for(cohort), None if place == "memory" else tmp_path / "base.sqlite"
    base = filled(protocol, people, path)
    first = base.train()
    if path is not None:
        base.close()
        base = Database(Protocol.from_json(protocol.to_json()), path)
    for settings in ({}, {"accept_record_guarantee": True}, {"source": SeededSource(1)}):
        again = base.train(**settings)
        assert np.array_equal(weights(again), weights(first))
        assert again.guarantee_ == first.guarantee_
        assert again.record_guarantee_ == first.record_guarantee_
    assert len(base.trainings) == 1


def test_a_changed_database_is_refused_or_has_the_record_guarantee_only(people, tmp_path):
    protocol, path = protocol_for(record_epsilon=20.0), tmp_path / "base.sqlite"
    base = filled(protocol, people, path)
    base.train()
    assert base.add(protocol.perturb(people[0][0], 0.0)).added == 1
    base.close()
    base = Database(protocol, path)
    assert base.trained
    for settings in ({}, {"short": "refuse"}, {"source": SystemSource()}):
        with pytest.raises(PrivacyError, match="400 of these submissions"):
            base.train(**settings)
    model = base.train(accept_record_guarantee=True)
    record = protocol.record_guarantee()
    assert model.guarantee_ == model.record_guarantee_
    assert model.guarantee_.epsilon == record.epsilon == model.epsilon
    assert model.guarantee_.theorem == "input-record"
    assert model.guarantee_.records == 1
    assert model.guarantee_.verify() <= record.epsilon
    assert "one record" in model.guarantee_.protects
    assert "does not hold" in " ".join(str(model.guarantee_).split())
    assert np.array_equal(weights(base.train(accept_record_guarantee=True)), weights(model))
    with pytest.raises(PrivacyError, match="401 of these submissions"):
        base.train()
    files.save(model, tmp_path / "m.json")
    loaded = files.load(tmp_path / "m.json").model
    assert loaded.guarantee_ == model.guarantee_
    assert "one record only" in base.status()


def test_accepting_changes_nothing_for_the_first_model(people):
    model = filled(protocol_for(), people).train(accept_record_guarantee=True)
    assert model.guarantee_.epsilon == 2.0
    assert model.guarantee_.theorem == "input"


def test_a_refused_training_leaves_no_record(people):
    protocol = protocol_for(cohort=5000)
    base = Database(protocol)
    with pytest.raises(ValueError, match="no submissions"):
        base.train()
    base.add(protocol.perturb_table(*people))
    with pytest.raises(PrivacyError, match="calibrated for 5,000"):
        base.train(short="refuse")
    assert not base.trained
    assert base.train().guarantee_.epsilon == 2.0


def test_a_stop_before_the_model_exists_leaves_the_record(people, tmp_path):
    class Broken:
        """A source that fails when it is asked for noise."""

        seeded = False

        def words(self, count):
            raise RuntimeError

    protocol, path = protocol_for(), tmp_path / "base.sqlite"
    base = filled(protocol, people, path)
    with pytest.raises(RuntimeError):
        base.train(source=Broken())
    base.close()
    base = Database(protocol, path)
    with pytest.raises(PrivacyError, match="its model was not kept"):
        base.train()
    assert "not kept" in base.status()
    model = base.train(accept_record_guarantee=True)
    assert model.guarantee_.theorem == "input-record"
    assert np.array_equal(weights(base.train(accept_record_guarantee=True)), weights(model))
    with pytest.raises(PrivacyError, match="share its contributors' noise"):
        base.train()


def test_the_record_is_written_before_any_noise_is_drawn(people, tmp_path):
    protocol, path = protocol_for(), tmp_path / "base.sqlite"
    base, seen = filled(protocol, people, path), []

    class Watching:
        """A source that looks at the file from outside, as another process would."""

        seeded = False

        def words(self, count):
            with Database(protocol, path) as other:
                seen.append(other.trained)
                with pytest.raises(PrivacyError, match="still running"):
                    other.train()
            return SystemSource().words(count)

    base.train(source=Watching())
    assert seen
    assert all(seen)


@pytest.mark.parametrize("first", ["part", "whole"])
def test_parts_and_their_merge_are_one_collection(people, tmp_path, first):
    X, y = people
    protocol = protocol_for(cohort=200)
    table = protocol.perturb_table(X, y)
    left, right = Database(protocol, tmp_path / "left.sqlite"), Database(protocol, tmp_path / "right.sqlite")
    left.add(table.take(slice(0, 200)))
    right.add(table.take(slice(200, 400)))
    if first == "part":
        right.train()
        left.merge(right)
        with pytest.raises(PrivacyError, match="200 of these submissions"):
            left.train()
        assert left.train(accept_record_guarantee=True).guarantee_.theorem == "input-record"
        return
    left.merge(right)
    assert left.train().guarantee_.theorem == "input"
    right.close()
    right = Database(protocol, tmp_path / "right.sqlite")
    with pytest.raises(PrivacyError, match="are in another one too"):
        right.train()
    third = Database(protocol)
    third.merge(right)
    with pytest.raises(PrivacyError, match="are in another one too"):
        third.train()


def test_merging_into_an_empty_database_keeps_the_model(people):
    protocol = protocol_for()
    base = filled(protocol, people)
    model = base.train()
    copy = Database(protocol)
    copy.merge(base)
    assert np.array_equal(weights(copy.train()), weights(model))
    assert np.array_equal(weights(base.train()), weights(model))


def test_a_refused_merge_marks_nothing(people, tmp_path):
    protocol, path = protocol_for(), tmp_path / "base.sqlite"
    table = protocol.perturb_table(*people)
    one, two = Database(protocol, path), Database(protocol)
    one.add(table)
    two.add(table.take(slice(0, 1)))
    with pytest.raises(PrivacyError, match="both databases"):
        two.merge(one)
    with Database(protocol, path) as twin, pytest.raises(ValueError, match="with itself"):
        one.merge(twin)
    two.merge(Database(protocol))
    assert not one.trained
    assert not two.trained


@pytest.mark.filterwarnings("ignore::tacit.checks.RefutedWarning")  # the paper's claim is only a claim
@pytest.mark.parametrize("calibration", ["proven", "paper"])
def test_spent_refuses_two_models_of_one_protocol(people, calibration):
    protocol, other = (protocol_for(calibration=calibration, purpose=word) for word in ("one", "two"))
    first = filled(protocol, people).train()
    second = filled(protocol, people).train()
    elsewhere = filled(other, people).train()
    with pytest.raises(PrivacyError, match="guarantee of one record"):
        spent([first.guarantee_, second.guarantee_], delta=2e-3)
    both = spent([first.guarantee_, elsewhere.guarantee_], delta=2e-3)
    assert 2.0 < both < math.inf if calibration == "proven" else both == math.inf  # a claim has no price
    record = first.record_guarantee_
    assert spent([first.guarantee_, record], delta=2e-3) > record.epsilon_at(delta=2e-3)


def test_fits_in_one_process_have_noise_of_their_own_and_add_up(people):
    from tacit import LinearRegression

    fits = [LinearRegression(2.0, delta=1e-3, method="input", target_bound=1.0).fit(*people) for _ in range(2)]
    assert 2.0 < spent([fit.guarantee_ for fit in fits], delta=2e-3) < math.inf


def test_a_repr_and_a_status_say_what_it_holds(people):
    protocol = protocol_for()
    base = filled(protocol, people)
    assert repr(base) == f"Database(protocol {protocol.fingerprint}, 400 of 400 contributors, not trained)"
    assert "Not trained yet" in base.status()
    base.train()
    assert repr(base).endswith(" trained)")
    assert "Trained on 400 submissions, with the model's guarantee." in base.status()


# --- predictable noise ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("way", ["table", "one", ".parquet", ".jsonl", "merge", "reopen"])
def test_seeded_submissions_are_said_in_both_guarantees(people, tmp_path, way):
    X, y = people
    protocol = protocol_for()
    base = Database(protocol, tmp_path / "base.sqlite")
    base.add(protocol.perturb_table(X[:300], y[:300]))
    assert not base.seeded
    seed = SeededSource((5, *way.encode()))  # each way its own: what was in a model before is refused
    table = protocol.perturb_table(X[300:], y[300:], source=seed)
    if way in ("table", "reopen"):
        base.add(table)
    elif way == "one":
        base.add(protocol.perturb(X[0], y[0], source=seed))
    elif way == "merge":
        other = Database(protocol)
        other.add(table)
        base.merge(other)
    else:
        table.save(tmp_path / f"part{way}")
        assert base.add_file(tmp_path / f"part{way}").added == 100
    if way == "reopen":
        base.close()
        base = Database(protocol, tmp_path / "base.sqlite")
    assert base.seeded
    assert "predictable" in base.status()
    for model in (base.train(), base.train()):
        assert model.guarantee_.seeded
        assert model.record_guarantee_.seeded
        assert "seeded generator" in str(model.guarantee_)


def test_only_seeded_submissions_that_were_added_count(people, tmp_path):
    protocol = protocol_for()
    honest = protocol.perturb_table(*people)
    base = Database(protocol)
    base.add(honest)
    base.add(replace(honest, seeded=True))  # all of them were sent before
    assert not base.seeded
    lines = [one.to_json() for one in protocol.perturb_table(*people).take(slice(0, 3)).each()]
    lines.append(json.dumps({**json.loads(lines[0]), "seeded": True}))  # the same numbers: a copy
    (tmp_path / "mixed.jsonl").write_text("\n".join(lines))
    assert base.add_file(tmp_path / "mixed.jsonl").added == 3
    assert not base.seeded
    fresh = protocol.perturb(people[0][0], 0.0).to_json()
    (tmp_path / "seeded.jsonl").write_text(json.dumps({**json.loads(fresh), "seeded": True}))
    assert base.add_file(tmp_path / "seeded.jsonl").added == 1
    assert base.seeded
    assert not base.train(source=SeededSource(1)).guarantee_.verify() > 2.0


@pytest.mark.parametrize("place", ["memory", "file"])
@pytest.mark.parametrize("way", ["other", "same", "merged", "copied"])
def test_the_first_model_states_the_record_guarantee_once_there_is_another(people, tmp_path, place, way):
    protocol = protocol_for(record_epsilon=20.0)
    table = protocol.perturb_table(*people)
    first, second = (Database(protocol, None if place == "memory" else tmp_path / f"{k}.sqlite") for k in "ab")
    first.add(table)
    model = first.train()
    assert first.train().guarantee_.theorem == "input"
    if way == "same":
        first.add(protocol.perturb(people[0][0], 0.0))
        first.train(accept_record_guarantee=True)
        assert "with the model's guarantee" not in first.status()
        return
    if way == "merged":
        second.merge(first)
    else:
        second.add(table.take(slice(0, 400 if way == "copied" else 1)))
        second.train(accept_record_guarantee=True)
        assert "with the model's guarantee" not in second.status()
    for _ in range(2):
        assert "with the model's guarantee" not in first.status()
        again = first.train()
        assert np.array_equal(weights(again), weights(model))
        assert again.guarantee_.theorem == "input-record"
        assert again.guarantee_.epsilon == protocol.record_guarantee().epsilon
        if place == "file":
            first.close()
            first = Database(protocol, tmp_path / "a.sqlite")


def test_what_a_process_knew_of_other_models_stays_in_the_file(people, tmp_path, monkeypatch):
    protocol = protocol_for()
    table = protocol.perturb_table(*people)
    first, second = Database(protocol, tmp_path / "a.sqlite"), Database(protocol)
    for base in (first, second):
        base.add(table)
    first.train()
    second.train(accept_record_guarantee=True)
    first.close()
    monkeypatch.setattr(training, "_released", {})  # another process
    with Database(protocol, tmp_path / "a.sqlite") as first:
        assert "with the model's guarantee" not in first.status()
        assert first.train().guarantee_.theorem == "input-record"


def test_a_model_that_is_alone_keeps_its_guarantee(people, tmp_path):
    protocol, path = protocol_for(), tmp_path / "a.sqlite"
    filled(protocol, people, path).train()
    other = filled(protocol, people)  # the same people with fresh noise: another collection
    other.train()
    for _ in range(2):
        with Database(protocol, path) as base:
            assert base.train().guarantee_.theorem == "input"
            assert "with the model's guarantee" in base.status()
    copy = Database(protocol)
    copy.merge(other)
    assert copy.train().guarantee_.theorem == "input"  # the very same model in another place
