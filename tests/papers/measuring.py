"""A paper in a test: measure a cell of a figure, and see what is drawn and found."""

import pytest

from papers.engine.library import load, why_left_out


class OnePaper:
    def __init__(self, name):
        self.paper = load("papers", name)

    def measured(self, name, **settings):
        figure = self.paper.figure(name)
        left_out = why_left_out(figure)
        if left_out:
            pytest.skip(left_out)
        return [{**settings, **point} for point in figure.measure(**settings)]

    def outcome(self, name, points):
        figure = self.paper.figure(name)
        return figure.show(points), figure.check(points, self.paper.expected)
