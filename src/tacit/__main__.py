"""``python -m tacit``: the command line."""

import sys

from tacit.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
