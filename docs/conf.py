"""Sphinx configuration. The tables of methods and theorems are made here, from the code, so they cannot go stale."""

import json
import math
import re
from importlib.resources import files
from pathlib import Path

from docutils import nodes

from tacit import __version__
from tacit.linear.losses import LOSSES, Logistic, Squared
from tacit.mechanisms import METHODS
from tacit.privacy.theorems import THEOREMS
from tacit.report import catalogue as survey
from tacit.types import Budget, Facts

HERE = Path(__file__).parent
# MathJax in one file: it draws formulas as outlines, so the pages need neither a network nor fonts, and can be opened
# from a disk. The package carries it; nothing of it is kept in this repository.
MATHJAX = files("sphinx-mathjax-offline") / "static" / "mathjax" / "tex-svg-full.js"
project = "Tacit"
author = "The Tacit authors"
copyright = "The Tacit authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
html_theme = "furo"
html_title = f"Tacit {__version__}"
html_static_path = ["_static", str(MATHJAX)]
html_css_files = ["tacit.css"]
mathjax_path = MATHJAX.name
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
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


def from_root(name):
    """A page that stands beside the README, with its links as they are from here."""
    text = (HERE.parent / f"{name}.md").read_text(encoding="utf-8")
    return text.replace("](docs/", "](").replace("](SECURITY.md", "](security.md")


def write_generated(app):
    """Write the tables where the pages include them."""
    folder = Path(app.srcdir) / "_build" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {
        "methods": methods_table(), "notes": methods_notes(), "theorems": theorems_table(),
        "contributing": from_root("CONTRIBUTING"), "security": from_root("SECURITY"),
    }.items():  # fmt: skip
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def notebook_page(text, name):
    """A notebook as Markdown: its words, its code, and what its cells printed when it was last run."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        printed = ["".join(output["text"]).rstrip() for output in cell.get("outputs", ()) if "text" in output]
        parts += [f"```{{code-block}} text\n:class: printed\n\n{words}\n```" for words in printed]
    parts.insert(1, f"This page is a notebook: {{download}}`download it <{name}>` to run it yourself.")
    return "\n\n".join(parts) + "\n"


def read_notebooks(app, page, source):
    """Notebooks are pages as well."""
    path = Path(app.env.doc2path(page))
    if path.suffix == ".ipynb":
        source[0] = notebook_page(source[0], path.name)


def keep_together(app, doctree, page):
    """No line begins with the comma after a formula, or ends with the bracket before one."""
    for formula in list(doctree.findall(nodes.math)):
        parent, place = formula.parent, formula.parent.index(formula)
        before, after = parent[place - 1 : place], parent[place + 1 : place + 2]
        opening = re.search(r"[(\[“]*$", before[0])[0] if before and isinstance(before[0], nodes.Text) else ""
        closing = re.match(r"[,.;:)\]”’]*", after[0])[0] if after and isinstance(after[0], nodes.Text) else ""
        if opening or closing:
            parts = nodes.Text(opening), formula.deepcopy(), nodes.Text(closing)
            whole = nodes.inline("", "", *parts, classes=["together"])
            if opening:
                parent.replace(before[0], nodes.Text(before[0].removesuffix(opening)))
            if closing:
                parent.replace(after[0], nodes.Text(after[0].removeprefix(closing)))
            parent.replace(formula, whole)


def plain_bars(app, what, name, obj, options, lines):
    """Docstrings write absolute values as |z|; for reStructuredText a bar opens a substitution."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def not_ours(app, what, name, obj, skip, options):
    """Methods that scikit-learn adds to every estimator are described there, and link to pages that are not here."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app):
    """Hook the helpers into the build."""
    app.connect("builder-inited", write_generated)
    app.connect("source-read", read_notebooks)
    app.connect("doctree-resolved", keep_together)
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-skip-member", not_ours)
