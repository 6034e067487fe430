"""Experiments that can be stopped and go on: a grid of cells, a store of points, pictures and one report."""
