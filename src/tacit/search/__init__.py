"""Choosing among settings, charged: only the best by a private score is released."""

from tacit.search.searching import PrivateSearch

__all__ = ["PrivateSearch"]
