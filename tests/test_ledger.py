"""The ledger: written before released, never exceeded, nothing lost; what it refuses, and in which words."""

import copy
import dataclasses
import json
import math
import os
import pickle
import sqlite3
import threading

import numpy as np
import pytest
from sklearn.base import clone

import tacit
from tacit import Ledger, LinearRegression, LogisticRegression, PrivacyError
from tacit.cli.main import main
from tacit.ledger import CarriesLedger, ledger_of, sqlite, suspended
from tacit.ledger.opening import VARIABLE
from tacit.mechanisms import METHODS
from tacit.mechanisms.counts import Tables, calibrate_counts
from tacit.privacy import accounting
from tacit.protocol import Database, Protocol
from tacit.published import PublishedInput
from tacit.schema import Target
from tacit.training import state
from tacit.types import Budget

rng = np.random.default_rng(5)
X = rng.uniform(-0.5, 0.5, size=(400, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "study.sqlite"


@pytest.fixture
def ledger(place):
    return Ledger(place, epsilon=3, delta=1e-6)


def release(epsilon=0.5, delta=1e-6, adjacency="replace-one", **settings):
    """A guarantee of a Gaussian release of so much."""
    tables, budget = Tables((4,), (1.0,)), Budget(epsilon, delta, adjacency)
    plan = calibrate_counts(tables, budget, 0.5)
    (event,) = plan.events
    mu = accounting.gaussian_mu(epsilon, delta)
    sensitivity = event.sensitivity.under(adjacency)
    exact = dataclasses.replace(plan, events=(dataclasses.replace(event, scale=sensitivity / mu * (1 + 1e-9)),))
    return state(exact, 100, budget, method="counts", seeded=False, **settings).guarantee


def fit(epsilon=0.5, **settings):
    return LogisticRegression(epsilon, classes=[0, 1], **settings).fit(X, Y)


# --- the file --------------------------------------------------------------------------------------------------------


def test_a_ledger_is_made_once_and_opened_again(place):
    made = Ledger(place, epsilon=3, delta=1e-6, adjacency="add-remove", rows_per_person=4)
    made.charge(release(adjacency="add-remove", rows_per_person=4), "first look")
    again = Ledger(str(place))
    assert again == made
    assert (again.epsilon, again.delta, again.adjacency, again.rows_per_person) == (3, 1e-6, "add-remove", 4)
    (entry,) = again.entries
    assert (entry.number, entry.label, entry.guarantee) == (
        1, "first look", release(adjacency="add-remove", rows_per_person=4)
    )  # fmt: skip
    assert Ledger(place, 3, 1e-6) == again
    assert list(place.parent.iterdir()) == [place]  # one file


@pytest.mark.parametrize(
    "other", [{"epsilon": 4}, {"delta": 1e-5}, {"adjacency": "add-remove"}, {"rows_per_person": 2}], ids=str
)
def test_other_settings_than_the_files_are_refused(place, ledger, other):
    with pytest.raises(PrivacyError, match=r"study.sqlite was created with .* cannot be changed"):
        Ledger(place, **other)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "There is no ledger study.sqlite"),
        ({"epsilon": 1}, "give epsilon= and delta="),
        ({"epsilon": 0, "delta": 1e-6}, "epsilon=0.0 > 0"),
        ({"epsilon": -1, "delta": 1e-6}, "epsilon=-1.0 > 0"),
        ({"epsilon": math.inf, "delta": 1e-6}, "finite"),
        ({"epsilon": math.nan, "delta": 1e-6}, "epsilon"),
        ({"epsilon": "3", "delta": 1e-6}, "to be a number"),
        ({"epsilon": 1, "delta": 1.0}, "delta=1.0 < 1"),
        ({"epsilon": 1, "delta": -0.1}, "delta=-0.1"),
        ({"epsilon": 1, "delta": 1e-6, "adjacency": "edit"}, "adjacency"),
        ({"epsilon": 1, "delta": 1e-6, "rows_per_person": 0}, "rows_per_person"),
    ],
    ids=str,
)
def test_bad_budgets_make_no_file(place, settings, words):
    with pytest.raises(ValueError, match=words):
        Ledger(place, **settings)
    assert not place.exists()


@pytest.mark.parametrize("content", [b"not a ledger at all, " * 100, b"SQLite format 3\0" + b"x" * 5000])
def test_foreign_and_damaged_files_are_refused_and_left_alone(place, content):
    place.write_bytes(content)
    for settings in ({}, {"epsilon": 1, "delta": 1e-6}):
        with pytest.raises(PrivacyError, match="not a Tacit ledger"):
            Ledger(place, **settings)
    assert place.read_bytes() == content


def test_another_programs_database_is_refused_and_left_alone(place):
    base = sqlite3.connect(place)
    base.execute("CREATE TABLE mine (x)")
    base.commit()
    base.close()
    before = place.read_bytes()
    with pytest.raises(PrivacyError, match=r"study\.sqlite is not a Tacit ledger"):
        Ledger(place, 1, 1e-6)
    assert place.read_bytes() == before


def test_a_truncated_ledger_is_refused(place, ledger):
    for _ in range(10):
        ledger.charge(release(0.1))
    place.write_bytes(place.read_bytes()[:-4096])
    with pytest.raises(PrivacyError, match="damaged"):
        Ledger(place).verify()


def test_an_empty_file_may_be_a_ledger_that_was_cut(place):
    place.touch()
    for given in ((), (1, 1e-6)):
        with pytest.raises(PrivacyError, match="is empty: if it was a ledger it is damaged"):
            Ledger(place, *given)
    place.unlink()
    assert Ledger(place, 1, 1e-6).left() == 1
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_damaged_last_entry_admits_nothing(ledger, place):
    ledger.charge(release(2.5))
    base = sqlite3.connect(place)
    base.execute("DROP TRIGGER unaltered")
    (content,) = base.execute("SELECT content FROM ledger WHERE number = 1").fetchone()
    data = json.loads(content)
    data["total"]["basic"] = 0.01
    text = json.dumps(data, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    base.execute("UPDATE ledger SET content = ? WHERE number = 1", (text,))
    base.commit()
    base.close()
    for use in (lambda: ledger.charge(release(0.1)), ledger.left, ledger.balance, lambda: ledger.admits(())):
        with pytest.raises(PrivacyError, match="Entry 1 of this ledger was altered or damaged"):
            use()


def test_a_locked_file_is_one_sentence_and_costs_nothing(place, ledger, monkeypatch):
    monkeypatch.setattr(sqlite, "WAIT", 0.05)
    base = sqlite3.connect(place, isolation_level=None)
    base.execute("BEGIN IMMEDIATE")
    with pytest.raises(PrivacyError, match=r"another process held this ledger .* Nothing was spent"):
        ledger.charge(release())
    model = LogisticRegression(0.5, classes=[0, 1], ledger=ledger)
    with pytest.raises(PrivacyError, match="Nothing was spent"):
        model.fit(X, Y)
    assert not hasattr(model, "guarantee_")
    base.execute("ROLLBACK")
    base.close()
    assert ledger.entries == ()


def test_a_file_that_went_away_is_one_sentence(place, ledger):
    place.unlink()
    with pytest.raises(PrivacyError, match=r"study.sqlite: this ledger cannot be opened"):
        ledger.charge(release())
    assert not place.exists()


@pytest.mark.parametrize("address", ["mysql://here/db", "", 3, None], ids=str)
def test_addresses_that_are_none(address):
    with pytest.raises(ValueError, match="address"):
        Ledger(address)


# --- charging --------------------------------------------------------------------------------------------------------


def test_the_entry_stands_before_the_model_exists(ledger, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    model = LinearRegression(0.5, target_bound=1.0, ledger=ledger)
    monkeypatch.setattr(LinearRegression, "_spend", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, X[:, 0])
    assert len(ledger.entries) == 1  # nothing is refunded


def test_an_entry_holds_the_events_and_no_record(ledger, place):
    model = fit(ledger=ledger)
    (entry,) = ledger.entries
    assert entry.guarantee == model.guarantee_
    assert entry.guarantee.verify() <= 0.5 * (1 + 1e-6)
    base = sqlite3.connect(place)
    content = json.loads(base.execute("SELECT content FROM ledger WHERE number = 1").fetchone()[0])
    base.close()
    assert set(content) == {"number", "time", "label", "guarantee", "price", "total", "previous"}


def test_what_exceeds_the_budget_is_refused_with_what_is_left(ledger):
    ledger.charge(release(2.5))
    before = ledger.spent(), ledger.left()
    model = LogisticRegression(2.9, classes=[0, 1], ledger=ledger)
    with pytest.raises(
        PrivacyError, match=r"costs epsilon=2\.\d+ at delta=1e-06; .* room left for a Gaussian .*epsilon=1"
    ):
        model.fit(X, Y)
    assert not hasattr(model, "guarantee_")
    assert (ledger.spent(), ledger.left()) == before
    ledger.charge(release(ledger.left()))  # what is said to be left is left
    assert ledger.left() < 0.05
    assert 2.99 < ledger.spent() <= 3
    ledger.verify()


def test_many_small_releases_cost_about_the_square_root(ledger):
    for _ in range(25):
        ledger.charge(release(0.4))
    assert 2.0 < ledger.spent() < 2.4  # 0.4 times 5, and less than the 10 that their sum is


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_whole_budget_may_go_to_one_release_of_any_default(tmp_path, epsilon, adjacency):
    makers = {
        "auto": LogisticRegression(epsilon, classes=[0, 1], adjacency=adjacency),
        "svm": tacit.LinearSVC(epsilon, classes=[0, 1], adjacency=adjacency),
        "linear": LinearRegression(epsilon, target_bound=1.0, adjacency=adjacency),
        "poisson": tacit.PoissonRegressor(epsilon, target_bound=5.0, adjacency=adjacency),
        "quantile": tacit.QuantileRegressor(epsilon, target_bound=1.0, adjacency=adjacency),
    }
    for name, model in makers.items():
        book = Ledger(tmp_path / f"{name}.sqlite", epsilon, 1e-6, adjacency)
        with book:
            model.fit(X, Y)
        assert 0 < book.spent() <= epsilon
        assert model.guarantee_.delta == 1e-6  # the ledger's
        with pytest.raises(PrivacyError, match="room"), book:
            model.fit(X, Y)
        book.verify()


LIKE_OTHERS = ("bassily-2014", "dp-lssgd")  # releases of the same kind as those of dp-sgd
CENTRAL = [name for name, method in METHODS.items() if "logistic" in method.losses and name not in LIKE_OTHERS]


@pytest.mark.parametrize("name", CENTRAL)
def test_the_whole_budget_may_go_to_any_method(place, name):
    book = Ledger(place, 2, 1e-5)
    model = LogisticRegression(2, classes=[0, 1], method=name, ledger=book)
    model.fit(X, Y)
    assert 0 < book.spent() <= 2 * (1 + 1e-6)
    book.verify()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: release(adjacency="add-remove"), "for replace-one neighbours"),
        (lambda: dataclasses.replace(release(), status="claimed"), "proven releases only"),
        (lambda: dataclasses.replace(release(), status="refuted"), "proven releases only"),
        (lambda: dataclasses.replace(release(), events=(), theorem="none", epsilon=math.inf), "without noise"),
        (lambda: dataclasses.replace(release(), theorem="objective"), "not what it rests on"),
        (lambda: dataclasses.replace(release(), epsilon=0.1), "cost more than it states"),
        (lambda: "everything", "Expected a tacit.Guarantee"),
    ],
)
def test_what_a_ledger_cannot_count(ledger, made, words):
    with pytest.raises(ValueError, match=words):
        ledger.charge(made())
    assert ledger.entries == ()


def test_a_fit_without_noise_and_a_papers_noise_are_refused(ledger):
    with pytest.raises(PrivacyError, match="without noise"):
        fit(math.inf, ledger=ledger)
    refuted = PublishedInput(constant=8.0, steps=10, rate=0.1, domain=1.0)
    with (
        pytest.warns(tacit.RefutedWarning),
        pytest.raises(PrivacyError, match="proven releases only, and PublishedInput is refuted"),
    ):
        fit(0.5, ledger=ledger, method=refuted, calibration="paper")
    assert ledger.entries == ()


def test_networks_are_charged_and_papers_networks_refused(ledger):
    pytest.importorskip("torch", reason="this test needs the extra 'torch': pip install '.[torch]'")
    network = tacit.MLPClassifier(1.0, classes=[0, 1], bounds=(-0.5, 0.5), hidden=2, epochs=1)
    with ledger:
        network.fit(X, Y)
        (entry,) = ledger.entries
        assert entry.guarantee == network.guarantee_
        published = tacit.published.PublishedMLPClassifier("dbdp-erm", constant=1.0, steps=2, hidden=2, classes=[0, 1])
        with pytest.warns(tacit.RefutedWarning), pytest.raises(PrivacyError, match="proven releases only"):
            published.fit(X, Y)
        assert pickle.loads(pickle.dumps(network)).ledger == ledger.address
    assert len(ledger.entries) == 1
    assert not hasattr(published, "guarantee_")


@pytest.mark.parametrize(
    ("unit", "release_unit", "adjacency", "words"),
    [
        (None, None, "replace-one", ""),
        (None, 3, "replace-one", ""),
        (None, 3, "add-remove", "changes that person"),
        (3, 3, "add-remove", ""),
        (3, 5, "replace-one", ""),
        (3, None, "replace-one", "single rows"),
        (3, 2, "replace-one", "up to 3 rows, the release those with up to 2"),
    ],
)
def test_the_unit_of_a_release_must_be_at_least_the_ledgers(place, unit, release_unit, adjacency, words):
    book = Ledger(place, 1, 1e-6, adjacency, unit)
    one = release(0.1, adjacency=adjacency, rows_per_person=release_unit)
    if not words:
        assert book.charge(one).number == 1
        return
    with pytest.raises(PrivacyError, match=words):
        book.charge(one)
    assert book.entries == ()


def test_fits_for_people_are_charged_as_such(place):
    book, people = Ledger(place, 2, 1e-6, rows_per_person=4), np.arange(len(X)) // 4
    with book:
        model = LogisticRegression(0.5, classes=[0, 1], rows_per_person=4).fit(X, Y, groups=people)
        with pytest.raises(PrivacyError, match="the release single rows"):
            fit()
        with pytest.raises(PrivacyError, match="those with up to 2"):
            LogisticRegression(0.5, classes=[0, 1], rows_per_person=2).fit(X, Y, groups=people)
    assert [entry.guarantee for entry in book.entries] == [model.guarantee_]
    assert model.guarantee_.records == 100
    book.verify()


def test_seeded_releases_are_written_down_and_marked(ledger):
    fit(random_state=1, ledger=ledger)
    assert ledger.balance().seeded == 1
    assert "NOT FOR RELEASE" in str(ledger.balance())


def test_a_collection_counts_once(place, ledger):
    one = dataclasses.replace(release(), collection="abc")
    ledger.charge(one)
    with pytest.raises(PrivacyError, match="two models of one protocol"):
        ledger.charge(one)
    ledger.charge(dataclasses.replace(release(), collection="xyz"))
    ledger.verify()


def test_a_pure_ledger_takes_pure_releases(place):
    book = Ledger(place, 1.0, 0.0)
    for _ in range(2):
        fit(0.5, delta=0.0, method="output-chaudhuri-2011", ledger=book)
    assert book.spent() == pytest.approx(1, rel=1e-6)
    with pytest.raises(PrivacyError, match="room left for a pure release"):
        fit(0.1, delta=0.0, method="output-chaudhuri-2011", ledger=book)
    with pytest.raises(PrivacyError, match="costs epsilon=infinity"):
        book.charge(release(0.01))


def test_an_entry_pays_the_price_of_the_number_that_it_gets(ledger, monkeypatch):
    """Others may charge between the pricing and the writing; later numbers have less of delta, and pay more."""
    model = LogisticRegression(0.2, classes=[0, 1], method="objective", ledger=ledger)
    for _ in range(4):
        model.fit(X, Y)
    store = type(ledger._store)
    monkeypatch.setattr(store, "last", store.first)  # as if the ledger had been read before all of that
    model.fit(X, Y)
    monkeypatch.undo()
    first, *_, last = ledger.entries
    assert last.number == 5
    assert last.price.basic > 1.02 * first.price.basic
    ledger.verify()


@pytest.mark.parametrize("label", ["two\nlines", "x" * 201, 7])
def test_labels_are_short_lines(ledger, label):
    with pytest.raises(ValueError, match="label"):
        ledger.charge(release(), label)


# --- with, copies, threads -------------------------------------------------------------------------------------------


def test_with_is_for_all_inside_and_for_children(ledger):
    assert ledger_of(None) is None
    with ledger:
        fit()
        assert os.environ[VARIABLE] == ledger.address
        assert ledger_of(None) is ledger
        with Ledger(ledger.address):  # the same one
            fit()
        assert ledger_of(None) is ledger
    assert VARIABLE not in os.environ
    assert len(ledger.entries) == 2
    fit()
    assert len(ledger.entries) == 2


def test_another_ledger_inside_is_refused(ledger, tmp_path):
    other = Ledger(tmp_path / "other.sqlite", 1, 1e-6)
    with ledger:
        with pytest.raises(PrivacyError, match="Another ledger is open"), other:
            pass
        with pytest.raises(PrivacyError, match="Another ledger is open"):
            fit(ledger=other)
        fit(ledger=ledger.address)
    assert (len(ledger.entries), len(other.entries)) == (1, 0)


def test_the_environment_names_a_ledger(ledger, monkeypatch):
    monkeypatch.setenv(VARIABLE, ledger.address)
    fit()
    assert len(ledger.entries) == 1


def test_threads_see_the_open_ledger(ledger):
    with ledger:
        threads = [threading.Thread(target=fit, args=(0.1,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(ledger.entries) == 4
    ledger.verify()


def test_parts_of_a_charged_release_are_not_charged(ledger):
    with ledger:
        with suspended():
            fit()
            fit(ledger=ledger)
            assert pickle.loads(pickle.dumps(LogisticRegression(1.0))).ledger is None
        fit()
    assert len(ledger.entries) == 1


def test_copies_are_the_same_ledger(ledger):
    model = LogisticRegression(0.5, classes=[0, 1], ledger=ledger)
    for copied in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert copied.ledger == ledger
    assert hash(copy.deepcopy(ledger)) == hash(ledger)
    assert repr(ledger) in repr(model)


def test_copies_made_while_it_is_open_charge_it(ledger, tmp_path, monkeypatch):
    with ledger:
        copied = pickle.loads(pickle.dumps(LogisticRegression(0.5, classes=[0, 1])))
    assert copied.ledger == ledger.address
    copied.fit(X, Y)
    assert len(ledger.entries) == 1
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickle.dumps(LogisticRegression(ledger="study.sqlite"))).ledger == ledger.address
    assert pickle.loads(pickle.dumps(LogisticRegression())).ledger is None


def test_every_estimator_carries_the_ledger():
    for name in tacit.__all__:
        kind = getattr(tacit, name)
        if isinstance(kind, type) and hasattr(kind, "fit") and hasattr(kind, "ledger"):
            assert issubclass(kind, CarriesLedger), name


def test_an_audit_does_not_run_while_a_ledger_is_open(ledger):
    with ledger, pytest.raises(PrivacyError, match="An audit, which trains again and again, cannot be charged"):
        tacit.audit.audit("output", Budget(1.0, 1e-5))


def test_a_collections_model_is_charged(ledger):
    protocol = Protocol.create(epsilon=2.0, delta=1e-3, cohort=400, columns=3, target=Target("y", lower=-1, upper=1))
    with Database(protocol) as database:
        database.add(protocol.perturb_table(X, X[:, 0]))
        with pytest.raises(PrivacyError, match="room"):
            database.train(ledger=ledger)  # its delta is above the ledger's
        assert not database.trained
        book = Ledger(ledger.address + "2", 3, 2e-3)
        model = database.train(ledger=book)
        assert [entry.guarantee for entry in book.entries] == [model.guarantee_]
        database.train(ledger=book)  # the same model again is no release
        assert len(book.entries) == 1
        book.verify()


# --- verification ----------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(ledger):
    for number in range(5):
        ledger.charge(release(0.2), f"release {number}")
    fit(0.3, method="objective", ledger=ledger)
    return ledger


def alter(ledger, statement, *values):
    base = sqlite3.connect(ledger.address)
    for trigger in ("unaltered", "unremoved"):
        base.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    base.execute(statement, values)
    base.commit()
    base.close()


def test_entries_cannot_be_changed_by_accident(filled):
    base = sqlite3.connect(filled.address)
    for statement in ("UPDATE ledger SET digest = ''", "DELETE FROM ledger"):
        with pytest.raises(sqlite3.IntegrityError, match="entries of a ledger"):
            base.execute(statement)
    base.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE ledger SET content = replace(content, 'release 2', 'release 7') WHERE number = 3", "Entry 3"),
        ("DELETE FROM ledger WHERE number = 2", "Entry 2 of this ledger is missing"),
        ("UPDATE ledger SET content = replace(content, '\"epsilon\":3', '\"epsilon\":9') WHERE number = 0", "settings"),
        ("UPDATE ledger SET digest = upper(digest) WHERE number = 6", "Entry 6"),
    ],
)
def test_what_was_altered_is_found(filled, statement, words):
    filled.verify()
    alter(filled, statement)
    with pytest.raises(PrivacyError, match=words):
        Ledger(filled.address).verify()


def test_entries_cut_off_at_the_end_are_found_by_a_noted_digest(filled):
    noted = filled.balance().digest
    filled.charge(release(0.1))
    filled.verify(noted)  # a state that it went through
    for number in (7, 6):
        alter(filled, "DELETE FROM ledger WHERE number = ?", number)
    filled.verify()
    with pytest.raises(PrivacyError, match="does not belong to any state"):
        filled.verify(noted)


@pytest.mark.parametrize("field", ["gaussian", "basic"])
def test_prices_that_were_written_too_small_are_found(filled, field, monkeypatch):
    """Whoever writes a whole chain anew cannot lie about prices: they follow from the events."""
    from tacit.ledger import entries

    lines = filled._store.lines()
    previous, written = lines[0].digest, [lines[0]]
    for line in lines[1:]:
        data = json.loads(line.content)
        data["price"][field] = None if data["price"][field] is None else data["price"][field] / 2
        written.append(entries.sealed(line.number, data, previous))
        previous = written[-1].digest
    for line in written:
        alter(
            filled, "UPDATE ledger SET content = ?, digest = ? WHERE number = ?", line.content, line.digest, line.number
        )
    with pytest.raises(PrivacyError, match="Entry 1 costs more than this ledger counted"):
        filled.verify()


# --- the command line ------------------------------------------------------------------------------------------------


def test_the_command_line_makes_shows_and_verifies(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["ledger", "create", "s.sqlite", "--epsilon", "3", "--delta", "1e-6"]) == 0
    assert main(["ledger", "show", "s.sqlite"]) == 0
    assert "left        epsilon = 3" in capsys.readouterr().out
    table = "\n".join(["a,b,label", *(f"{row[0]},{row[1]},{label}" for row, label in zip(X, Y, strict=True))])
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    words = ["fit", "t.csv", "--target", "label", "--classes", "0,1", "--ledger", "s.sqlite", "--out", "m.json"]
    assert main([*words, "--epsilon", "1"]) == 0
    assert main([*words, "--epsilon", "2", "--out", "n.json"]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", "s.sqlite"]) == 0
    shown = capsys.readouterr().out
    assert "█" in shown
    assert "2 releases" in shown
    assert main([*words, "--epsilon", "3", "--out", "o.json"]) == 2
    assert "has room left for a Gaussian release" in capsys.readouterr().err
    assert not (tmp_path / "o.json").exists()
    digest = Ledger("s.sqlite").balance().digest
    assert main(["ledger", "verify", "s.sqlite", "--digest", digest]) == 0
    assert main(["verify", "s.sqlite"]) == 0
    assert "VERIFIED" in capsys.readouterr().out
    assert main(["statement", "s.sqlite"]) == 0
    assert "2 releases" in capsys.readouterr().out
    assert main(["statement", "s.sqlite", "--html", "page.html"]) == 0
    assert "s.sqlite" in (tmp_path / "page.html").read_text(encoding="utf-8")
    alter(Ledger("s.sqlite"), "DELETE FROM ledger WHERE number = 1")
    assert main(["verify", "s.sqlite"]) == 1
    assert "NOT VERIFIED. Entry 1" in capsys.readouterr().err
    assert main(["ledger", "create", "s.sqlite", "--epsilon", "3", "--delta", "1e-6"]) == 2
    assert main(["ledger", "show", "none.sqlite"]) == 2


def test_a_balance_counts_in_words(tmp_path):
    book = Ledger(tmp_path / "s.sqlite", epsilon=3, delta=1e-4, rows_per_person=8)
    assert "for all releases together, of which there are none yet;" in str(book.balance())
    assert "which differ in all rows of one person (rows_per_person = 8)" in str(book.balance()).replace("\n", " ")
    row = Ledger(tmp_path / "r.sqlite", epsilon=3, delta=1e-4)
    row.charge(release())
    assert "for all releases together, so far one;" in str(row.balance())
    row.charge(release())
    assert "for all 2 releases together;" in str(row.balance())


def test_a_ledger_calls_a_model_by_its_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(f"{place / 50},{place % 2}" for place in range(50)))
    book = Ledger("s.sqlite", epsilon=9, delta=1e-3)
    words = ["fit", "t.csv", "--target", "b", "--classes", "0,1", "--ledger", "s.sqlite", "--epsilon", "1"]
    assert main([*words, "--out", "m.json"]) == 0
    assert main([*words, "--out", "n.json", "--label", "mine"]) == 0
    assert [entry.label for entry in book.entries] == ["m.json, LogisticRegression", "mine"]
