"""Scattering: filters and coefficients by a second road, each record by itself to the last bit, and the pipeline.

The second road samples the wavelets in space, wraps them around the grid and convolves by definition, in loops.
"""

import itertools
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from tacit import LogisticRegression, features
from tacit.features import Scattering, kept, scattering
from tacit.features.coefficients import Scatterer
from tacit.features.filters import gaussian, morlets

COPIES = 6
"""Turns around the grid that the second road adds up, to either side."""


def wrapped(shape, function):
    """A function of the plane, sampled on the whole numbers and wrapped around a grid."""
    grid = np.zeros(shape, dtype=complex)
    for down, across in itertools.product(range(-COPIES, COPIES + 1), repeat=2):
        y, x = np.mgrid[: shape[0], : shape[1]]
        grid += function(y + down * shape[0], x + across * shape[1])
    return grid


def spatial_gaussian(shape, width):
    return wrapped(shape, lambda y, x: np.exp(-(x**2 + y**2) / (2 * width**2)) / (2 * np.pi * width**2)).real


def spatial_morlet(shape, scale, turn, directions):
    width, centre, slant = 0.8 * 2**scale, 3 * np.pi / 4 / 2**scale, 4 / directions
    angle = np.pi * turn / directions

    def envelope(y, x):
        along, aside = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        return np.exp(-(along**2 + slant**2 * aside**2) / (2 * width**2)) * slant / (2 * np.pi * width**2)

    def wave(y, x):
        return envelope(y, x) * np.exp(1j * centre * (x * np.cos(angle) + y * np.sin(angle)))

    still, moving = wrapped(shape, envelope), wrapped(shape, wave)
    return moving - moving.sum() / still.sum() * still


def convolved(plane, kernel):
    """sum_{s,t} kernel[s, t] plane[y - s, x - t] on the wrapped grid."""
    total = np.zeros(plane.shape, dtype=complex)
    for (s, t), weight in np.ndenumerate(kernel):
        total += weight * np.roll(plane, (s, t), (0, 1))
    return total


def by_definition(plane, J, L):
    """Coefficients of one colour, from the padded plane, in the order of the channels."""
    rows, columns = [], []
    for length, indices in zip(plane.shape, (rows, columns), strict=True):
        places = -(-length // 2**J)
        for index in range(-(2**J), 2**J * (places + 1)):
            mirrored = index % (2 * length - 2)
            indices.append(min(mirrored, 2 * length - 2 - mirrored))
    plane = plane[np.ix_(rows, columns)]

    def average(u, start):
        smooth = convolved(u, spatial_gaussian(u.shape, 0.8 * 2 ** (J - 1 - start))).real
        step = 2 ** (J - start)
        return smooth[step:-step:step, step:-step:step]

    def modulus(u, start, scale, turn):
        step = 2 ** (scale - start)
        return np.abs(convolved(u, spatial_morlet(u.shape, scale - start, turn, L)))[::step, ::step]

    first = {(j, turn): modulus(plane, 0, j, turn) for j in range(J) for turn in range(L)}
    second = [
        average(modulus(first[j1, turn1], j1, j2, turn2), j2)
        for j1 in range(J)
        for j2 in range(j1 + 1, J)
        for turn1 in range(L)
        for turn2 in range(L)
    ]
    return np.array([average(plane, 0), *(average(u, j) for (j, _), u in first.items()), *second])


def pictures(count, shape=(28, 28), seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8)


@pytest.mark.parametrize(
    ("shape", "scale", "L"), [((16, 16), 0, 8), ((16, 12), 1, 8), ((9, 10), 1, 2), ((20, 20), 2, 5)]
)
def test_filters_are_those_sampled_in_space(shape, scale, L):
    ours = morlets(shape, scale, L)
    theirs = np.stack([np.fft.fft2(spatial_morlet(shape, scale, turn, L)) for turn in range(L)])
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert (ours[:, 0, 0] == 0).all()
    low = np.outer(gaussian(shape[0], 0.8 * 2**scale), gaussian(shape[1], 0.8 * 2**scale))
    np.testing.assert_allclose(low, np.fft.fft2(spatial_gaussian(shape, 0.8 * 2**scale)), atol=1e-12)


@pytest.mark.parametrize(("shape", "J", "L"), [((8, 8, 1), 2, 3), ((9, 6, 2), 1, 4), ((8, 9, 1), 3, 2)])
def test_coefficients_are_those_of_the_definition(shape, J, L):
    image = np.random.default_rng(1).random(shape)
    scatterer = Scatterer(shape, J, L)
    found = scatterer(image)
    assert found.shape == (shape[2], scatterer.channels, *scatterer.size)
    expected = [by_definition(image[..., colour], J, L) for colour in range(shape[2])]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("J", "L", "channels"), [(1, 8, 9), (2, 8, 81), (3, 8, 217), (2, 4, 25)])
def test_channels_are_counted(J, L, channels):
    assert Scatterer((16, 16, 1), J, L).channels == channels
    rows = Scattering(J, L, groups=None).fit_transform(pictures(2, (16, 24, 3)))
    assert rows.shape == (2, 3 * channels * (16 >> J) * (24 >> J))
    assert rows.dtype == np.float32


@pytest.mark.parametrize(("J", "size", "most"), [(2, 36, 1 + 1e-9), (2, 40, 1 + 1e-9), (3, 40, 1.02)])
def test_the_wavelets_cover_the_plane_and_enlarge_nothing(J, size, most):
    """Littlewood-Paley: phi^2 + (sum psi(w)^2 + psi(-w)^2) / 2 lies within (0.5, 1] where wavelets are centred."""
    low = gaussian(size, 0.8 * 2 ** (J - 1))
    total = np.outer(low, low) ** 2
    for scale in range(J):
        squares = (morlets((size, size), scale, 8) ** 2).sum(axis=0)
        total += (squares + np.roll(squares[::-1, ::-1], 1, (0, 1))) / 2
    wave = 2 * np.pi * np.fft.fftfreq(size)
    assert total.max() <= most
    assert total[np.hypot(wave[:, None], wave) <= 3 * np.pi / 4].min() > 0.5


def test_differences_do_not_grow():
    """2^J ||S(a) - S(b)|| <= ||a - b|| over the padded plane: S keeps every 2^J-th place of each direction."""
    scatterer, random = Scatterer((28, 28, 1), 2, 8), np.random.default_rng(2)
    y, x = np.mgrid[:28, :28]
    images = [
        np.zeros((28, 28)), np.ones((28, 28)), np.cos(0.3 * x), np.cos(1.2 * x + 0.8 * y), np.cos(2.3 * y),
        random.random((28, 28)), random.random((28, 28)), 1.0 * (x > 13), np.eye(28),
    ]  # fmt: skip
    for a, b in itertools.combinations(images, 2):
        padded = np.pad(a - b, 4, mode="reflect")
        assert 4 * np.linalg.norm(scatterer(a[..., None]) - scatterer(b[..., None])) <= np.linalg.norm(padded) + 1e-12


def test_a_shift_by_one_pixel_moves_little():
    images = np.pad(load_digits().data[:50].reshape(-1, 8, 8).repeat(2, 1).repeat(2, 2), ((0, 0), (6, 6), (6, 6)))
    shifted = np.roll(images, 1, axis=2)
    rows, moved = (Scattering(scale=16.0, groups=None).fit_transform(part) for part in (images, shifted))
    pixels = np.linalg.norm((images - shifted).reshape(50, -1), axis=1) / np.linalg.norm(images.reshape(50, -1), axis=1)
    change = np.linalg.norm(rows - moved, axis=1) / np.linalg.norm(rows, axis=1)
    assert (change < 0.6 * pixels).all()


@pytest.mark.parametrize("shape", [(28, 28), (11, 9, 3)])
def test_a_record_is_computed_by_itself_to_the_last_bit(shape, monkeypatch):
    """Any company, any place in the table, any block and number of threads, any layout in memory: the same bytes."""
    image = pictures(1, shape, seed=3)[0]
    alone = Scattering().fit_transform(image[None]).tobytes()
    strange = [
        np.zeros(shape),
        np.full(shape, 1e300),
        np.full(shape, 5e-324),
        1e9 * np.random.default_rng(4).random(shape),
    ]
    for block, threads, count in itertools.product((1, 3, 64), (1, 3), (2, 5, 9)):
        monkeypatch.setattr(scattering, "_BLOCK", block)
        for place in {0, 1, count // 2, count - 1}:
            images = pictures(count, shape, seed=count).astype(float)
            images[(place + 1) % count] = strange[(block + place) % 4]
            images[place] = image
            rows = Scattering(threads=threads).fit_transform(images)
            assert rows[place].tobytes() == alone
            without = np.delete(images, (place + 1) % count, axis=0)
            assert (
                Scattering().fit_transform(without).tobytes() == np.delete(rows, (place + 1) % count, axis=0).tobytes()
            )


def test_how_an_image_lies_in_memory_changes_no_bit():
    images = pictures(7)
    expected = Scattering().fit_transform(images).tobytes()
    shifted = np.frombuffer(b"\0" + images.tobytes(), dtype=np.uint8, offset=1).reshape(images.shape)
    wide = np.zeros((14, 56, 28))
    wide[::2, ::2] = images
    others = [
        np.asfortranarray(images), shifted, wide[::2, ::2], images[::-1].copy()[::-1], images.astype(np.float32),
        images.astype(">i4"), images.tolist(), images.astype(object),
    ]  # fmt: skip
    assert all(Scattering().fit_transform(other).tobytes() == expected for other in others)
    assert Scattering(shape=(28, 28)).fit_transform(images.reshape(7, -1)).tobytes() == expected


def test_groups_are_centred_and_scaled_and_rows_have_norm_one():
    rows = Scattering().fit_transform(pictures(5, (32, 32, 3))).astype(float)
    groups = rows.reshape(5, 27, -1)
    np.testing.assert_allclose(groups.mean(axis=2), 0, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    raw = Scattering(groups=None).fit_transform(pictures(5, (32, 32, 3))).astype(float).reshape(5, 27, -1)
    centred = raw - raw.mean(axis=2, keepdims=True)
    scaled = (centred / np.sqrt((centred**2).mean(axis=2, keepdims=True) + 1e-6)).reshape(5, -1)
    np.testing.assert_allclose(rows, scaled / np.linalg.norm(scaled, axis=1, keepdims=True), atol=1e-7)


def test_flat_and_huge_images_give_finite_rows():
    flat = [np.full((12, 12), value) for value in (0.0, 1.0, 255.0, 1e-300, 1e308, -1e308)]
    rows = Scattering().fit_transform(np.array(flat))
    assert np.isfinite(rows).all()
    assert not rows[0].any(), "black is zeros"
    assert np.linalg.norm(rows, axis=1).max() < 1 + 1e-6
    assert np.abs(rows[2].reshape(9, -1)[1:]).max() < 1e-6, "rounding errors of a flat image are not enlarged"


@pytest.mark.parametrize(
    ("settings", "X", "sentence"),
    [
        ({}, np.zeros((3, 784)), "declare shape"),
        ({"shape": (28, 28)}, np.zeros((3, 783)), "784 columns"),
        ({"shape": (28,)}, np.zeros((3, 28)), "height, width"),
        ({"shape": "28"}, np.zeros((3, 28)), "height, width"),
        ({"shape": (28, -28)}, np.zeros((3, 784)), "whole number >= 1"),
        ({}, np.full((3, 8, 8), np.nan), "finite pixels"),
        ({}, np.full((3, 8, 8), np.inf), "finite pixels"),
        ({}, np.zeros((3, 8, 3)), "at least 4 x 4"),
        ({}, np.zeros((3, 8, 8, 0)), "at least 4 x 4"),
        ({}, [[["a", "b"]]], "numbers"),
        ({}, np.zeros((3, 8, 8), dtype=complex), "[Cc]omplex"),
        ({}, np.ma.masked_array(np.zeros((1, 8, 8)), True), "masked"),
        ({"J": -1}, np.zeros((3, 8, 8)), "J=-1"),
        ({"J": 0}, np.zeros((3, 8, 8)), "J=0"),
        ({"J": 10**9}, np.zeros((3, 8, 8)), "lower J"),
        ({"J": "two"}, np.zeros((3, 8, 8)), "J to be a whole number"),
        ({"L": 1}, np.zeros((3, 8, 8)), "from 2 to"),
        ({"groups": 7}, np.zeros((3, 8, 8)), "groups=7 to divide 81"),
        ({"groups": 0}, np.zeros((3, 8, 8)), "groups=0"),
        ({"scale": 0}, np.zeros((3, 8, 8)), "scale=0"),
        ({"scale": "255"}, np.zeros((3, 8, 8)), "scale to be a number"),
        ({"threads": 0}, np.zeros((3, 8, 8)), "threads=0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(settings, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        Scattering(**settings).fit_transform(X)


def test_another_shape_than_in_fit_is_refused():
    with pytest.raises(ValueError, match="as in fit"):
        Scattering().fit(pictures(2)).transform(pictures(2, (20, 20)))


def test_it_is_a_transformer():
    images = pictures(3, (8, 12))
    model = Scattering(J=1, L=4, groups=5, scale=100.0)
    rows = model.fit_transform(images)
    assert clone(model).get_params() == model.get_params()
    for other in (pickle.loads(pickle.dumps(model)), clone(model)):  # also without a fit, which learns nothing
        assert other.transform(images).tobytes() == rows.tobytes()
    names = model.get_feature_names_out()
    assert (len(names), names[0]) == (rows.shape[1], "scattering0")
    frame = clone(model).set_output(transform="pandas").fit_transform(images)
    assert list(frame.columns) == list(names)
    assert frame.to_numpy().tobytes() == rows.tobytes()
    assert model.fit_transform(images[:0]).shape == (0, rows.shape[1])
    assert features.Scattering is Scattering


def test_results_are_kept_for_the_owner_only(tmp_path, monkeypatch):
    images, folder = pictures(4), tmp_path / "new"
    rows = Scattering(cache=folder).fit_transform(images)
    (path,) = folder.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    with monkeypatch.context() as patch:
        patch.setattr(Scattering, "_computed", lambda *_: pytest.fail("computed again"))
        assert Scattering(cache=folder, threads=1).fit_transform(images).tobytes() == rows.tobytes()
    content = path.read_bytes()
    for damaged in (content[:-40], content[:1000] + b"x" + content[1001:], b"", content + b"x"):
        path.write_bytes(damaged)
        assert Scattering(cache=folder).fit_transform(images).tobytes() == rows.tobytes()
        assert path.read_bytes() == content
    others = [{"J": 1}, {"L": 4, "groups": 5}, {"scale": 1.0}, {"groups": 27}, {"groups": None}]
    for settings in others:
        Scattering(cache=folder, **settings).fit_transform(images)
    Scattering(cache=folder).fit_transform(images[::-1])
    assert len(list(folder.iterdir())) == 2 + len(others)
    assert kept.place(folder, images.reshape(4, 14, 56), {}) != kept.place(folder, images, {})
    assert kept.place(folder, images.view(np.int8), {}) != kept.place(folder, images, {})
    monkeypatch.setattr(kept, "__version__", "0")
    Scattering(cache=folder).fit_transform(images)
    assert len(list(folder.iterdir())) == 3 + len(others)


def test_a_pipeline_with_a_private_model():
    """Digits of 8 x 8: the features do not lose to pixels, by the same private model with the same noise."""
    X, y = load_digits(return_X_y=True)
    settings = {"epsilon": 3.0, "delta": 1e-5, "adjacency": "add-remove", "classes": range(10), "random_state": 0}
    model = make_pipeline(Scattering(shape=(8, 8), scale=16.0), LogisticRegression(**settings))
    score = model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:])
    plain = LogisticRegression(clip=math.sqrt(64) * 16, **settings).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:])
    assert score > max(0.7, plain)
    assert model[-1].guarantee_.epsilon <= 3.0
