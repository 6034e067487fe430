"""Sphinx configuration. The table of methods is written here, from the code, so that it cannot go stale."""

import math
import re
from pathlib import Path

from tacit import __version__
from tacit.linear.losses import LOSSES, Logistic, Squared
from tacit.mechanisms import METHODS
from tacit.privacy.theorems import THEOREMS
from tacit.report import catalogue as survey
from tacit.types import Budget, Facts

HERE = Path(__file__).parent
project = "Tacit"
author = "The Tacit authors"
copyright = "The Tacit authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Tacit {__version__}"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
add_module_names = False


def theorem_of(method):
    """The theorem that a method's price rests on, read from a plan without noise. No records are involved."""
    loss = Logistic() if "logistic" in method.losses else Squared()
    facts = Facts(records=1000, features=10, outputs=1, radius=1.0, loss=loss)
    return method.mechanism.calibrate(Budget(math.inf, 1e-6), facts, None, "proven").theorem


def link(key):
    """A theorem's key, linked to its page (tests/test_docs.py sees to it that there is one)."""
    found = [
        page for page in (f"theorems/{THEOREMS[key].page}.md", f"{THEOREMS[key].page}.md") if (HERE / page).exists()
    ]
    return f"[{key}]({found[0]})" if found else key


def methods_table():
    """One row a method, as a Markdown table."""
    lines = ["| name | paper | noise in | losses | adjacency | status | theorem |", "| --- " * 7 + "|"]
    for method in METHODS.values():
        known, key = survey.entry(method), theorem_of(method)
        losses = "all" if len(method.losses) == len(LOSSES) else ", ".join(method.losses)
        page = link(key)
        adjacency = "both" if known.both else "replace-one"
        cells = [f"`{method.name}`", method.paper, method.mechanism.site, losses, adjacency, known.status, page]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def methods_notes():
    """What each method does, in its own words."""
    return "".join(f"`{name}`\n: {method.about}.\n\n" for name, method in METHODS.items())


def theorems_table():
    """One row a theorem that a guarantee may cite."""
    lines = ["| theorem | statement | reference | status |", "| --- " * 4 + "|"]
    for key, row in THEOREMS.items():
        statement = row.statement.replace("|", r"\|")
        lines.append(f"| {link(key)} | {statement} | {row.reference} | {row.status} |")
    return "\n".join(lines) + "\n"


def write_generated(app):
    """Write the tables where the pages include them."""
    folder = Path(app.srcdir) / "_build" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("methods", methods_table()), ("notes", methods_notes()), ("theorems", theorems_table())):
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def plain_bars(app, what, name, obj, options, lines):
    """Docstrings write absolute values as |z|; for reStructuredText a bar opens a substitution."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def not_ours(app, what, name, obj, skip, options):
    """Methods that scikit-learn adds to every estimator are described there, and link to pages that are not here."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app):
    """Hook the helpers into the build."""
    app.connect("builder-inited", write_generated)
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-skip-member", not_ours)
