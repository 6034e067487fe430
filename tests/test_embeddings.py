"""Features of one's own: rows that are their record's alone, and runs of columns that whitening may share."""

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from tacit import LogisticRegression
from tacit.features import Scattering

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "embeddings.py"


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("torch", reason="the benchmark's network needs the extra 'torch': pip install '.[torch]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "markdown", SimpleNamespace(table=None))  # its neighbour, which writes tables
        yield runpy.run_path(str(SCRIPT))


def test_an_embedding_is_its_records_alone_to_the_last_bit(script):
    """Whatever other images there are, in whatever order; a batch through the same network does not promise that."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, size=(40, 28, 28), dtype=np.uint8)
    images[7] = 0
    body = script["pretrained"](images, random.integers(0, 5, size=40), passes=1)
    rows = script["embedded"](body, images)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-6)
    assert len(np.unique(rows, axis=0)) == 40
    assert script["embedded"](body, images[::-1])[::-1].tobytes() == rows.tobytes()
    for place in (0, 7, 39):
        assert script["embedded"](body, images[place : place + 1]).tobytes() == rows[place].tobytes()


def test_public_training_is_repeatable(script):
    """The same public images give the same network: figures can be made again."""
    images = np.random.default_rng(1).integers(0, 256, size=(128, 28, 28), dtype=np.uint8)
    labels = np.arange(128) % 5
    first, again = (script["embedded"](script["pretrained"](images, labels, passes=1), images[:3]) for _ in range(2))
    assert first.tobytes() == again.tobytes()


@pytest.mark.parametrize(
    ("settings", "shape", "places"),
    [
        ({}, (28, 28), 49),
        ({}, (32, 32, 3), 64),
        ({"J": 1, "L": 4, "groups": 5}, (8, 12), 24),
        ({}, (9, 13), 12),  # a place for four pixels, rounded up
    ],
)
def test_places_are_known_before_and_after_a_fit(settings, shape, places):
    declared, fitted = Scattering(shape=shape, **settings), Scattering(**settings)
    assert declared.places == places
    with pytest.raises(NotFittedError, match="declare shape="):
        _ = fitted.places
    assert not hasattr(fitted, "places")
    assert fitted.fit(np.zeros((1, *shape))).places == places
    assert fitted.transform(np.zeros((1, *shape))).shape[1] % places == 0


def test_a_run_of_columns_is_a_channel():
    """An even colour has only its average: the first run of that colour's columns, and zeros in all others."""
    model, image = Scattering(shape=(8, 12, 3), scale=1.0, groups=None), np.zeros((1, 8, 12, 3))
    image[..., :] = (1.0, 2.0, 3.0)
    runs = model.fit_transform(image).reshape(3, -1, model.places)
    np.testing.assert_allclose(runs[:, 0], np.repeat([[1.0], [2.0], [3.0]], 6, axis=1), rtol=1e-6)
    np.testing.assert_allclose(runs[:, 1:], 0.0, atol=1e-6)


def test_a_pipeline_whitens_channels():
    """Columns in runs: the guarantee names the second moment, which is part of what epsilon pays for."""
    X, y = load_digits(return_X_y=True)
    features = Scattering(shape=(8, 8), scale=16.0)
    settings = {"delta": 1e-5, "adjacency": "add-remove", "classes": range(10), "random_state": 0}
    model = make_pipeline(features, LogisticRegression(3.0, precondition=features.places, **settings))
    score = model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:])
    guarantee = model[-1].guarantee_
    assert guarantee.method == "whitened-gradient"
    assert any("second moment" in words for words in guarantee.assumptions)
    assert guarantee.epsilon <= 3.0
    assert score > 0.7
    with pytest.raises(ValueError, match="precondition=5, a run of columns"):
        make_pipeline(features, LogisticRegression(3.0, precondition=5, **settings)).fit(X, y)
