"""Accounts that must be caught: each is the real one with one line changed."""

import numpy as np

from tacit.mechanisms.individual import Account


class Forgetful(Account):
    """Lets a record in while the sum *before* the step is within the limit: the last step comes on top."""

    def admit(self, rows, squares):
        inside = self.spent[rows] <= self.limit
        self.spent[rows] += np.where(inside, squares, 0.0)
        self.whole[rows] += inside
        return inside.astype(float)


class Lenient(Account):
    """Forgets the charge of a record whose gradient was shrunk."""

    def admit(self, rows, squares):
        before = self.spent[rows].copy()
        factors = super().admit(rows, squares)
        self.spent[rows] = np.where(factors < 1, before, self.spent[rows])
        return factors


class Common(Account):
    """Stops all records when the loudest is at its limit: what the others contribute then depends on one record."""

    def admit(self, rows, squares):
        self.spent[rows] += squares
        return np.full(len(squares), float((self.spent <= self.limit).all()))
