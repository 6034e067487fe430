"""Takes a run's rows into the documentation, and writes and draws what the pages about the papers show.

python -m papers --all
python -m papers.pages --from reproduced    # copies the rows of its figures, and writes tables and pictures
python -m papers.pages --quick-from OUT     # notes how long a run of the quick size took, and writes
python -m papers.pages                      # writes again, from the rows that were copied
python -m papers.pages --remember           # the verdicts of now are what the next version is compared with
"""

import argparse
from pathlib import Path

from papers.pages import changes, included, pictures
from papers.pages.kept import DOCS, take, take_quick


def main() -> None:
    """Copy, if asked to, and write."""
    parser = argparse.ArgumentParser(description="Writes and draws what the pages about the papers show.")
    parser.add_argument("--from", dest="out", type=Path, metavar="OUT", help="folder of a finished run to copy")
    parser.add_argument("--quick-from", type=Path, metavar="OUT", help="folder of a finished run of the quick size")
    parser.add_argument("--remember", action="store_true", help="keep the verdicts, for the next version")
    options = parser.parse_args()
    try:
        if options.out is not None:
            take(options.out)
        if options.quick_from is not None:
            take_quick(options.quick_from)
        stands = included.all_stands()
    except ValueError as error:
        parser.exit(2, f"papers.pages: {error}\n")
    if options.remember:
        kept = changes.waiting(changes.read_before(), changes.under_way(stands))
        changes.remember({**kept, **changes.verdicts(stands)}, list(included.versions_of(stands)))
    for name, mine in stands.items():
        pictures.draw(name, {stand.figure.name: stand for stand in mine})
    for name, text in included.texts(stands).items():
        (DOCS / "papers" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
