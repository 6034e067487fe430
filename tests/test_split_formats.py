"""The files that ``tacit split`` writes are written as the table is: separator, cells, and compression by name."""

import gzip
from pathlib import Path

import pytest

from tacit.cli.main import main
from tacit.data.tables import read_table


def parts(names):
    raw = [Path(name).read_bytes() for name in names]
    texts = [(gzip.decompress(one) if one[:2] == b"\x1f\x8b" else one).decode() for one in raw]
    headers = {text.splitlines()[0] for text in texts}
    return headers, sorted(line for text in texts for line in text.splitlines()[1:])


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("sign", [";", "\t", "|", ","])
def test_the_separator_and_the_cells_are_kept(sign, ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [f"{place},5" if sign != "," else f"{place}.5" for place in range(200)]
    lines = [sign.join([cell, "Zürich"]) for cell in cells]
    Path("t.csv").write_bytes("\n".join([sign.join(["größe", "ort"]), *lines, ""]).encode("latin-1"))
    names = [f"{part}.{ending}" for part in "ab"]
    line = f"split t.csv --encoding latin-1 --out-train {names[0]} --out-test {names[1]}"
    assert main([*line.split(), "--decimal", "." if sign == "," else ","]) == 0
    headers, found = parts(names)
    assert headers == {sign.join(["größe", "ort"])}
    assert found == sorted(lines)
    read = [read_table(name, decimal="." if sign == "," else ",") for name in names]
    assert sorted(cell for table in read for cell in table["größe"].tolist()) == sorted(cells)


def test_names_that_look_like_separators_are_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{place};1\n" for place in range(50))
    Path("t.csv").write_text('"a,b";c\n' + rows, encoding="utf-8")
    assert main(["split", "t.csv", "--out-train", "a.csv", "--out-test", "b.csv", "--test", "0.5"]) == 0
    assert list(read_table("a.csv")) == ["a,b", "c"]
    assert parts(["a.csv", "b.csv"])[0] == {'"a,b";"c"'}


def test_predictions_may_be_compressed_and_other_kinds_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{place},{'yes' if place > 30 else 'no'}\n" for place in range(60))
    Path("t.csv").write_text("age,ill\n" + rows, encoding="utf-8")
    assert main(["fit", "t.csv", "--target", "ill", "--classes", "no,yes", "--epsilon", "1", "--out", "m.json"]) == 0
    for name in ("p.csv", "p.csv.gz"):
        assert main(f"predict m.json t.csv --out {name}".split()) == 0
    assert gzip.decompress(Path("p.csv.gz").read_bytes()) == Path("p.csv").read_bytes()
    for name in ("p.csv.xz", "p.parquet.gz"):
        assert main(f"predict m.json t.csv --out {name}".split()) == 2
        assert "Tables are written as .csv, .csv.gz or .parquet." in capsys.readouterr().err
        assert not Path(name).exists()
