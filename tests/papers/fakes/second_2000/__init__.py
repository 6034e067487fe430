"""A paper with everything that can go wrong."""
