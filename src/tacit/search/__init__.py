"""Choosing among settings, charged: only the best by a private score is released."""
