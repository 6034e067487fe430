"""Wrong arguments of public classes and functions are answered in our sentence; ``make fuzz`` tries many more."""

import inspect
import os

import numpy as np
import pytest
from fuzz.arguments import cases, leaks, some
from fuzz.judging import fits, judge
from fuzz.public_names import NOT_CALLED, public_names
from fuzz.right_calls import LABELS, X, everything

import tacit
from tacit.arguments import check_fields, checked

TRANSFORMERS = ("PrivateScaler", "Scattering", "SchemaEncoder")


@pytest.fixture(scope="module")
def subjects(tmp_path_factory):
    before, folder = os.getcwd(), tmp_path_factory.mktemp("called")
    os.chdir(folder)  # names of files that are tried are relative
    yield everything(folder)
    os.chdir(before)


def test_every_public_name_is_fuzzed_or_has_a_reason(subjects):
    """A new public class cannot escape: it is a subject, or it is listed with a reason."""
    called = {subject.name.split(".")[-1].split(" ")[0] for subject in subjects}
    known = called | set(NOT_CALLED)
    assert [name for name in public_names() if name.rpartition(".")[2] not in known] == []
    assert [name for name in NOT_CALLED if not any(full.endswith(f".{name}") for full in public_names())] == []


def test_right_arguments_work(subjects):
    for subject in subjects:
        if not subject.slow:
            assert judge(subject.call, "").kind == "worked", subject.name


def test_wrong_arguments_are_answered_in_our_sentence(subjects):
    quick = [case for subject in subjects if not subject.slow for case in some(cases(subject), 0.25, 0.02)]
    slow = [case for subject in subjects if subject.slow for case in some(cases(subject), 0.1, 0.0)]
    found = leaks([*quick, *slow])
    assert not found, "\n".join(f"{fault} with {', '.join(labels)}" for fault, labels in found.items())
    assert len(quick) > 3000


@pytest.mark.parametrize("value", ["1", True, np.nan, np.array([1.0]), None, "abc"], ids=str)
@pytest.mark.parametrize("name", ["epsilon", "clip", "weight_bound"])
def test_what_decides_on_privacy_takes_numbers_only(name, value):
    with pytest.raises(ValueError, match=f"Expected {name} to be a number"):
        tacit.LogisticRegression(**{name: value}, classes=[0, 1]).fit(X, LABELS)


@pytest.mark.parametrize("value", [2.5, "2", True, 2.0], ids=str)
def test_rows_per_person_is_a_whole_number(value):
    model = tacit.LogisticRegression(1.0, rows_per_person=value, classes=[0, 1])
    with pytest.raises(ValueError, match="Expected rows_per_person to be a whole number"):
        model.fit(X, LABELS, groups=np.arange(len(X)))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"hidden": (8, 8)}, "Expected hidden to be a whole number .int. or None, not a value of type tuple"),
        ({"device": "cuda:99"}, "PyTorch cannot train on device='cuda:99'.* Use device='cpu'"),
        ({"momentum": 1.5}, "momentum=1.5"),
        ({"activation": "swish"}, "'tanh', 'relu' or 'elu'"),
    ],
)
def test_settings_of_networks(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        tacit.MLPClassifier(1.0, classes=[0, 1], bounds=(-1, 1), **settings).fit(X, LABELS)


def test_predictions_before_a_fit_and_of_other_columns(subjects):
    for subject in subjects:
        if not inspect.isclass(subject.make) or not hasattr(subject.make, "predict"):
            continue
        fresh = subject.make(**subject.right)
        assert judge(lambda fresh=fresh: fresh.predict(X), "fit").fault == "", subject.name
    model = tacit.LogisticRegression(1.0, classes=[0, 1], random_state=1).fit(X, LABELS)
    with pytest.raises(ValueError, match="2 features, but LogisticRegression is expecting 3"):
        model.predict(X[:, :2])


# --- the judge can fail ----------------------------------------------------------------------------------------------
@checked
def declared(number: float, word: str | None = None, many: int = 1) -> float:
    return number


def test_signatures_are_read_and_kept():
    assert declared(1, None) == 1
    assert declared(np.float32(2.0), "a", many=np.int64(3)) == 2
    for wrong in ("1", True, None, np.nan, [1.0]):
        with pytest.raises(ValueError, match="Expected number to be a number, not"):
            declared(wrong)
    with pytest.raises(ValueError, match="Expected word to be text or None, not 1"):
        declared(1.0, 1)
    with pytest.raises(ValueError, match="Expected many to be a whole number"):
        declared(1.0, many=2.5)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        declared()
    with pytest.raises(ValueError, match="Expected clip to be a number, not 'x'"):
        check_fields(tacit.LogisticRegression(clip="x"))


def test_the_judge_can_fail():
    assert judge(lambda: float("x"), "value").fault.startswith("ValueError from")
    assert judge(lambda: np.zeros(3).reshape(2), "value").fault
    assert judge(lambda: 1 / 0, "value").fault.startswith("ZeroDivisionError")
    assert judge(lambda: tacit.Budget("1", 0.1), "delta").fault == "does not name delta"
    assert judge(lambda: tacit.Budget("1", 0.1), "epsilon").fault == ""
    assert judge(lambda: None, "value", "1", "float").fault == "accepted, though declared as float"
    assert fits("float | Literal['rest']", "rest")
    assert fits("float | Literal['rest']", "most") is False
    assert fits("Any", object()) is None
