"""Features that are free of charge: each record's are computed from that record and public facts alone."""

from tacit.features.scattering import Scattering

__all__ = ["Scattering"]
