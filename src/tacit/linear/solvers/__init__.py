"""Solvers: each gives a point and says how close it came."""
