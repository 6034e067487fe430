"""Every paper's folder of this repository: names, grids and keys. Nothing is measured here."""

from pathlib import Path

import pytest

from papers.engine import papers
from papers.engine.cells import grid
from papers.engine.figure import Plain, Size

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FOLDERS = papers.folders(EXPERIMENTS)


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def source(request):
    try:
        return papers.load(request.param)
    except ModuleNotFoundError as error:
        pytest.skip(f"{request.param.name} needs a module that is not installed: {error}")


def test_there_are_papers():
    assert FOLDERS
    names = [papers.short_name(folder) for folder in FOLDERS]
    assert len(set(names)) == len(names)


def test_words_are_there(source):
    assert source.paper.figures
    assert source.paper.citation
    for figure in source.paper.figures:
        assert figure.name == figure.name.strip().lower().replace(" ", "-")
        for words in (figure.title, figure.claim, figure.about):
            assert words.strip() == words != ""


@pytest.mark.parametrize(
    "size", [Size(quick=True), Size(), Size(quick=True, runs=1)], ids=["quick", "paper", "one-run"]
)
def test_grids_are_plain_and_the_same_every_time(source, size):
    for figure in source.paper.figures:
        cells = grid(source, figure, size)  # refuses empty grids, settings that are not plain, and twins
        assert [cell.key for cell in grid(source, figure, size)] == [cell.key for cell in cells]
        assert all(isinstance(value, Plain) for cell in cells for value in cell.settings.values())
        assert len({cell.key for cell in cells}) == len(cells)


def test_the_quick_size_is_not_larger(source):
    for figure in source.paper.figures:
        assert len(grid(source, figure, Size(quick=True))) <= len(grid(source, figure, Size()))
