"""Several releases as one price: never above the sum or a ledger's price, never below what they reveal."""

import itertools
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

import tacit
from tacit import Ledger, LogisticRegression, PrivacyError, PrivateScaler, spent
from tacit.cli.ledger import _drawn
from tacit.cli.main import main
from tacit.privacy import accounting
from tacit.privacy.events import Gaussian, Objective, PoissonGaussian, Response, Sensitivity, Sphere
from tacit.privacy.lists import price_of_list
from tacit.privacy.privacy_filters import Filters, Price, gaussian_cost, orders_for
from tacit.privacy.together import Together

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, size=(2000, 3))
Y = (X[:, 0] > 0).astype(int)
KINDS = {
    "gaussian": (Gaussian(Sensitivity(0.1, 0.2), 1.0),),
    "objective": (
        Objective(slope=1.0, trace=0.25, strength=20.0, scale=15.0, geometry="logistic"),
        Gaussian(Sensitivity(1e-9, 2e-9), 1.0),
    ),
    "two-sided": (
        Objective(slope=1.0, trace=0.25, strength=20.0, scale=25.0, geometry="two-sided"),
        Gaussian(Sensitivity(1e-9, 2e-9), 1.0),
    ),
    "sphere": (Sphere(Sensitivity(1, 2), 8.0),),
}
SAMPLED = (PoissonGaussian(clip=1.0, scale=4.0, rate=0.1, count=2),)


def ledger_price(lists, budget, delta, adjacency):
    filters = Filters(budget, delta, adjacency, orders_for(budget, delta))
    total = Price(renyi=tuple(0.0 for _ in filters.orders))
    for number, events in enumerate(lists, 1):
        total = total.plus(filters.price(events, number))
    return filters.spent(total)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("one", "two"), list(itertools.combinations_with_replacement(KINDS, 2)))
def test_a_list_costs_at_most_the_sum_and_what_any_ledger_counts(one, two, adjacency):
    for count, delta in ((1, 1e-6), (3, 1e-3), (8, 1e-9)):
        lists = [KINDS[one], KINDS[two]] * count
        price = price_of_list(lists, [delta] * len(lists), delta, adjacency)
        assert price <= min(ledger_price(lists, budget, delta, adjacency) for budget in (0.3, 3.0, 30.0))
        own = [delta / 2 ** (number + 1) for number in range(len(lists))]
        added = sum(accounting.epsilon(events, at, adjacency) for events, at in zip(lists, own, strict=True))
        assert price_of_list(lists, own, delta, adjacency) <= added * (1 + 1e-12)
        assert price >= max(accounting.epsilon(events, delta, adjacency) for events in lists) * (1 - 1e-9)


@pytest.mark.parametrize("other", [SAMPLED, KINDS["objective"]], ids=["sampled", "objective"])
def test_a_list_with_samples_costs_at_most_what_a_ledger_counts(other):
    lists = [SAMPLED, other]
    price = price_of_list(lists, [1e-6, 1e-6], 1e-6, "replace-one")
    assert price <= ledger_price(lists, 3.0, 1e-6, "replace-one")
    assert price <= price_of_list(lists, [5e-7, 5e-7], 1e-6, "replace-one")


@pytest.mark.parametrize("count", [2, 10, 60])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_a_list_of_coins_costs_at_least_what_they_reveal(count, delta):
    """Randomised response, whose loss after k answers is (2 i - k) epsilon with i binomial: exact."""
    single = 0.3
    kept = 1 / (1 + math.exp(-single))
    right = np.arange(count + 1)
    losses, masses = (2 * right - count) * single, binom.pmf(right, count, kept)
    price = price_of_list([(Response(single),)] * count, [0.0] * count, delta, "replace-one")
    revealed = float(np.sum(masses * np.maximum(0.0, -np.expm1(price - losses))))
    assert revealed <= delta * (1 + 1e-9)
    if count == 60:
        assert price < 0.9 * count * single  # and far less than the sum


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_a_list_of_gaussian_releases_costs_exactly_what_they_reveal(delta):
    price = price_of_list([KINDS["gaussian"]] * 25, [delta] * 25, delta, "replace-one")
    assert accounting.gaussian_delta(1.0, price) == pytest.approx(delta, rel=1e-6)


def fitted(epsilon, delta=1e-6):
    return LogisticRegression(epsilon, delta=delta, classes=[0, 1]).fit(X, Y).guarantee_


def test_spent_is_the_least_number_that_a_user_can_see(tmp_path):
    for place, epsilons in enumerate(([0.8, 0.5], [0.6] * 10)):
        guarantees = [fitted(epsilon) for epsilon in epsilons]
        ledger = Ledger(tmp_path / f"{place}.sqlite", epsilon=5, delta=1e-6)
        for one in guarantees:
            ledger.charge(one)
        assert max(epsilons) < spent(guarantees, delta=1e-6) < min(ledger.spent(), sum(epsilons))


def test_after_a_found_schema_spent_and_the_file_say_the_sum(tmp_path):
    """Its columns decide on the noise of the model, so what the model's noise costs is no bound for all outcomes."""
    table = {"age": RNG.integers(18, 90, 3000), "ward": RNG.choice(["a", "b"], 3000)}
    table["ill"] = np.where(table["age"] > 50, "yes", "no")
    schema = tacit.private_schema(table, epsilon=0.4, delta=1e-6, target="ill")
    model = tacit.AdditiveClassifier(1.0, delta=1e-6, schema=schema).fit(table)
    both = [schema.guarantee, model.guarantee_]
    with pytest.raises(PrivacyError, match=r"Use delta=2e-06 or more, or charge all of them to one tacit\.Ledger"):
        spent(both, delta=1e-6)
    assert spent(both, delta=2e-6) == spent(both[::-1], delta=2e-6) == pytest.approx(1.4, rel=1e-15)
    assert spent([replace(both[0], epsilon=0.1), both[1]], delta=2e-6) > 1.39  # what is stated too low is not believed
    model.save(tmp_path / "model.json")
    (whole,) = tacit.files.stated(tmp_path / "model.json")
    assert whole.epsilon == spent(both, delta=whole.delta)
    # Under add-remove the schema costs what its own noise does; the model at most what it states for replace-one.
    less = whole.epsilon_at(adjacency="add-remove")
    assert less == pytest.approx(both[0].epsilon_at(adjacency="add-remove") + 1.0, rel=1e-6)
    assert "under add-remove" in str(whole).partition("status")[0]
    other = replace(model.guarantee_, adjacency="add-remove")
    with pytest.raises(PrivacyError, match="Use adjacency='add-remove'"):
        spent([schema.guarantee, other], delta=2e-6)


def test_a_file_states_what_spent_says():
    scaler = PrivateScaler(0.5, delta=1e-6, bounds=[(-1, 1)] * 3).fit(X).guarantee_
    models = [fitted(0.8), fitted(0.5)]
    parts = (("a", scaler), ("b", models[0]), ("c", models[1]))
    for adjacency in ("replace-one", "add-remove"):
        total = Together(parts).epsilon_at(adjacency=adjacency)
        assert total == spent([scaler, *models], delta=3e-6, adjacency=adjacency)
        assert total < sum(one.epsilon_at(adjacency=adjacency) for one in (scaler, *models))


@pytest.mark.parametrize("events", [*KINDS.values(), SAMPLED], ids=[*KINDS, "sampled"])
def test_what_is_stated_for_replaced_records_holds_for_added_ones(events):
    for delta in (1e-9, 1e-6, 1e-3):
        added, replaced = (accounting.epsilon(events, delta, one) for one in ("add-remove", "replace-one"))
        assert added <= replaced


def test_a_ledger_shows_a_release_as_it_was_stated(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "one.sqlite", epsilon=2, delta=1e-6)
    stated = fitted(0.4)
    ledger.charge(stated)
    (entry,) = ledger.entries
    monkeypatch.setattr(accounting, "epsilon", lambda *_: 0.4 * (1 + 1e-9))  # within what prices are computed to
    assert entry.epsilon_at(1e-6) == ledger.spent() == 0.4
    assert entry.epsilon_at(1e-7) > 0.4


@pytest.mark.parametrize(
    ("spent_", "text"), [(2.99996, "2.99996"), (2.9999999, "2.9999999"), (3.0, "3"), (1.2345678, "1.235")]
)
def test_a_ledger_reads_as_used_up_only_where_it_is(spent_, text, tmp_path):
    balance = replace(Ledger(tmp_path / "new.sqlite", epsilon=3, delta=1e-6).balance(), spent=spent_)
    assert f"spent       epsilon = {text}\n" in str(balance)
    assert _drawn(spent_ / 3)[0] == {3.0: "100%", 1.2345678: "41.2%"}.get(spent_, ">99.9%")


def test_a_pure_ledger_has_a_pure_release_left(tmp_path):
    assert "for one more pure release at delta = 0\n" in str(Ledger(tmp_path / "pure.sqlite", 1.0, 0.0).balance())


def test_show_says_what_its_columns_mean(tmp_path, capsys):
    Ledger(tmp_path / "study.sqlite", epsilon=3, delta=1e-6).charge(fitted(0.4))
    assert main(["ledger", "show", str(tmp_path / "study.sqlite")]) == 0
    shown = capsys.readouterr().out
    assert "Parts add up; epsilons do not." in shown
    assert "left: the largest epsilon that one more release may have" in shown


def test_rows_and_people_have_no_price_together():
    rows = tacit.statistics.mean([0.1, 0.2, 0.3], bounds=(0, 1), epsilon=1.0, delta=1e-6)
    people = tacit.statistics.mean(
        [0.1, 0.2, 0.3], bounds=(0, 1), epsilon=1.0, delta=1e-6, groups=[1, 1, 2], rows_per_person=2
    )
    with pytest.raises(PrivacyError, match="no price for both together"):
        spent([rows.guarantee, people.guarantee], delta=2e-6)
    assert spent([rows.guarantee, rows.guarantee], delta=2e-6) > 1


def test_what_was_found_is_added_as_stated():
    found = tacit.statistics.private_categories(["a", "b", "a"] * 50, epsilon=0.5, delta=1e-6)
    mean = tacit.statistics.mean([0.1, 0.2, 0.3], bounds=(0, 1), epsilon=1.0, delta=1e-6)
    assert spent([found.guarantee, mean.guarantee], delta=2e-6) == pytest.approx(1.5, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-17, 1e-12, 1e-7, 9.9e-5, 1.1e-4, 1e-2, 1.0])
def test_a_pure_epsilon_has_no_smaller_mu_than_the_exact_one(epsilon):
    with mpmath.workdps(60):
        exact = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2))
        cost = gaussian_cost((Sphere(Sensitivity(1, 1), 1 / epsilon),), "replace-one")
        assert exact**2 <= cost <= exact**2 * (1 + 1e-8)
