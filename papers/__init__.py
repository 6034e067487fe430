"""The papers: what they claim, run again. Outside the package; `python -m papers --help`."""
