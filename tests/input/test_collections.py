"""Contributors whom nobody knows: only the honest ones' noise is counted, nobody is counted twice, nothing is too long.

The attacks of these tests are the ones that a protocol without an honest fraction, with names for submissions, or with
limits on single numbers did not stop.
"""

import functools
import itertools
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from tacit import LinearRegression, PrivacyError
from tacit.mechanisms import InputPerturbation, input_plan
from tacit.mechanisms.input import BEYOND, honest_among
from tacit.privacy import accounting
from tacit.privacy.events import Gaussian, Sensitivity, from_dict, to_dict
from tacit.privacy.minimisers import input_convexity, input_delta
from tacit.privacy.noise import SeededSource
from tacit.protocol import Database, Protocol, Submission, Submissions
from tacit.protocol import database as words
from tacit.protocol import trainings as training
from tacit.protocol.blocks import within
from tacit.schema import Target

NUMBER = Target("y", lower=-1, upper=1)


@functools.cache
def protocol_for(**more):
    return Protocol.create(**{"epsilon": 2.0, "delta": 1e-3, "cohort": 400, "columns": 3, "target": NUMBER, **more})


@pytest.fixture
def people(rng):
    X = rng.normal(size=(400, 3))
    return X, X @ [0.4, -0.3, 0.1]


# --- the honest fraction --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("fraction", "count", "expected"), [
    (0.7, 10, 7), (0.9, 10, 9), (0.9, 11, 10), (0.1, 10, 1), (0.3, 10, 3), (0.6, 5, 3), (1.0, 7, 7), (1e-9, 5, 1),
    (0.07, 100, 7), (0.57, 100, 57),
])  # fmt: skip
def test_the_honest_ones_are_counted_in_exact_decimals(fraction, count, expected):
    """0.07 * 100 is 7.000000000000001 in floating point: one honest contributor more than was declared."""
    assert honest_among(fraction, count) == expected


@pytest.mark.parametrize("record", [None, 10.0])
def test_only_the_noise_of_the_honest_is_priced(record):
    made = protocol_for(cohort=2000, honest=0.8, record_epsilon=record)
    numbers = made.numbers
    for count in (100, 1999, 2000, 5000):
        event, sure = numbers.minimum(count), math.ceil(0.8 * count)
        assert (event.records, event.honest) == (count, sure)
        assert event.scale == pytest.approx(numbers.cross_scale * math.sqrt(max(sure, 1600)))
        assert made.guarantee(count).verify() <= 2.0
        assert made.guarantee(count).events[0] == event == from_dict(to_dict(event))
    event = numbers.minimum(2000)
    fewer = replace(event, honest=1200, scale=numbers.cross_scale * math.sqrt(1200))
    assert accounting.epsilon((fewer,), 1e-3, "replace-one") > accounting.epsilon((event,), 1e-3, "replace-one")
    with pytest.raises(ValueError, match="honest=2001 <= records=2000"):
        replace(event, honest=2001)


def noisy_rows(numbers, count, rng):
    """What count honest contributors with rows against the bound (all zero) add to the second moments."""
    u = numbers.row_scale * rng.normal(size=(count, numbers.features))
    return u.T @ u


@pytest.mark.parametrize("record", [None, 50.0, 5.0])
def test_zero_senders_leave_the_quadratic_as_convex_as_stated(record, rng):
    """A tenth sends zeros, and the honest rows are zero too: the least eigenvalue plus ridge is at least Lambda.

    It fails with probability below the tail, 5e-8, a draw. With honest = 1 in the protocol the same crowd falls below
    Lambda (a mean of 0.1 n s^2 below it), so the test tells the two apart.
    """
    for honest, holds in ((0.9, True), (1.0, False)):
        made = protocol_for(cohort=20_000, delta=1e-6, epsilon=1.0, record_epsilon=record, honest=honest)
        numbers = made.numbers
        event, moments = numbers.minimum(20_000), noisy_rows(numbers, 18_000 - 1, rng)
        least = np.linalg.eigvalsh(moments)[0] + event.ridge
        assert (least >= numbers.strength) == holds
        assert input_convexity(event) == pytest.approx(numbers.strength)


def test_what_the_dishonest_send_cannot_lower_convexity(rng):
    made = protocol_for(cohort=2000)
    numbers = made.numbers
    moments = noisy_rows(numbers, 1800 - 1, rng)
    longest = numbers.limits[0] * numbers.steps[0]
    least = np.linalg.eigvalsh(moments)[0]
    for direction in (np.eye(4)[0], np.linalg.eigh(moments)[1][:, 0], np.ones(4) / 2):
        sent = longest * np.tile(direction, (200, 1))
        assert np.linalg.eigvalsh(moments + sent.T @ sent)[0] >= least * (1 - 1e-9)


def test_the_noise_that_the_dishonest_know_is_not_counted():
    """The sum of p without what 10% know of it has variance at least sigma_b^2 (20,000 draws, 5.3 standard errors).

    False alarms 1.2e-7; with honest = 1 the variance is 0.9 of what is priced: 10 standard errors away.
    """
    for honest, ratio in ((0.9, 1.0), (1.0, 0.9)):
        numbers, sums = protocol_for(columns=200, cohort=100, intercept=False, honest=honest).numbers, []
        for seed in range(100):
            _, p = numbers.perturb(np.zeros((90, 200)), np.zeros(90), SeededSource(seed))
            sums.append(p.sum(axis=0) * numbers.steps[1])
        variance = np.mean(np.square(sums)) / numbers.noise_scale(100) ** 2
        assert abs(variance / ratio - 1) < 5.3 * math.sqrt(2 / 20_000)


def test_one_is_asked_for_by_name_and_said():
    plain, all_of_them = protocol_for(), protocol_for(honest=1.0)
    assert plain.numbers.honest == 0.9
    assert plain.fingerprint != all_of_them.fingerprint
    said = " ".join(plain.guarantee().assumptions)
    assert "at least 360 of the 400 contributors (honest = 0.9)" in said
    assert "the others may send anything within the limits" in said
    assert "every one of the 400 contributors (honest = 1)" in " ".join(all_of_them.guarantee().assumptions)
    record = " ".join(plain.record_guarantee().assumptions)
    assert "nobody else is trusted, neither the database nor the other contributors" in record
    assert "trusted to be the only one that holds them, to count each once" in said
    assert "at least 90 of the 100" in " ".join(plain.guarantee(100).assumptions)


@pytest.mark.parametrize("honest", [0.0, -0.1, 1.1, math.nan, math.inf])
def test_impossible_fractions_are_named(honest):
    with pytest.raises(ValueError, match="honest"):
        protocol_for(honest=honest)


@pytest.mark.filterwarnings("ignore::tacit.checks.RefutedWarning")  # the paper's claim is only a claim
def test_the_published_noise_counts_on_everyone():
    assert protocol_for(calibration="paper").numbers.honest == 1.0
    with pytest.raises(PrivacyError, match="relies on everyone"):
        protocol_for(calibration="paper", honest=0.9)


def test_one_process_is_honest_unless_asked(people):
    model = LinearRegression(2.0, delta=1e-3, method="input", target_bound=1.0).fit(*people)
    assert model.guarantee_.events[0].honest == 400
    assert "one process draws all noise" in " ".join(str(model.guarantee_).split())
    fewer = InputPerturbation(honest=0.5)
    model = LinearRegression(2.0, delta=1e-3, method=fewer, target_bound=1.0).fit(*people)
    assert model.guarantee_.events[0].honest == 200


@pytest.mark.parametrize("honest", [1.0, 0.9])
@pytest.mark.parametrize("record", [1.0, 10.0, 1000.0])
def test_both_epsilons_are_spent_whole(honest, record):
    """What contributors ask for their record does not make the model noisier than its own budget asks for."""
    made = protocol_for(cohort=20_000, delta=1e-5, honest=honest, record_epsilon=record)
    assert 0.999 * 2.0 < made.guarantee().epsilon_at() <= 2.0
    assert 0.99 * record < made.record_guarantee().epsilon <= record


# --- what a rare event costs ----------------------------------------------------------------------------------------
def test_a_run_that_is_not_the_analysed_one_costs_on_either_side():
    r"""(1 + e^epsilon) rho, exactly, with the whole epsilon: |P - P'| <= rho and |Q - Q'| <= rho on every event."""
    event = replace(protocol_for().numbers.minimum(400), rare=0.0)
    for epsilon in (0.5, 1.9, 2.0):
        bare = input_delta(event, epsilon)
        more = input_delta(replace(event, rare=1e-6), epsilon)
        assert more - bare == pytest.approx((1 + math.exp(epsilon)) * 1e-6, rel=1e-6)
    extra = Gaussian(Sensitivity(1e-3, 1e-3), 1.0)
    bare, more = (
        accounting.delta((replace(event, rare=rare), extra), 1.9, "replace-one") for rare in (0.0, 1e-6)
    )  # the share of the second release is not taken from this epsilon
    assert more - bare == pytest.approx((1 + math.exp(1.9)) * 1e-6, rel=1e-6)


def test_delta_does_not_grow_with_epsilon():
    """Beyond some epsilon (1 + e^epsilon) rho alone would pass 1; the bounds at smaller epsilons still hold."""
    event = replace(protocol_for(epsilon=8.0).numbers.minimum(400), rare=1e-9)
    assert input_delta(event, 8.0) < 1e-3
    for epsilon in (20.0, 50.0, 1e5):
        assert input_delta(event, epsilon) <= input_delta(event, 8.0)
    assert accounting.epsilon((event,), 1e-3, "replace-one") <= 8.0


def test_the_rare_events_add_up():
    numbers = protocol_for(columns=1, intercept=False).numbers
    row, cross = numbers.steps
    with mpmath.workdps(40):
        cells = [  # the likeliest cell of a rounded normal number, at zero
            mpmath.ncdf(mpmath.mpf(step) / 2 / scale) - mpmath.ncdf(-mpmath.mpf(step) / 2 / scale)
            for step, scale in ((row, numbers.row_scale), (cross, numbers.cross_scale))
        ]
        pairs = 400 * 399 / 2 * (cells[0] * cells[1] + mpmath.mpf(2) ** -128)
        expected = pairs + 801 * BEYOND + 1e-24
        assert float(expected) <= numbers.rare(400) * (1 + 1e-9) < 1.001 * float(expected)
    assert protocol_for().numbers.rare(400) < 1e-20
    assert numbers.minimum(400).rare == numbers.rare(400)
    with pytest.raises(PrivacyError, match="No noise"):  # with one coordinate a million submissions may agree
        protocol_for(columns=1, intercept=False, cohort=10**7, delta=1e-6, epsilon=1.0)


# --- limits ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("d", [1, 2, 5, 14, 100, 1000])
def test_honest_noise_passes_the_limit_but_for_its_price(d):
    reach = math.sqrt(d) + math.sqrt(2 * math.log(1 / BEYOND))
    with mpmath.workdps(60):
        beyond = mpmath.gammainc(mpmath.mpf(d) / 2, mpmath.mpf(reach) ** 2 / 2, mpmath.inf, regularized=True)
        assert beyond <= BEYOND
        assert mpmath.gammainc(mpmath.mpf(d) / 2, mpmath.mpf(0.7 * reach) ** 2 / 2, regularized=True) > BEYOND


def test_a_limit_is_decided_on_whole_numbers():
    limit = 5 * 2**38  # (3, 4, 0) 2**38 is exactly as long; one step more is not, and double precision cannot tell
    rows = np.array([[3, 4, 0], [3, 4, 0], [-3, 4, 0], [5, 0, 0], [5, 0, 0]]) * 2**38
    rows[1, 2], rows[4, 2] = 1, -1
    assert within(rows, limit).tolist() == [True, False, True, True, False]
    for row in np.random.default_rng(0).integers(-(2**38), 2**38, size=(50, 3)):
        size = math.isqrt(sum(int(v) ** 2 for v in row))
        assert not within(row[None], size)[0] or sum(int(v) ** 2 for v in row) == size**2
        assert within(row[None], size + 1)[0]


def test_long_submissions_are_refused_and_honest_ones_are_not(rng):
    made = protocol_for(record_epsilon=5.0)
    base, numbers = Database(made), made.numbers
    X = rng.normal(size=(20_000, 3)) * 100
    assert base.add(made.perturb_table(X, np.sign(X[:, 0]))).added == 20_000
    row, cross = numbers.limits
    for q, p in (((row, 1, 0, 0), (0,) * 4), ((0,) * 4, (0, cross, 0, 1)), ((row, row, row, row), (1,) * 4)):
        assert base.add(Submission(made.fingerprint, q, p)).refused == {words.LONG: 1}
    assert base.add(Submission(made.fingerprint, (row, 0, 0, 0), (0, -cross, 0, 0))).added == 1
    assert base.refused == {words.LONG: 3}
    reach = numbers.bounds[0] + (2 + 10.6) * numbers.row_scale
    assert row * numbers.steps[0] < reach  # a limit in norm: about as long as one coordinate could be before


# --- contents -------------------------------------------------------------------------------------------------------
def test_a_submission_is_known_by_its_numbers(people, tmp_path):
    made = protocol_for()
    table = made.perturb_table(*people)
    base = Database(made, tmp_path / "base.sqlite")
    assert base.add(table).added == 400
    base.close()
    base, order = Database(made, tmp_path / "base.sqlite"), np.arange(400)[::-1]
    table.save(tmp_path / "again.parquet")
    table.take(order).save(tmp_path / "again.jsonl")
    copies = (
        table, table.take(order), replace(table, seeded=True), next(table.each()), table.take(np.zeros(9, dtype=int)),
        Submissions(table.protocol, table.q.astype(np.float64), table.p.astype(np.float64)),
        Submissions(table.protocol, table.q.astype(np.int64, order="F"), table.p[:, ::1]),
    )  # fmt: skip
    for copy in copies:
        assert base.add(copy).added == 0
    assert base.add_file(tmp_path / "again.parquet").refused == {words.AGAIN: 400}
    assert base.add_file(tmp_path / "again.jsonl").refused == {words.AGAIN: 400}
    assert len(base) == 400


def test_every_number_is_part_of_the_content(people):
    made, other = protocol_for(), protocol_for(purpose="another")
    one = made.perturb_table(*people).take(slice(0, 1))
    (known,) = one.contents()
    assert len(known) == 16
    changed = [replace(one, protocol=other.fingerprint)]
    for part in ("q", "p"):
        for j in range(4):
            values = getattr(one, part).copy()
            values[0, j] += 1
            changed.append(replace(one, **{part: values}))
    changed.append(replace(one, q=one.p, p=one.q))
    assert len({known, *(table.contents()[0] for table in changed)}) == 1 + len(changed)


def test_a_flood_of_zeros_is_one_submission():
    made = protocol_for()
    zeros = Submissions(made.fingerprint, np.zeros((1000, 4), dtype=np.int64), np.zeros((1000, 4), dtype=np.int64))
    base = Database(made)
    receipt = base.add(zeros)
    assert (receipt.added, receipt.refused) == (1, {words.AGAIN: 999})
    assert base.sums.count == 1


# --- one noise, one model -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("place", ["memory", "file"])
@pytest.mark.parametrize("rows", [slice(0, 400), slice(0, 399), slice(399, 400)])
def test_two_databases_of_one_process_give_one_model(people, tmp_path, place, rows):
    made = protocol_for()
    table = made.perturb_table(*people)
    first, second = (Database(made, None if place == "memory" else tmp_path / f"{k}.sqlite") for k in "ab")
    first.add(table)
    second.add(table.take(rows))
    second.add(made.perturb(people[0][0], 0.0))
    model = first.train()
    assert model.guarantee_.epsilon == 2.0
    for _ in range(2):
        with pytest.raises(PrivacyError, match="are in another database, which was trained"):
            second.train()
    assert not second.trained
    later = second.train(accept_record_guarantee=True)
    assert later.guarantee_.theorem == "input-record"
    assert later.guarantee_.epsilon == made.record_guarantee().epsilon
    assert np.array_equal(first.train().coef_, model.coef_)
    apart = Database(made)
    apart.add(made.perturb_table(*people))
    assert apart.train().guarantee_.theorem == "input"  # other noise: a collection of its own


def test_a_copy_of_the_file_is_the_same_collection(people, tmp_path):
    made = protocol_for(cohort=5000)
    with Database(made, tmp_path / "one.sqlite") as base:
        base.add(made.perturb_table(*people))
    (tmp_path / "two.sqlite").write_bytes((tmp_path / "one.sqlite").read_bytes())
    with Database(made, tmp_path / "one.sqlite") as one, Database(made, tmp_path / "two.sqlite") as two:
        one.train()
        with pytest.raises(PrivacyError, match="another database"):
            two.train()


def test_a_database_that_was_trained_in_an_earlier_process_is_known_once_it_is_open(people, tmp_path, monkeypatch):
    made = protocol_for()
    table = made.perturb_table(*people)
    with Database(made, tmp_path / "one.sqlite") as one:
        one.add(table)
        model = one.train()
    monkeypatch.setattr(training, "_released", {})  # a process that has trained nothing yet
    other = Database(made)
    other.add(table.take(slice(0, 5)))
    with Database(made, tmp_path / "one.sqlite") as one:
        assert np.array_equal(one.train().coef_, model.coef_)
    with pytest.raises(PrivacyError, match="are in another database"):
        other.train()


def test_a_training_that_failed_counts_for_other_databases_too(people):
    class Broken:
        """A source that fails when it is asked for noise."""

        seeded = False

        def words(self, count):
            raise RuntimeError

    made = protocol_for()
    table = made.perturb_table(*people)
    first, second = Database(made), Database(made)
    first.add(table)
    second.add(table)
    with pytest.raises(RuntimeError):
        first.train(source=Broken())
    with pytest.raises(PrivacyError, match="another database"):
        second.train()


@pytest.mark.parametrize("more", [{}, {"record_epsilon": 20.0}])
def test_fewer_honest_contributors_need_more_noise_each(more):
    """The search for the best share of epsilon is fine enough that its steps do not show."""
    target = Target("y", lower=-1, upper=1)
    scales = [
        Protocol.create(
            epsilon=1.0, delta=1e-4, cohort=20_000, columns=6, target=target, honest=honest, **more
        ).numbers.cross_scale
        for honest in (1.0, 0.95, 0.9, 0.5)
    ]
    assert all(fewer >= 0.99 * many for many, fewer in itertools.pairwise(scales))
    assert scales[-1] > 1.2 * scales[0]


def test_the_search_finds_the_least_cost():
    for best in (0.016, 0.03, 0.05, 0.17, 0.3, 0.5):
        seen = {}

        def cost(share, best=best, seen=seen):
            seen[share] = abs(math.log(share / best)) if share < 0.52 else math.inf
            return seen[share]

        input_plan._narrow(cost)
        assert min(seen.values()) < 0.03
        assert len(seen) <= 14
