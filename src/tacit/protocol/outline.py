"""A study before its epsilon and its crowd are chosen, and the protocol that it becomes once they are.

Whoever plans looks at many protocols, and calibrating one takes a while; here it takes a tenth of that, by a formula
for the one number that calibration searches for. What is looked at is what is agreed on: create the study with
:meth:`Outline.protocol`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import chdtri

from tacit.checks import PrivacyError
from tacit.data.rows import rounded_intercept
from tacit.estimators.base import INTERCEPT
from tacit.mechanisms.input_plan import QUIET, RADIUS, SHARES, Setting
from tacit.mechanisms.surrogates import Surrogate
from tacit.privacy.accounting import gaussian_mu
from tacit.protocol import trust
from tacit.protocol.agreement import Protocol
from tacit.protocol.madeup import UNEXPLAINED
from tacit.schema import Schema, Target

_SHARES = np.geomspace(SHARES[0], SHARES[-1], 12).tolist()
"""Parts of epsilon for the determinant that are tried."""


_mu = lru_cache(maxsize=4096)(gaussian_mu)


@dataclass(frozen=True, kw_only=True)
class Outline:
    """A study as far as it is known before epsilon and cohort are: what :meth:`Protocol.create` takes beside them."""

    delta: float
    schema: Schema | None = None
    columns: int | None = None
    target: Target | None = None
    clip: float = 1.0
    record_epsilon: float | None = None
    surrogate: str = "paper"
    honest: float | None = None
    purpose: str = ""
    withdrawal: bool = False
    unexplained: float = UNEXPLAINED

    def protocol(self, epsilon: float, cohort: int) -> Protocol:
        """The protocol that is looked at, and that the study should be created with: what is shown is what is agreed.

        Its Lambda comes from a formula instead of the search of :meth:`Protocol.create`, which prices some forty noises
        (0.2 to 0.7 seconds; this takes a tenth). Its price is computed like that of any other.
        """
        settings: dict[str, Any] = {
            "epsilon": epsilon, "delta": self.delta, "cohort": cohort, "schema": self.schema, "columns": self.columns,
            "target": self.target, "clip": self.clip, "record_epsilon": self.record_epsilon,
            "surrogate": self.surrogate, "honest": self.honest, "purpose": self.purpose,
            "withdrawal": self.withdrawal,
        }  # fmt: skip
        try:
            return Protocol.create(**settings, regularization=self._strength(epsilon, cohort) / cohort)
        except PrivacyError:
            return Protocol.create(**settings)

    def _setting(self, cohort: int) -> Setting:
        """What calibration knows of a run, as :meth:`Protocol.create` has it."""
        aim = self.target or (self.schema.target if self.schema else None)
        kind = "squared" if aim is None or aim.classes is None else "logistic"
        constant = rounded_intercept(self.clip, INTERCEPT * self.clip)
        return Setting(
            features=1 + (self.schema.width if self.schema else self.columns or 0), cohort=cohort, clip=self.clip,
            intercept=constant, radius=RADIUS[kind] / math.hypot(self.clip, constant),
            surrogate=Surrogate.named("squared" if kind == "squared" else self.surrogate, RADIUS[kind]),
            honest=trust.HONEST if self.honest is None else self.honest,
        )  # fmt: skip

    def _strength(self, epsilon: float, cohort: int) -> float:
        r"""Lambda of the least excess risk, for rows that spread evenly and weights of half the radius, eta/2.

        A part s of epsilon pays for the determinant, ``Lambda = Q^2/(e^{s epsilon} - 1)``. The noise on the sum is
        taken to be ``2 (Q^2 eta + B_p) / mu((1 - s) epsilon, delta)``, or what the record asks for; with S the sum of
        x x^T in one direction, and K = Lambda plus the row noise that is not taken back, the excess risk is

        .. math:: \frac S2 \left[\left(\frac{K}{K + S}\right)^2 \frac{\eta^2}{4}
                  + \frac{d \sigma^2}{(K + S)^2} + d \sigma_{hidden}^2\right]
        """
        setting, tail = self._setting(cohort), 0.05 * self.delta
        rows, least = 0.5 * QUIET * setting.row, 0.0
        if self.record_epsilon is not None:
            mu = gaussian_mu(self.record_epsilon, self.delta)
            rows = math.sqrt(8 * setting.surrogate.curvature) * setting.clip / mu
            least = math.sqrt(8 * setting.sure) * setting.cross / mu
        longest = setting.row + rows * math.sqrt(float(chdtri(setting.features, tail)))
        spread = cohort * setting.row**2 / (4 * setting.features)

        def risk(share: float) -> tuple[float, float]:
            strength = longest**2 / math.expm1(share * epsilon)
            noise = 2 * (longest**2 * setting.radius + setting.cross) / _mu((1 - share) * epsilon, self.delta)
            numbers = setting.numbers(rows, max(noise, least), strength, tail)
            kept = strength + (cohort - setting.sure) * rows**2
            shift = (kept * setting.radius / 2) ** 2 + setting.features * numbers.expected_scale(cohort) ** 2
            polish = setting.features * numbers.hidden(cohort).scale ** 2
            return shift / (kept + spread) ** 2 + polish, strength

        return min(map(risk, _SHARES))[1]
