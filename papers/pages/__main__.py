"""Takes a run's rows into the documentation, and writes what the pages about the papers include.

python -m papers --all
python -m papers.pages --from reproduced    # copies the rows, and writes the tables
python -m papers.pages                      # writes the tables again, from the rows that were copied
"""

import argparse
from pathlib import Path

from papers.pages.kept import DOCS, take
from papers.pages.markdown import texts


def main() -> None:
    """Copy, if asked to, and write."""
    parser = argparse.ArgumentParser(description="Writes what the pages about the papers include.")
    parser.add_argument("--from", dest="out", type=Path, metavar="OUT", help="folder of a finished run to copy")
    out = parser.parse_args().out
    if out is not None:
        take(out)
    for name, text in texts().items():
        (DOCS / "papers" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
