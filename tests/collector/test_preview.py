"""Expected quality: against real submissions and a real database, by hand where possible, and always the same."""

import dataclasses
import math

import numpy as np
import pytest

from tacit.privacy.noise import SeededSource
from tacit.protocol import Database, Protocol, madeup, preview
from tacit.protocol.madeup import made_up
from tacit.protocol.outline import Outline
from tacit.protocol.preview import Quality, expected, fewest, point, table
from tacit.schema import Category, Number, Schema, Target

COLUMNS = (Number("age", 18, 90), Number("hours", 0, 80), Category("job", ("office", "shift", "none")))
LABEL, NUMBER = Target("sleeps", classes=("no", "yes")), Target("sleep", lower=2.0, upper=12.0)


def outline_for(target=LABEL, **more):
    return Outline(delta=1e-6, schema=Schema(COLUMNS, target), **more)


def people_of(protocol, unexplained=0.2):
    n = protocol.numbers
    return made_up(protocol.schema, protocol.columns, protocol.target, n.clip, n.intercept, unexplained)


@pytest.mark.parametrize(("target", "epsilon"), [(LABEL, 0.25), (NUMBER, 0.5)])
def test_real_submissions_give_what_is_expected(target, epsilon):
    """2,000 made-up people perturb their raw answers, a database trains, the model predicts: 40 times.

    Both are means of independent draws. The difference is compared with six of its standard errors; false alarms below
    1e-6 for 40 and 100 pairs of draws (Student's t with 39 degrees: 5e-7 two-sided at six).
    """
    protocol = outline_for(target).protocol(epsilon, 2000)
    people, rng = people_of(protocol), np.random.default_rng(5)
    found = []
    for run in range(40):
        places = rng.integers(0, madeup.PEOPLE, 2000)
        raw = {name: [cells[place] for place in places] for name, cells in people.table.items()}
        scaled = people.outcomes(places, SeededSource((run, 77)))
        y = np.where(scaled > 0, "yes", "no") if target.classes else 7.0 + 5.0 * scaled
        with Database(protocol) as database:
            database.add(protocol.perturb_table(raw, y, source=SeededSource((run, 78))))
            model = database.train(source=SeededSource((run, 79)))
        told = model.predict(people.design[:, :-1])
        if target.classes:
            right = np.mean((told == "yes") == (people.explained > 0))
            found.append(0.8 * right + 0.2 * (1 - right))
        else:
            found.append(np.mean((told - 7.0 - 5.0 * people.explained) ** 2) + (5.0 * people.rest) ** 2)
    said = expected(protocol, 2000, 0.2, 100).private
    assert expected(protocol, 2000, 0.2, 100).gain < 0.95  # noise matters, so the comparison says something
    said = said if target.classes else said**2
    error = np.std(found, ddof=1) * math.sqrt(1 / 40 + 1 / 100)
    assert abs(np.mean(found) - said) < 6 * error


def test_one_column_by_hand():
    """A number in [0, 1] without noise: the plane is the middle, who is above it is in one class; all is known."""
    schema = Schema((Number("x", 0, 1),), LABEL, layout="box")
    protocol = Outline(delta=1e-6, schema=schema, unexplained=0.1).protocol(8.0, 10**6)
    people = people_of(protocol, 0.1)
    x = np.array(people.table["x"])
    assert abs(people.explained @ np.sign(x - x.mean())) == madeup.PEOPLE
    share = np.mean(people.explained > 0)
    quality = expected(protocol, 10**6, 0.1)
    assert quality.guess == pytest.approx(0.9 * max(share, 1 - share) + 0.1 * min(share, 1 - share))
    assert 0.89 < quality.plain <= 0.9  # 1 - unexplained is the best; least squares cuts near the mean, not at it
    assert quality.private == pytest.approx(quality.plain, abs=0.02)


def test_a_number_by_hand():
    """A linear rule of centred columns is learned without noise, so the error is the unexplained part of the spread."""
    protocol = Outline(delta=1e-6, schema=Schema((Number("x", 0, 1), Number("z", -5, 5)), NUMBER)).protocol(8.0, 10**6)
    for unexplained in (0.2, 0.5):
        quality = expected(protocol, 10**6, unexplained)
        assert quality.error
        assert quality.plain / quality.guess == pytest.approx(math.sqrt(unexplained), rel=1e-6)
        assert quality.private >= quality.plain
        outcomes = people_of(protocol, unexplained).outcomes(np.arange(madeup.PEOPLE), SeededSource(1))
        assert np.abs(outcomes).max() <= 1
        assert np.std(5 * outcomes) == pytest.approx(quality.guess, rel=0.05)


def test_made_up_people_look_like_rows_of_the_schema():
    protocol = outline_for().protocol(1.0, 1000)
    people = people_of(protocol)
    assert set(people.table) == {"age", "hours", "job"}
    assert 18 <= min(people.table["age"]) < 25
    assert 80 < max(people.table["age"]) <= 90
    assert {people.table["job"].count(job) > 600 for job in ("office", "shift", "none")} == {True}
    design, _ = protocol.rows(people.table, ["no"] * madeup.PEOPLE)
    assert (design == people.design).all()  # to the last bit what contributors' own rows would be
    plain = Outline(delta=1e-6, columns=3, target=NUMBER).protocol(1.0, 1000)
    assert np.linalg.norm(people_of(plain).design[:, :-1], axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("unexplained", [0.0, 0.2, 0.5])
def test_so_many_answers_cannot_be_explained(unexplained):
    """200,000 draws: shares and variances within 5.5 standard errors (false alarms below 1e-7)."""
    places = np.arange(200_000) % madeup.PEOPLE
    people = people_of(outline_for().protocol(1.0, 1000), unexplained)
    other = np.mean(people.outcomes(places, SeededSource(3)) != people.explained[places])
    assert abs(other - unexplained) <= 5.5 * math.sqrt(unexplained * (1 - unexplained) / 200_000)
    people = people_of(outline_for(NUMBER).protocol(1.0, 1000), unexplained)
    rest = people.outcomes(places, SeededSource(4)) - people.explained[places]
    share = np.mean(rest**2) / (np.var(people.explained) + people.rest**2)
    assert abs(share - unexplained) <= 5.5 * unexplained * math.sqrt(0.8 / 200_000)  # of a uniform's squares


def test_curves_in_pairs_and_lone_values_are_made_up_too():
    schema = Schema(COLUMNS, LABEL).additive(4)
    assert 0.5 <= point(Outline(delta=1e-6, schema=schema), 8.0, 10**5).private <= 0.8
    lone = Schema((Category("one", ("only",)),), LABEL)
    assert point(Outline(delta=1e-6, schema=lone), 1.0, 1000).gain == 0.0  # nothing to learn, and no division by zero


def test_more_noise_teaches_less():
    for target in (LABEL, NUMBER):
        lines = table(outline_for(target), (0.2, 1.0, 8.0), (200, 2000, 50_000))
        gains = np.array([[one.gain for one in line] for line in lines.values()])
        assert (np.diff(gains, axis=0) >= -0.02).all()
        assert (np.diff(gains, axis=1) >= -0.02).all()
        assert gains[0, 0] < 0.2
        assert gains[-1, -1] > 0.98
    asked = dataclasses.replace(outline_for(), record_epsilon=4.0)
    assert point(asked, 1.0, 20_000).gain < point(outline_for(), 1.0, 20_000).gain - 0.05


def test_the_same_question_has_the_same_answer(monkeypatch):
    protocol = outline_for().protocol(1.0, 500)
    first = expected(protocol, 400)
    for cached in (expected, made_up, point):
        cached.cache_clear()
    assert expected(Protocol.from_json(protocol.to_json()), 400) == first
    monkeypatch.setattr(preview, "SEED", 17)
    expected.cache_clear()
    assert expected(protocol, 400) != first  # it does rest on the written seed
    expected.cache_clear()


def test_no_submission_is_looked_at(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a preview touched what people sent")

    for name in ("__init__", "add", "train"):
        monkeypatch.setattr(Database, name, refuse)
    monkeypatch.setattr("tacit.mechanisms.moments.Sums.of", refuse)
    monkeypatch.setattr("tacit.mechanisms.input.InputNumbers.perturb", refuse)
    for cached in (expected, made_up, point, fewest):
        cached.cache_clear()
    assert point(outline_for(), 1.0, 300).count == 300
    assert fewest(outline_for().protocol(2.0, 1000)) is not None


@pytest.mark.parametrize("record", [None, 20.0])
def test_an_outline_is_as_good_as_the_search(record):
    """Its Lambda by a formula: the gain within 0.06 of what the search's would give, or better, at the same price."""
    for target in (LABEL, NUMBER):
        outline = outline_for(target, record_epsilon=record, honest=0.8, withdrawal=True, purpose="why")
        quick = outline.protocol(2.0, 20_000)
        search = Protocol.create(
            epsilon=2.0, delta=1e-6, cohort=20_000, schema=outline.schema, record_epsilon=record, honest=0.8
        )
        quick.guarantee().verify()
        assert (quick.numbers.honest, quick.withdrawal, quick.purpose) == (0.8, True, "why")
        if record:
            assert quick.record_guarantee().epsilon <= record
        assert expected(quick, 20_000).gain >= expected(search, 20_000).gain - 0.06
        assert quick.numbers.radius == search.numbers.radius  # the outline's idea of the setting is that of create


def test_the_number_of_people_that_it_takes(monkeypatch):
    monkeypatch.setattr(preview, "MANY", 8)
    fewest.cache_clear()
    outline = outline_for()
    found = fewest(outline, 1.0)
    assert point(outline, 1.0, found, preview.MANY).gain >= preview.WORTH
    assert point(outline, 1.0, found // 3, preview.MANY).gain < preview.WORTH
    assert fewest(outline, 0.3) > found
    protocol = outline.protocol(1.0, 5000)
    assert expected(protocol, fewest(protocol), 0.2, preview.MANY).gain >= preview.WORTH
    nothing = Schema((Category("one", ("only",)),), LABEL)
    assert fewest(Outline(delta=1e-6, schema=nothing).protocol(1.0, 1000)) is None
    with pytest.raises(ValueError, match="epsilon beside an outline"):
        fewest(outline)
    fewest.cache_clear()


def test_noise_alone_teaches_exactly_nothing():
    """A record epsilon of 0.01 for 50 people: every pair of mirrored draws is right for half of the people."""
    quality = point(outline_for(record_epsilon=0.01), 0.01, 50)
    assert quality.private == pytest.approx(0.5, abs=0.002)
    assert quality.guess >= 0.5
    assert quality.guess < quality.plain < quality.best


def test_gain_and_what_is_refused():
    assert Quality(1, False, 0.7, 0.8, 0.5, 0.9).gain == pytest.approx(0.5)
    assert Quality(1, True, 7.0, 5.0, 10.0, 4.0).gain == pytest.approx(0.5)
    assert Quality(1, True, 12.0, 4.0, 10.0, 4.0).gain < 0
    assert Quality(1, True, 12.0, 11.0, 10.0, 10.0).gain == 0
    protocol = outline_for().protocol(1.0, 300)
    for wrong in (-0.1, 0.6, math.nan):
        with pytest.raises(ValueError, match="unexplained"):
            expected(protocol, 10, wrong)
    with pytest.raises(ValueError, match="count"):
        expected(protocol, 0)
