"""Loaders: counts as documented, published bounds, checksums, and a sentence where a file is absent."""

from __future__ import annotations

import gzip
import importlib.util

import numpy as np
import pytest

from tacit import datasets
from tacit.bounds import Number, Schema
from tacit.rows import row_norms

# Rows, encoded columns and balance as the data sets' documentation states them.
DOCUMENTED = {
    "adult": (48_842, 113, {"<=50K": 37_155, ">50K": 11_687}),
    "bank_marketing": (41_188, 69, {"no": 36_548, "yes": 4_640}),
    "kddcup99": (494_021, 125, {"normal": 97_278, "attack": 396_743}),
    "breast_cancer": (699, 9, {2: 458, 4: 241}),
    "credit_card_fraud": (984, 30, {0: 492, 1: 492}),
    "mnist": (70_000, 784, {0: 6903, 1: 7877, 2: 6990, 3: 7141, 4: 6824, 5: 6313, 6: 6876, 7: 7293, 8: 6825, 9: 6958}),
}


def loaded(name: str, **options: object) -> datasets.Dataset:
    try:
        return datasets.load(name, **options)
    except FileNotFoundError as error:
        pytest.skip(f"data set {name} is not stored here: {error}")


@pytest.mark.parametrize("name", ["adult", "bank_marketing", "breast_cancer", "credit_card_fraud"])
def test_small_sets_are_as_documented(name):
    dataset = loaded(name)
    rows, width, balance = DOCUMENTED[name]
    X, y = dataset.arrays()
    assert X.shape == (rows, width)
    assert row_norms(X).max() <= 1
    assert dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True)) == balance
    assert all((dataset.source, dataset.licence, dataset.citation))


def test_large_sets_are_as_documented():
    for name in ("kddcup99", "mnist"):
        dataset = loaded(name)
        rows, width, balance = DOCUMENTED[name]
        y = dataset.schema.encode_target(dataset.table)
        assert (len(dataset), dataset.schema.width) == (rows, width)
        assert dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True)) == balance


def test_the_official_split_of_adult():
    train, test, both = (loaded("adult", split=split) for split in ("train", "test", None))
    assert (len(train), len(test)) == (32_561, 16_281)
    assert set(train.schema.encode_target(test.table)) == {"<=50K", ">50K"}
    np.testing.assert_array_equal(both.table["age"][: len(train)], train.table["age"])
    assert len(loaded("adult", complete=True)) == 45_222
    assert len(loaded("breast_cancer", complete=True)) == 683


def test_categories_of_adult_are_all_declared():
    dataset = loaded("adult")
    used = dict(zip(dataset.schema.features, np.count_nonzero(dataset.arrays()[0], axis=0).tolist(), strict=True))
    others = {feature: count for feature, count in used.items() if feature.endswith("<other>") and count}
    # The cells of the two files that read "?", counted apart with awk.
    assert others == {"workclass=<other>": 2799, "occupation=<other>": 2809, "native-country=<other>": 857}


def test_the_census_table():
    dataset = loaded("acs_pums_2024")
    assert len(dataset) == 1_358_274
    assert dataset.schema.width == 13
    y = dataset.schema.encode_target(dataset.table)
    assert (y.min(), y.max()) == (0, 200_000)
    small = loaded("acs_pums_2024", rows=2000, seed=3)
    X, y = small.arrays(clip=small.schema.radius)
    assert X.shape == (2000, 13)
    # A linear model explains a third of the variance of income here (0.2094 against 0.2587 in root mean square).
    design = np.column_stack([X, np.ones(len(X))])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert 0.25 < 1 - residual.var() / y.var() < 0.45


def test_subsets_are_drawn_with_the_seed():
    first, again, other = (loaded("kddcup99", rows=500, seed=seed) for seed in (1, 1, 2))
    assert len(first) == 500
    np.testing.assert_array_equal(first.table["src_bytes"], again.table["src_bytes"])
    assert not np.array_equal(first.table["src_bytes"], other.table["src_bytes"])


@pytest.mark.parametrize("name", ["adult", "bank_marketing", "breast_cancer", "credit_card_fraud"])
def test_both_readers_agree(name, monkeypatch):
    if importlib.util.find_spec("pyarrow") is None:
        pytest.skip("pyarrow is not installed")
    fast = loaded(name).table
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: None)
    plain = loaded(name).table
    assert list(fast) == list(plain)
    for column in fast:
        assert fast[column].dtype == plain[column].dtype
        np.testing.assert_array_equal(fast[column], plain[column])


@pytest.mark.parametrize("name", [path.stem for path in sorted(datasets.SCHEMAS.glob("*.toml"))])
def test_packaged_schemas_load_and_have_a_target(name):
    schema = Schema.load(datasets.SCHEMAS / f"{name}.toml")
    assert name in datasets.names()
    assert schema.target is not None
    assert Schema.from_dict(schema.to_dict()) == schema


def test_bounds_do_not_come_from_the_file(tmp_path, monkeypatch):
    folder = tmp_path / "breast_cancer_wisconsin_original"
    folder.mkdir()
    lines = "1,5,1,1,1,2,?,3,1,1,2\n2,99,-7,1,1,2,1,3,1,1,4\n"
    (folder / "breast-cancer-wisconsin.data").write_text(lines, encoding="utf-8")
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="differs from the published one"):
        datasets.load("breast_cancer")
    dataset = datasets.load("breast_cancer", verify=False)
    assert all(
        isinstance(column, Number) and (column.lower, column.upper) == (1, 10) for column in dataset.schema.columns
    )
    X, y = dataset.arrays(clip=dataset.schema.radius)
    np.testing.assert_array_equal(y, [2, 4])
    np.testing.assert_allclose(X[0], [4 / 9, 0, 0, 0, 1 / 9, 0.5, 2 / 9, 0, 0])
    np.testing.assert_allclose(X[1, :2], [1, 0])
    assert len(datasets.load("breast_cancer", verify=False, complete=True)) == 1


def test_text_files_with_comments_and_full_stops(tmp_path, monkeypatch):
    (tmp_path / "adult").mkdir()
    line = "25, ?, 226802, 11th, 7, Never-married, Sales, Own-child, Black, Male, 0, 0, 40, United-States, >50K.\n"
    with gzip.open(tmp_path / "adult" / "adult.test.gz", "wt", encoding="utf-8") as stream:
        stream.write("|1x3 Cross validator\n" + line + "\n")
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    dataset = datasets.load("adult", split="test", verify=False)
    assert (len(dataset), dataset.table["workclass"][0], dataset.table["income"][0]) == (1, "?", ">50K")
    assert dataset.table["age"].tolist() == [25.0]


def test_absent_files_and_bad_arguments_get_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"Put the file .*adult.data.gz in place, or set TACIT_DATA"):
        datasets.load("adult", split="train")
    with pytest.raises(ValueError, match="Unknown data set 'iris'"):
        datasets.load("iris")
    with pytest.raises(ValueError, match=r"no official split 'test'; expected .None."):
        datasets.load("kddcup99", split="test")


def test_too_many_rows_are_refused():
    loaded("breast_cancer")
    with pytest.raises(ValueError, match="rows=700 <= 699"):
        datasets.load("breast_cancer", rows=700)
    with pytest.raises(ValueError, match="rows=0"):
        datasets.load("breast_cancer", rows=0)
