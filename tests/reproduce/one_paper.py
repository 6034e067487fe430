"""A paper's folder in a test: measure a cell of a figure, and see what is drawn and found."""

from pathlib import Path

import pytest

from papers.engine.papers import load, why_left_out


class OnePaper:
    def __init__(self, folder):
        self.source = load(Path(__file__).parents[2] / "experiments" / folder)

    def measured(self, name, **settings):
        figure = self.source.figure(name)
        left_out = why_left_out(self.source, figure)
        if left_out:
            pytest.skip(left_out)
        with self.source.entered():
            return [{**settings, **point} for point in figure.measure(**settings)]

    def outcome(self, name, points):
        figure = self.source.figure(name)
        with self.source.entered():
            return figure.show(points), figure.check(points, self.source.expected)
