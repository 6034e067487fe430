"""A stranger's estimator is compared by everything that it shows; what it does not leak is not held against it.

False alarms: tests that must not alarm have confidence 1 - 1e-6. Leaks without noise are found in every audit.
"""

import secrets
import warnings

import numpy as np
import pytest
from leaky import Bare, Behind, Holder, NoisySum, Picky
from sklearn.linear_model import Ridge

import tacit
from tacit.audit import Batched, Pair, audit, library
from tacit.audit.blackbox import Estimator, fresh, unfitted
from tacit.audit.observed import observe
from tacit.audit.outcomes import Layout, Runs
from tacit.audit.replay import same_noise
from tacit.audit.runner import REFUSED, SAME, UNSET
from tacit.audit.values import NO_NUMBER, numbers_in, public, read, without_numbers, words_of
from tacit.types import Budget

CLAIM = Budget(1.0, 1e-5)
SURE = 1 - 1e-6
LABEL = library("replace-one")[0]
LEAKS = ("classes_", "n_iter_", "dtype_", "shape_", "words_", "plain", "kept_", "presence", "wide")
TOLD = ("report_", "weak_", "named_", "bytes_", "texts_", "warning", "error", "cause")


@pytest.mark.parametrize("leak", LEAKS)
def test_every_leak_is_a_violation(leak):
    result = audit(NoisySum(leak=leak), CLAIM, pairs=LABEL, trials=400, seed=1)
    assert result.verdict == "violated", str(result)
    assert not result.notes


@pytest.mark.parametrize("leak", TOLD)
def test_what_is_told_with_something_new_in_every_run_is_a_violation(leak):
    """Text, warnings and errors with a number of the run: no two are the same, and what they quote tells. (Errors are
    raised in half of the runs, by chance: that they are raised tells nothing.)"""
    result = audit(NoisySum(leak=leak), CLAIM, pairs=LABEL, trials=2000, seed=1)
    assert result.verdict == "violated", str(result)
    assert not result.notes


def test_without_a_leak_the_same_estimator_is_spared():
    result = audit(NoisySum(), CLAIM, pairs=LABEL, trials=400, confidence=SURE, seed=1)
    assert result.verdict == "consistent"


def test_what_is_public_can_be_left_out():
    result = audit(
        NoisySum(leak="classes_"), CLAIM, pairs=LABEL, trials=400, confidence=SURE, seed=1, ignore=["classes_"]
    )
    assert result.verdict == "consistent"


def test_a_name_that_never_occurs_cannot_be_left_out():
    with pytest.raises(
        ValueError, match=r"Expected 'clases_' in ignore to be one of the attributes that there are: .*classes_, coef_"
    ):
        audit(NoisySum(leak="classes_"), CLAIM, pairs=LABEL, trials=400, ignore=["classes_", "clases_"])
    with pytest.raises(ValueError, match="Expected ignore with an estimator only"):
        audit(lambda X, y, rng: rng.normal(size=2), CLAIM, trials=400, ignore=["classes_"])
    quiet = ["the warnings given", "random_state"]
    result = audit(NoisySum(leak="warning"), CLAIM, pairs=LABEL, trials=400, confidence=SURE, seed=1, ignore=quiet)
    assert result.verdict == "consistent"


def test_functions_are_heard_as_well():
    """A function that warns of what it saw, and one that raises by the data."""

    def warns(X, y, rng):
        warnings.warn(f"{rng.random()}: {y[-1]}", stacklevel=2)
        return rng.normal(size=2)

    def raises(X, y, rng):
        if y[-1] < 0:
            raise ValueError("a label below zero")
        return rng.normal(size=2)

    assert audit(warns, CLAIM, pairs=LABEL, trials=2000, seed=1).verdict == "violated"
    result = audit(raises, CLAIM, pairs=LABEL, trials=2000, seed=1)
    assert (result.verdict, result.notes) == ("violated", (REFUSED,))
    with pytest.raises(ValueError, match="a label below zero"):
        audit(raises, CLAIM, pairs=Pair.of((np.ones((2, 1)), -np.ones(2)), (np.zeros((2, 1)), -np.ones(2))), trials=600)


@pytest.mark.parametrize("model", [NoisySum(random_state=0), NoisySum(leak="seed")], ids=["random_state", "inside"])
def test_noise_that_is_always_the_same_is_a_violation(model):
    result = audit(model, CLAIM, pairs=LABEL, trials=400, seed=1)
    assert result.verdict == "violated"
    assert result.notes == (SAME,)
    assert "epsilon is infinite" in str(result)


def test_noise_that_is_always_the_same_when_nothing_is_set_is_a_violation():
    """``default_rng(self.random_state or 0)``: a seed for each run would hide it."""
    result = audit(NoisySum(leak="unset"), CLAIM, pairs=LABEL, trials=400, seed=1)
    assert result.verdict == "violated"
    assert result.notes == (UNSET.format(names="coef_"),)
    clocked = audit(_Clocked(leak="unset"), CLAIM, pairs=LABEL, trials=400, seed=1)
    assert clocked.verdict == "violated", "something else that changes from run to run does not hide it"
    assert clocked.notes == (UNSET.format(names="coef_"),)
    sequential = audit(NoisySum(leak="unset"), CLAIM, pairs=LABEL, trials=4000, seed=1, sequential=True)
    assert sequential.verdict == "violated"
    assert sequential.notes == (UNSET.format(names="coef_"),)


class _Clocked(NoisySum):
    """A number beside the model that is new in every fit, whatever the seed."""

    def fit(self, X, y):
        super().fit(X, y)
        self.turn_ = secrets.randbits(30)
        return self


def test_few_outcomes_that_happen_to_repeat_are_not_fixed_noise():
    """Randomised response at (1, 0): plain fits are often the same by chance; the audit then goes on without seeds, and
    accuses with probability 1e-6 as always."""
    watched = [observe(Estimator(_Coin(), "coin"), (LABEL,), (seed,))[0] for seed in range(60)]
    assert {bool(one.repeated) for one in watched} == {True, False}, "missed with probability below 1e-6"
    for seed in range(4):
        result = audit(_Coin(), Budget(1.0, 0.0), pairs=LABEL, trials=1000, confidence=SURE, seed=seed)
        assert result.verdict == "consistent"
        assert not result.notes


class _Coin(NoisySum):
    """The last label, turned with probability 1/(1 + e)."""

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        self.answer_ = float(y[-1]) * (1 if rng.random() < np.e / (1 + np.e) else -1)
        return self


@pytest.mark.parametrize(
    "state", [np.random.default_rng(3), np.random.RandomState(3)], ids=["Generator", "RandomState"]
)
def test_a_generator_is_not_fixed_noise(state):
    """A user's own fits would go on drawing from it; copies of it must not all draw the same."""
    result = audit(NoisySum(random_state=state), CLAIM, pairs=LABEL, trials=400, confidence=SURE, seed=1)
    assert result.verdict == "consistent"


def test_anything_with_fit_will_do():
    model = Bare(1.0)
    assert audit(model, CLAIM, pairs=LABEL, trials=400, confidence=SURE, seed=1).verdict == "consistent"
    assert not hasattr(model, "weights"), "the one that was given is not trained"
    assert audit(Bare(0.01), CLAIM, pairs=LABEL, trials=400, seed=1).verdict == "violated"
    assert audit(Behind(), CLAIM, pairs=LABEL, trials=400, seed=1).verdict == "violated"
    assert audit(Ridge(), CLAIM, pairs=LABEL, trials=400, seed=1).verdict == "violated", "it has no noise"


def test_an_error_on_one_data_set_is_an_outcome_and_on_all_an_error():
    result = audit(Picky(), CLAIM, trials=600, seed=1)
    assert result.verdict == "violated"
    assert result.attack == "whether training raises an error"
    assert result.notes[-1] == REFUSED
    assert "It raised an error on one of the two data sets" in str(result)
    assert f"the pair: {result.about}" in str(result)
    assert result.about in {pair.about for pair in library("replace-one")}
    same = np.zeros((4, 1)), np.ones(4)
    with pytest.raises(ValueError, match="one label"):
        audit(Picky(), CLAIM, pairs=Pair.of(same, same), trials=400)

    class Silent:
        def fit(self, X, y):
            return None

    with pytest.raises(ValueError, match="no public attribute"):
        audit(Silent(), CLAIM, pairs=LABEL, trials=400)


def test_what_changes_with_time_alone_is_not_held_against_anyone():
    """A counter of all fits so far: by turns of four it would follow the sides, were they taken in a fixed order."""
    fits = iter(range(10**9))

    class Counted:
        def fit(self, X, y):
            now = next(fits)
            self.turn, self.block = now % 4, now // 100 % 2

    result = audit(Counted(), CLAIM, pairs=LABEL, trials=2000, confidence=SURE, seed=1)
    assert result.verdict == "consistent"
    with pytest.raises(ValueError, match="not its class"):
        audit(Counted, CLAIM)


def test_runs_of_different_lengths():
    """By chance alone: nothing. By the data: a violation."""
    chance = audit(
        lambda X, y, rng: rng.normal(size=rng.integers(1, 5)), CLAIM, pairs=LABEL, trials=600, confidence=SURE
    )
    assert chance.verdict == "consistent"
    data = audit(lambda X, y, rng: rng.normal(size=2 if y[-1] > 0 else 3), CLAIM, pairs=LABEL, trials=2000, seed=1)
    assert data.verdict == "violated"
    assert data.attack == "form of result"


def test_both_verdicts_by_default_and_what_each_assumes():
    """Half the noise: mu = 0.54 where 0.27 is claimed. With 7,500 runs a side the distance 0.21 is known to 0.008, and
    0.107 is allowed: eight deviations above what the Gaussian verdict needs."""
    result = audit(_gaussian(0.5), CLAIM, pairs=LABEL, trials=20_000, seed=2)
    assert result.verdict == "violated if gaussian"
    assert result.epsilon < 1 < result.if_gaussian < 2.2
    said = str(result)
    assert "assumption-free (holds whatever the procedure): at least" in said
    assert "if its noise is Gaussian (it is as private as some Gaussian mechanism): at least" in said
    assert said.count("VIOLATED") == 2  # in the first line, and after the verdict that shows it
    sound = audit(_gaussian(1.0), CLAIM, pairs=LABEL, trials=20_000, seed=2, confidence=SURE)
    assert sound.verdict == "consistent"
    assert 0 < sound.if_gaussian <= 1
    known = audit(_gaussian(0.5), CLAIM, pairs=LABEL, trials=20_000, seed=2, family="gaussian")
    assert known.verdict == "violated"
    assert known.if_gaussian is None
    pure = audit(_gaussian(1.0), Budget(1.0, 0.0), pairs=LABEL, trials=400, seed=2)
    assert pure.if_gaussian is None, "no Gaussian mechanism has a finite epsilon at delta = 0"


def test_a_sound_mechanism_outside_the_family_is_accused_by_the_family_alone():
    """Laplace noise for (1, 0): the verdict that assumes a Gaussian is wrong here, and says what it assumes."""
    laplace = Batched(lambda X, y, rng, m: y @ X[:, :1] + rng.laplace(scale=2.0, size=(m, 1)), "laplace")
    result = audit(laplace, CLAIM, pairs=LABEL, trials=40_000, seed=1)
    assert result.epsilon <= 1
    assert result.verdict == "violated if gaussian"


def _gaussian(factor):
    scale = factor * 2 / tacit.privacy.accounting.gaussian_mu(1.0, 1e-5)
    return Batched(lambda X, y, rng, m: y @ X[:, :1] + scale * rng.standard_normal((m, 1)), "gaussian")


def test_same_noise_reads_everything():
    sound, moved = same_noise(NoisySum(), LABEL)
    assert not sound
    assert moved == pytest.approx(2.0)
    assert same_noise(NoisySum(leak="presence"), LABEL)[0] == ["attribute only_ is set on one data set only"]
    assert same_noise(NoisySum(leak="dtype_"), LABEL)[0] == ["dtype_ changed its type, shape, dtype or text"]
    assert same_noise(NoisySum(leak="wide"), LABEL)[1] == np.inf
    assert same_noise(Bare(0.0), LABEL)[1] == pytest.approx(2.0), "no coef_: all numbers"


# --- reading --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("one", "two"),
    [
        (np.zeros(2), np.zeros(2, dtype=np.float32)), (np.zeros((1, 2)), np.zeros((2, 1))), ([1, 2], (1, 2)),
        ({"a": 1}, {"b": 1}), (["ab", "c"], ["a", "bc"]), (None, "None"), (1, True), (np.array(["a"]), np.array(["b"])),
        (Holder([1.0]), Holder([1.0, 2.0])), (b"a", bytearray(b"a")), (int, float), (np.float64(1), 1.0),
    ],
)  # fmt: skip
def test_forms_differ(one, two):
    assert read(one).form != read(two).form
    assert read(one).value != read(two).value


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ([1, 2.5], [1, 3.5]), (2**60, 2**60 + 1), (np.array([2**60]), np.array([2**60 + 1])), (1j, 2j),
        ({1.0, 2.0}, {1.0, 3.0}), (np.array([{"a": 1}], dtype=object), np.array([{"a": 2}], dtype=object)),
        (Holder([1.0, -1.0]), Holder([1.0, 1.0])),
    ],
)  # fmt: skip
def test_values_differ_where_forms_do_not(one, two):
    assert read(one).form == read(two).form
    assert read(one).value != read(two).value


def test_digests_do_not_depend_on_the_process_or_on_addresses():
    names = [f"name {i}" for i in range(50)]
    backwards = set()
    backwards.update(names[::-1])
    assert read(set(names)).value == read(backwards).value
    assert read(Holder([1.0])).value == read(Holder([1.0])).value
    loop = [1.0]
    loop.append(loop)
    assert read(loop).numbers.tolist() == [1.0]
    assert read({"a": [1, 2.5, np.ones(2)]}).numbers.tolist() == [1, 2.5, 1, 1]
    assert read({"text": [1.5, "a"]}).value == 1528120557533760555, (
        "once computed: hashes of text change, this must not"
    )
    assert read(np.random.default_rng(1)).value == read(np.random.default_rng(2)).value


def test_numbers_in_text():
    text = "run a3f9 (v1.2.3, or 1.2) x1: sum [-1.5  2.] in 0.25s, 5% of 1e-3, +.5, nan and -inf; n=16, 7-9."
    expected = [1.2, -1.5, 2.0, 0.25, 5, 1e-3, 0.5, np.nan, -np.inf, 16, 7, 9]
    assert numbers_in(text).tolist() == pytest.approx(expected, nan_ok=True)
    assert numbers_in("a3f9 x1 v1.2.3 1.2.3.4 0xff 12ab34 info").tolist() == []
    assert without_numbers("sum -1.5 of 2") == without_numbers("sum 7e9 of .1") != without_numbers("sums 7e9 of .1")
    assert words_of(["sum=[1.5, a-b]", "c"]) == ["sum", "1.5", "a-b", "c"]
    assert len(words_of(["a " * 100])) == 64
    one, two = read("run 12: sum 1.5"), read("run 9: sum 2.5")
    assert one.form == two.form
    assert one.value != two.value
    assert (one.numbers.tolist(), two.numbers.tolist()) == ([12, 1.5], [9, 2.5])
    assert read("12 apples").value != read("12.0 apples").value, "the text itself is compared as well"
    assert read(np.array(["1 a"])).numbers.tolist() == read(b"1 a").numbers.tolist() == [1]


def test_public_attributes():
    assert set(public(Behind().fit(np.ones((1, 1)), np.ones(1)))) == {"sum_"}
    assert public(Behind()) == {"sum_": "AttributeError: 'Behind' object has no attribute '_sum'"}


def test_a_row_has_places_for_all_that_was_seen():
    layout = Layout.of([{"b_": read([1.0, 2.0])}, {"coef_": read(3.0)}])
    runs = layout.table([{"b_": read([5.0])}, {"coef_": read(np.nan), "new_": read(1)}])
    assert runs.numbers.tolist() == [[NO_NUMBER, 5.0, NO_NUMBER], [NO_NUMBER, NO_NUMBER, NO_NUMBER]]
    assert runs.names[:4] == (
        "whether training raises an error", "which attributes there are", "form of coef_", "value of coef_"
    )  # fmt: skip
    assert runs.labels[0, 1] != runs.labels[1, 1]
    assert Runs.of(np.full((2, 1), np.nan)).empty
    assert not runs.part(0, 1).and_also(runs.part(1, 2)).constant


def test_copies():
    model = NoisySum(random_state=None)
    model.coef_ = 1
    assert not hasattr(unfitted(model), "coef_")
    one, two = (fresh(unfitted(model), np.random.SeedSequence(s)).random_state for s in (1, 2))
    assert one != two
    assert fresh(NoisySum(random_state=7), 3).random_state == 7
