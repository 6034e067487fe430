"""The papers' algorithms as printed, one implementation each: for users, audits and figures alike."""

from tacit.mechanisms.base import Method
from tacit.published.data_perturbation import PublishedInput
from tacit.published.heterogeneous import PiDbdpErm, PidpSgd

__all__ = ["PUBLISHED", "PiDbdpErm", "PidpSgd", "PublishedInput"]

PUBLISHED: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="pidp-sgd",
            mechanism=PidpSgd(),
            paper="Kang et al. 2023, Algorithm 1",
            about="REFUTED: noise only for records of large influence; proven form: 'individual'",
            calibrations=("paper",),
        ),
        Method(
            name="pi-dbdp-erm",
            mechanism=PiDbdpErm(),
            paper="Kang et al. 2020b, Algorithm 2",
            about="REFUTED: perturbs records of large influence, starts at the minimiser; proven form: 'individual'",
            calibrations=("paper",),
        ),
        Method(
            name="input-kang-2020",
            mechanism=PublishedInput(),
            paper="Kang et al. 2020a, Algorithm 1",
            about="REFUTED: noise on features only, then descent; proven form: 'input-local'",
            calibrations=("paper",),
        ),
        Method(
            name="dbdp-erm",
            mechanism=PublishedInput("dbdp-erm"),
            paper="Kang et al. 2020b, Algorithm 1",
            about="REFUTED: noise on features only, then mini-batch descent; proven form: 'input-local'",
            calibrations=("paper",),
        ),
    )
}
"""Methods with no proven calibration, kept to reproduce and audit papers; pass the mechanism with its constants."""
