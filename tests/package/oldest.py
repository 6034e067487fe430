"""Print the oldest versions that pyproject.toml allows, as constraints for pip: what `make package` also installs.

python tests/package/oldest.py [EXTRA ...]
"""

import re
import sys
import tomllib
from pathlib import Path


def oldest(requirement: str) -> str:
    """The requirement with its lower bound as the only version: ``numpy>=1.26`` becomes ``numpy==1.26.*``."""
    found = re.fullmatch(r"([\w.-]+)(\[[^]]*\])?>=([\d.]+)(,<[\d.]+)?(\s*;.*)?", requirement)
    if not found:
        sys.exit(f"oldest: {requirement!r} in pyproject.toml has no lower bound that can be read.")
    return f"{found[1]}=={found[3]}.*{found[5] or ''}"


def main() -> None:
    """The core's requirements, and those of the extras that are named."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][name] for name in sys.argv[1:])]
    print(*dict.fromkeys(oldest(requirement) for names in lists for requirement in names), sep="\n")


if __name__ == "__main__":
    main()
