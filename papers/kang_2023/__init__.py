"""Kang, Li, Liu & Wang 2023: data heterogeneity differential privacy."""
