"""The perceptrons of three papers, many of them trained side by side (PyTorch; on a GPU, Triton).

A fit of a figure takes seconds, and a grid has ten thousand of them. Here all fits of a grid that are known to be
needed take their steps together. The algorithms are those of :mod:`tacit.published` and :mod:`tacit.nn`, whose own
``calibrate`` gives every number; tests hold the arithmetic to theirs.
"""
