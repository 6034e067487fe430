"""The audit's tests use the broken mechanisms and the oracles of the other rooms."""

import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent
for folder in (TESTS, TESTS / "broken"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
