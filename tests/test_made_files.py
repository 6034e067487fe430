"""Files that are made from other public ones, and the command that fetches or makes them; the network is a folder."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tacit import datasets
from tacit.datasets import cache, census, fraud, recipes
from tacit.datasets.__main__ import main

MORE = ("RT", "SERIALNO", "DIVISION", "SPORDER", "PUMA")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The data folder, with an empty cache and no network."""
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TACIT_OFFLINE", "1")
    for name in ("acs_pums_2024", "credit_card_fraud"):
        (tmp_path / "data" / name).mkdir(parents=True)
    return tmp_path / "data"


def stored_lines(name: str, count: int) -> list[str]:
    """The first lines of a stored file, header included."""
    (file,) = recipes.RECIPES[name].files["all"]
    path = cache.find(file)
    if path is None:
        pytest.skip(f"data set {name} is not stored here")
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as text:
        return [line.rstrip("\n") for line in itertools.islice(text, count)]


def known(monkeypatch, name: str, content: bytes) -> None:
    """Let this be the known content of a set's file, which no address serves."""
    recipe = recipes.RECIPES[name]
    file = replace(recipe.files["all"][0], sha256=hashlib.sha256(content).hexdigest(), addresses=())
    monkeypatch.setitem(recipes.RECIPES, name, replace(recipe, files={"all": (file,)}))


def archive(path: Path, member: str, lines: list[dict[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("ACS2024_PUMS_README.pdf", b"words")
        bundle.writestr(member, text.getvalue())


def as_published(folder: Path, state: str, lines: list[str]) -> None:
    """Write the Bureau's two files of a state from lines of our table: more columns, zeros in front, housing apart."""
    people, homes, left = [], {}, 0
    for number, line in enumerate(lines):
        cells = dict(zip(census.HEADER.split(","), line.split(","), strict=True))
        left = left - 1 if left else int(cells["NP"]) - 1
        serial = f"2024{'HU' if cells['TEN'] else 'GQ'}{len(homes) + (left == int(cells['NP']) - 1):07}"
        padded = {name: f"{int(cell):04}" if cell else "" for name, cell in cells.items() if name in ("OCCP", "INDP")}
        own = {name: cell for name, cell in (cells | padded).items() if name not in census.HOUSING}
        people.append(dict.fromkeys(MORE, "1") | {"SERIALNO": serial, "SPORDER": str(number)} | own)
        homes[serial] = {"WGTP": "7", "SERIALNO": serial, **{name: cells[name] for name in census.HOUSING}}
    vacant = dict.fromkeys(homes[serial], "") | {"SERIALNO": "2024HU9999999", "NP": "0"}
    archive(folder / f"csv_p{state}.zip", f"psam_p{state}.csv", people)
    archive(folder / f"csv_h{state}.zip", f"psam_h{state}.csv", [vacant, *reversed(homes.values())])


MADE_UP = [
    "01,41,59,1,5,10,2,1,1,1,1,4,6,1,160,170,30,52,,2,,,,,1,,18500,18500",
    "01,31,75,2,3,16,2,1,1,1,1,4,6,,,,,,,1,1,1,7,1,2,2,0,-2700",
    "01,36,4,1,5,,1,1,1,1,2,,,,,,,,,2,,1,7,1,2,2,,",
]


def test_the_census_table_is_made_from_persons_and_their_housing(folder, monkeypatch, capsys):
    monkeypatch.setattr(census, "STATES", ["al", "wy"])
    wyoming = [line.replace("01,", "56,", 1) for line in MADE_UP[1:]]
    as_published(folder / "acs_pums_2024", "al", MADE_UP)
    as_published(folder / "acs_pums_2024", "wy", wyoming)
    content = "".join(f"{line}\n" for line in (census.HEADER, *MADE_UP, *wyoming)).encode()
    assert b"".join(census.table()) == content
    known(monkeypatch, "acs_pums_2024", content)
    with pytest.raises(FileNotFoundError, match=r"is made from .* by `python -m tacit.datasets acs_pums_2024`"):
        datasets.load("acs_pums_2024")  # which would fetch a hundred files: only when asked for
    assert main(["acs_pums_2024"]) == 0
    assert str(folder.parent / "cache") in capsys.readouterr().out
    assert datasets.stored("acs_pums_2024")


def test_real_census_records_survive_the_way_through_the_bureaus_form(folder, monkeypatch):
    monkeypatch.undo()
    header, *lines = stored_lines("acs_pums_2024", 6_001)
    assert header == census.HEADER
    first = next(number for number, line in enumerate(lines) if line.split(",")[21])  # groups first, then households
    lines = [*lines[:200], *lines[first : first + 1_500]]
    target = folder / "acs_pums_2024"
    as_published(target, "al", lines)
    assert list(census.joined(target / "csv_pal.zip", target / "csv_hal.zip")) == lines


def test_census_files_that_do_not_fit_are_refused(folder, monkeypatch):
    monkeypatch.setattr(census, "STATES", ["al"])
    target = folder / "acs_pums_2024"
    as_published(target, "al", MADE_UP)
    archive(target / "csv_hal.zip", "psam_h01.csv", [dict.fromkeys(("SERIALNO", *census.HOUSING), "1")])
    with pytest.raises(ValueError, match=r"csv_hal.zip has no record '2024GQ0000001'"):
        list(census.table())
    archive(target / "csv_pal.zip", "psam_p01.csv", [{"SERIALNO": "1", "STATE": "01"}])
    with pytest.raises(ValueError, match=r"psam_p01.csv in csv_pal.zip has no columns \['PWGTP', "):
        list(census.table())


def test_all_states_but_two_in_the_order_of_their_codes():
    assert len(census.STATES) == len(set(census.STATES)) == 49
    assert not {"ca", "tx", "pr"} & set(census.STATES)


def test_what_is_made_is_kept_only_if_it_is_the_known_one(folder, monkeypatch, capsys):
    monkeypatch.setattr(census, "STATES", ["al"])
    as_published(folder / "acs_pums_2024", "al", MADE_UP)
    assert main(["acs_pums_2024"]) == 1
    assert "What was made is not the known acs_pums_2024_person.csv" in capsys.readouterr().err
    assert [path for path in (folder.parent / "cache").rglob("*") if path.is_file()] == []


def whole_file(folder: Path, lines: list[str]) -> None:
    """creditcard.csv as it is public: quoted header and class, whole seconds, some in powers of ten."""
    others = [",".join(["7", *["0.25"] * 28, "3.5", "0"]), ",".join(["1e+05", *["-1.5"] * 28, "2", "0"])]
    quoted = [",".join(f'"{name}"' for name in fraud.HEADER)]
    for line in (others[0], *reversed(lines), others[1]):
        time, *cells, label = line.split(",")
        quoted.append(",".join([time.removesuffix(".0"), *cells, f'"{label}"']))
    (folder / "credit_card_fraud" / "creditcard.csv").write_text("".join(f"{line}\n" for line in quoted))


def test_the_balanced_subset_is_made_from_the_whole_file(tmp_path, monkeypatch, capsys):
    header, *lines = stored_lines("credit_card_fraud", 985)
    assert header == ",".join(fraud.HEADER)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    monkeypatch.setenv("TACIT_OFFLINE", "1")
    (tmp_path / "credit_card_fraud").mkdir()
    whole_file(tmp_path, lines)
    assert main(["credit_card_fraud"]) == 0  # the checksum is that of the real one
    assert len(datasets.load("credit_card_fraud")) == 984


def test_a_whole_file_without_a_record_is_refused(folder):
    line = ",".join(["1.0", *["0.5"] * 28, "2.0", "1"])
    whole_file(folder, [line])
    path = folder / "credit_card_fraud" / "creditcard.csv"
    assert fraud.chosen(path, [fraud.digest(line)] * 2) == [line] * 2
    with pytest.raises(ValueError, match="lacks 1 of the 2 records"):
        fraud.chosen(path, [fraud.digest(line), "0" * fraud.DIGITS])


def test_a_file_that_is_not_the_published_one_is_not_called_had(folder, capsys):
    (folder / "credit_card_fraud" / "creditcard_balanced_984.csv").write_text("garbage")
    assert datasets.stored("credit_card_fraud")  # which only looks
    assert main(["credit_card_fraud"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "differs from the published one" in err


def test_the_command_says_what_is_here_and_what_could_not_be_had(folder, capsys):
    assert main([]) == 0
    said = capsys.readouterr().out
    assert "iris               here" in said
    assert "adult              not here" in said
    assert main(["iris", "adult", "mnist"]) == 1
    out, err = capsys.readouterr()
    assert "iris: ships with scikit-learn" in out
    assert "adult: " in err
    assert "mnist: " in err  # one that cannot be had does not stop the others
    assert main(["tulips"]) == 2
    assert "Unknown data sets ['tulips']" in capsys.readouterr().err
