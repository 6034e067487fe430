"""Two small papers: what the engine does with them is known."""
