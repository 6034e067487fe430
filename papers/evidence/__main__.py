"""Make all studies again: ``python -m papers.evidence [study ...]``, or print the page with ``--page``."""

from __future__ import annotations

import sys

from papers.evidence import STUDIES, load, markdown, record

names = sys.argv[1:]
if names == ["--page"]:
    sys.stdout.write(markdown())
else:
    for name in names or STUDIES:
        record(name)
        data = load(name)
        print(f"{data['theorem']}, {data['seconds']} s", flush=True)
        for row in data["runs"]:
            counts = f"{row['hits']} against {row['false']} of {row['trials']}"
            print(f"  c = {row['c']:g}: {counts}, epsilon >= {row['epsilon']:.3g}", flush=True)
