"""Measure what a promise is worth: lower bounds on the epsilon of any training procedure, valid with stated
confidence."""

from tacit.audit.pairs import Pair, library
from tacit.audit.planned import planned
from tacit.audit.result import AuditResult
from tacit.audit.runner import audit, audit_samplers
from tacit.audit.subjects import Batched

__all__ = ["AuditResult", "Batched", "Pair", "audit", "audit_samplers", "library", "planned"]
