"""A loss's own code in as many digits as mpmath is asked for: what doubles lose shows, for any loss of one score."""

import math

import mpmath
import numpy as np


def _logaddexp(a, b):
    return max(a, b) + mpmath.log1p(mpmath.exp(-abs(a - b)))


def _expit(a):
    return 1 / (1 + mpmath.exp(-a))


OWN = {
    "exp": mpmath.exp, "expm1": mpmath.expm1, "log": mpmath.log, "log1p": mpmath.log1p, "sqrt": mpmath.sqrt,
    "logaddexp": _logaddexp, "expit": _expit,
}  # fmt: skip
"""Functions that NumPy does not know for other numbers than its own."""


class Digits(np.ndarray):
    """An array of mpmath numbers that NumPy's functions work on."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        plain = [np.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs]
        own = OWN.get(ufunc.__name__)
        made = np.frompyfunc(own, ufunc.nin, 1)(*plain) if own else getattr(ufunc, method)(*plain, **options)
        if out is not None:
            out[0][...] = made
            return out[0]
        return made.view(Digits) if isinstance(made, np.ndarray) else made


def digits(array):
    """Doubles, or mpmath numbers, as they are."""
    return np.vectorize(mpmath.mpf, otypes=[object])(np.asarray(array)).view(Digits)


def value_of(loss, z, y):
    """The loss of one record, from mpmath scores (a list) and its target."""
    if loss.coupled:
        top, z = _lowered(loss, z, y)
        return mpmath.log(mpmath.fsum(_part(v - top) for v in z)) + top - z[int(y)]
    return loss.value(digits([z]), digits([[y]]))[0, 0]


def slope_of(loss, z, y):
    """Its slopes, as a list."""
    if loss.coupled:
        top, z = _lowered(loss, z, y)
        parts = [_part(v - top) for v in z]
        return [p / mpmath.fsum(parts) - (j == int(y)) for j, p in enumerate(parts)]
    return list(loss.slope(digits([z]), digits([[y]]))[0])


def _lowered(loss, z, y):
    """SciPy's functions of several scores take doubles only: softmax is written out."""
    z = [v - (loss.margin if j == int(y) else 0) for j, v in enumerate(z)]
    return max(z), z


def _part(below):
    """exp, beside a part that is 1: nothing where it is beyond twice the digits, since mpmath is slow there."""
    return mpmath.exp(below) if below > -2 * mpmath.mp.dps * math.log(10) else mpmath.mpf(0)
