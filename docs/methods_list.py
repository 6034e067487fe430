"""Work out what ``tacit methods`` prints, and store it with the package: ``make methods``."""

import json

from docs.rooms import SOURCE
from tacit.report import catalogue

PLACE = SOURCE / "report" / "methods.json"


def text() -> str:
    """The table as JSON, one method a line."""
    parts = {name: json.dumps(value, ensure_ascii=False) for name, value in catalogue.listed().items()}
    for name in ("methods", "published"):
        parts[name] = parts[name].replace("], [", "],\n  [").replace("[[", "[\n  [").replace("]]", "]\n ]")
    return "{\n " + ",\n ".join(f'"{name}": {part}' for name, part in parts.items()) + "\n}\n"


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
