"""Write the tables of recorded rows into docs/benchmarks.md, between the markers of their part, and draw them.

python benchmarks/page.py [--rows FOLDER]    # the folder of bench-accuracy.json and bench-methods.json
"""

import argparse
import json
from pathlib import Path

import methods
import picture
import versus

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
PARTS = {"accuracy": versus.text, "methods": methods.text}


def replaced(page: str, part: str, text: str) -> str:
    """The page with this text between ``<!-- part -->`` and ``<!-- end of part -->``."""
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"Expected {begin} and then {end} once each in the page.")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def main() -> None:
    """Every part that has rows; the others stay as they are."""
    parser = argparse.ArgumentParser(description="Write recorded benchmarks into the documentation.")
    parser.add_argument("--rows", type=Path, default=Path(), help="folder of the rows (default: here)")
    folder = parser.parse_args().rows
    page = PAGE.read_text(encoding="utf-8")
    for part, text in PARTS.items():
        rows = folder / f"bench-{part}.json"
        if rows.exists():
            page = replaced(page, part, text(json.loads(rows.read_text(encoding="utf-8"))))
            print(f"{part}: written from {rows}")
    PAGE.write_text(page, encoding="utf-8")
    picture.main()


if __name__ == "__main__":
    main()
