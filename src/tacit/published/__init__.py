"""The papers' algorithms as printed, one implementation each: for users, audits and figures alike.

No theorem behind them holds: they run with ``calibration='paper'`` only, warn, and are never for private records.
``PublishedMLPClassifier`` trains a perceptron by the same code; it needs PyTorch (extra ``torch``) and is loaded when
it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.published.contract import Published, PublishedMethod
from tacit.published.data_perturbation import PublishedInput
from tacit.published.pi_dbdp_erm import PiDbdpErm
from tacit.published.pidp_sgd import PidpSgd

if TYPE_CHECKING:
    from tacit.published.networks import PublishedMLPClassifier as PublishedMLPClassifier

__all__ = ["PUBLISHED", "PiDbdpErm", "PidpSgd", "Published", "PublishedInput", "PublishedMethod"]

PUBLISHED: dict[str, PublishedMethod] = {
    method.name: method
    for method in (
        PublishedMethod(
            name="pidp-sgd",
            mechanism=PidpSgd(),
            paper="Kang et al. 2023, Algorithm 1",
            about="noise only for records of large influence",
        ),
        PublishedMethod(
            name="pi-dbdp-erm",
            mechanism=PiDbdpErm(),
            paper="Kang et al. 2020b, Algorithm 2",
            about="perturbs records of large influence, starts at the minimiser",
        ),
        PublishedMethod(
            name="input-kang-2020",
            mechanism=PublishedInput("input-kang-2020"),
            paper="Kang et al. 2020a, Algorithm 1",
            about="noise on features only, then descent",
        ),
        PublishedMethod(
            name="dbdp-erm",
            mechanism=PublishedInput("dbdp-erm"),
            paper="Kang et al. 2020b, Algorithm 1",
            about="noise on features only, then mini-batch descent",
        ),
    )
}
"""Methods with no proven calibration, kept to reproduce and audit papers; pass the mechanism with its constants."""


def __getattr__(name: str) -> Any:
    if name != "PublishedMLPClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tacit.published.networks import PublishedMLPClassifier
    except ImportError as error:
        sentence = "tacit.published.PublishedMLPClassifier needs PyTorch. In Tacit's source: pip install '.[torch]'."
        raise ImportError(sentence) from error
    return PublishedMLPClassifier


def __dir__() -> list[str]:
    return sorted({*globals(), "PublishedMLPClassifier"})
