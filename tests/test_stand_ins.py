"""Made-up records: the documented shape and nothing of the file, only where asked for, and marked."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import datasets
from tacit.datasets import stand_ins
from tacit.datasets.recipes import RECIPES
from tacit.schema import Number

SMALL = ("adult", "bank_marketing", "breast_cancer", "credit_card_fraud")


@pytest.fixture(autouse=True)
def nothing_here(tmp_path, monkeypatch):
    """No data folder, no cache, no network: what a stranger has."""
    monkeypatch.delenv("TACIT_DATA", raising=False)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    monkeypatch.setenv("TACIT_OFFLINE", "1")


def made(name: str, **options: object) -> datasets.Dataset:
    with datasets.standing_in([name]):
        return datasets.load(name, **options)


def test_every_set_that_needs_a_file_can_be_made_up():
    assert {name for name, recipe in RECIPES.items() if recipe.shipped is None} == stand_ins.NAMES
    parts = {name: set(RECIPES[name].files) for name in stand_ins.NAMES}
    assert parts == {name: set(counts) for name, counts in stand_ins.TABLES.items()} | {
        name: set(counts) for name, (_, counts) in stand_ins.PICTURES.items()
    }


def test_records_are_made_up_only_where_asked_for():
    with datasets.standing_in(["breast_cancer"]):
        assert len(datasets.load("breast_cancer")) == 699
        with pytest.raises(FileNotFoundError):
            datasets.load("adult")
    with pytest.raises(FileNotFoundError):
        datasets.load("breast_cancer")
    with pytest.raises(ValueError, match=r"no stand-ins for \['iris'\]"), datasets.standing_in(["iris"]):
        pass


def test_a_cache_keeps_stand_ins_apart():
    read = []

    @stand_ins.cached
    def names(first, second="x"):
        read.append(first)
        return stand_ins.asked("adult")

    with datasets.standing_in(["adult"]):
        assert names("a")
        assert names("a")
    assert not names("a")
    assert not names("a")
    assert read == ["a", "a"]
    names.cache_clear()
    names("a", second="y")
    assert read == ["a"] * 3


def test_a_stand_in_says_what_it_is():
    dataset = made("breast_cancer")
    assert dataset.licence == "That of Tacit."
    assert dataset.citation.startswith("None: not the records of ")
    assert dataset.name == "breast_cancer (synthetic stand-in)"
    assert dataset.source.startswith("Made up")


@pytest.mark.parametrize("name", SMALL)
def test_tables_have_the_documented_shape(name):
    dataset, recipe = made(name), RECIPES[name]
    counts = stand_ins.TABLES[name].values()
    X, y = dataset.arrays()
    assert len(X) == sum(part.records for part in counts)
    assert np.sum(y == recipe.schema().target.classes[-1]) == sum(part.positives for part in counts)
    assert len(made(name, complete=True)) == sum(part.records - part.incomplete for part in counts)
    for column in dataset.schema.columns:
        cells = dataset.table[column.name]
        if isinstance(column, Number):
            assert column.lower <= np.nanmin(cells) < np.nanmax(cells) <= column.upper
        else:
            assert set(cells) <= {*column.values, *dataset.schema.missing}


def test_the_census_stand_in_has_a_numeric_target(monkeypatch):
    monkeypatch.setitem(stand_ins.TABLES, "acs_pums_2024", {"all": stand_ins.Counts(2_000)})
    dataset = made("acs_pums_2024")
    X, y = dataset.arrays(clip=dataset.schema.radius)
    design = np.column_stack([X, np.ones(len(X))])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert 0.3 < 1 - residual.var() / y.var() < 0.9
    assert 0 <= y.min() < y.max() <= 200_000


@pytest.mark.parametrize("name", ["breast_cancer", "credit_card_fraud"])
def test_a_linear_rule_learns_a_stand_in(name):
    X, y = made(name, rows=690).arrays()
    aim = np.where(y == y.max(), 1.0, -1.0)
    design = np.column_stack([X, np.ones(len(X))])
    weights = np.linalg.lstsq(design[:460], aim[:460], rcond=None)[0]
    assert 0.8 < np.mean((design[460:] @ weights > 0) == (aim[460:] > 0)) < 0.99


def test_stand_ins_are_the_same_every_time():
    first, again = made("adult", rows=500), made("adult", rows=500)
    for column in first.table:
        np.testing.assert_array_equal(first.table[column], again.table[column])
    train, test = made("adult", split="train"), made("adult", split="test")
    assert (len(train), len(test)) == (32_561, 16_281)
    assert not np.array_equal(train.table["age"][:100], test.table["age"][:100])


@pytest.mark.parametrize(("name", "shape"), [("mnist", (10_000, 28, 28)), ("cifar10", (10_000, 3, 32, 32))])
def test_images(name, shape):
    with datasets.standing_in([name]):
        pixels, labels = datasets.images(name, "test")
    assert (pixels.shape, pixels.dtype, labels.dtype) == (shape, np.uint8, np.int64)
    assert np.bincount(labels).tolist() == [1_000] * 10
    rows = pixels[:1_500].reshape(1_500, -1).astype(np.float32)
    means = np.stack([rows[:1_000][labels[:1_000] == label].mean(axis=0) for label in range(10)])
    nearest = np.argmax(rows[1_000:] @ means.T - (means**2).sum(axis=1) / 2, axis=1)
    assert 0.6 < np.mean(nearest == labels[1_000:1_500]) < 0.99  # learnable, and not without a mistake


def test_images_as_a_table():
    dataset = made("mnist", split="test", rows=20)
    assert (len(dataset), len(dataset.table)) == (20, 785)
