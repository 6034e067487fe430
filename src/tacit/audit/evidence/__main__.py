"""Measure all evidence again: ``python -m tacit.audit.evidence [case ...]``."""

from __future__ import annotations

import sys

from tacit.audit.evidence import CASES, load, record

for name in sys.argv[1:] or CASES:
    record(name)
    for entry in load(name)["audits"]:
        found = f"epsilon >= {entry['epsilon']:.3g} (could show {entry['ceiling']:.3g}): {entry['verdict']}"
        print(f"{name}, c = {entry['c']:g}: {found}", flush=True)
