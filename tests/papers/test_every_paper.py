"""Every paper of this repository: names, grids and keys. Nothing is measured here."""

import re

import pytest

from papers.engine import library
from papers.engine.figure import Plain, Size
from papers.engine.grid import grid

NAMES = library.names("papers")


@pytest.fixture(params=NAMES)
def paper(request):
    try:
        return library.load("papers", request.param)
    except ModuleNotFoundError as error:
        pytest.skip(f"{request.param} needs a module that is not installed: {error}")


def test_papers_are_named_by_author_and_year():
    assert len(NAMES) >= 5
    assert all(re.fullmatch(r"[a-z]+_\d{4}[a-z]?", name) for name in NAMES)


def test_words_are_there(paper):
    assert paper.figures
    assert paper.citation
    for figure in paper.figures:
        assert figure.name == figure.name.strip().lower().replace(" ", "-")
        for words in (figure.title, figure.claim, figure.about):
            assert words.strip() == words != ""


@pytest.mark.parametrize(
    "size", [Size(quick=True), Size(), Size(quick=True, runs=1)], ids=["quick", "paper", "one-run"]
)
def test_grids_are_plain_and_the_same_every_time(paper, size):
    for figure in paper.figures:
        cells = grid(paper, figure, size)  # refuses empty grids, settings that are not plain, and twins
        assert [cell.key for cell in grid(paper, figure, size)] == [cell.key for cell in cells]
        assert all(isinstance(value, Plain) for cell in cells for value in cell.settings.values())
        assert len({cell.key for cell in cells}) == len(cells)


def test_the_quick_size_is_not_larger(paper):
    for figure in paper.figures:
        assert len(grid(paper, figure, Size(quick=True))) <= len(grid(paper, figure, Size()))
