"""Some thousands of mutations of honest files; ``python tests/fuzz/run.py`` makes as many as you like."""

import random
import warnings

import pytest
from fuzz.mutations import exact_delta, mutated, outcome, packed, resealed
from fuzz.subjects import everything

from tacit.privacy.events import Gaussian, Sensitivity


@pytest.fixture(scope="module")
def subjects(tmp_path_factory):
    return everything(tmp_path_factory.mktemp("honest"))


def test_honest_files_are_read_and_verified(subjects, tmp_path):
    for subject in subjects:
        wanted = "refused" if subject.name.endswith(("no noise", "epsilon inf")) else "verified"
        for sealed, raw in ((False, subject.raw), (True, packed(subject, resealed(subject.content)))):
            assert outcome(raw, tmp_path / "file", subject, sealed) == wanted, subject.name


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_are_refused_or_true(subjects, tmp_path, seed):
    """No exception but a sentence, no file read with another meaning, no price below the true one."""
    rng = random.Random(seed)
    found = {"refused": 0, "verified": 0}
    for _ in range(900):
        subject = rng.choice(subjects)
        if subject.slow and rng.random() < 0.8:
            continue
        raw, sealed = mutated(subject, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[outcome(raw, tmp_path / "file", subject, sealed)] += 1
    assert found["refused"] > 500
    assert found["verified"] > 5  # some mutations are harmless: the test must see both


def test_the_judge_can_fail(subjects, tmp_path):
    """A file with another meaning under an old checksum would be noticed, and so would a price that is too low."""
    subject = next(one for one in subjects if one.name.startswith("gradient"))
    other = packed(subject, resealed({**subject.content, "records": 299}))
    with pytest.raises(AssertionError, match="another meaning"):
        outcome(other, tmp_path / "file", subject, sealed=False)
    assert exact_delta((Gaussian(Sensitivity(1.0, 2.0), 2.0),), 1.0, "replace-one") == pytest.approx(
        0.12693673750664397
    )
