"""``python -m papers``: run the papers' experiments again."""

import sys

from papers.engine.command import main

if __name__ == "__main__":
    sys.exit(main())
