"""The site: documents, notebooks and docstrings as pages, by `scripts/python site`. Sphinx reads a copy of the tree, whose pages are where they are in it."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref

import surety_dp as surety

TREE = Path(__file__).resolve().parent  # the copy of the tree

#: The names of the package are on the pages of the reference, each once.
_pages = " ".join(path.read_text() for path in sorted((TREE / "bindings/python/reference").glob("*.rst"))).split()
for _name in surety.__all__:
    assert _name == "__version__" or _pages.count(f"surety_dp.{_name}") == 1, f"bindings/python/reference has {_name} {_pages.count(f'surety_dp.{_name}')} times, must have it once"

project = "Surety"
author = "Surety"
version = release = surety.__version__
language = "en"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
include_patterns = ["index.md", "folders.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "*/README.md", "research/*/README.md", "examples/data/README.md", "examples/notebooks/README.md", "docs/**.md", "examples/notebooks/*.ipynb", "bindings/python/reference/*.rst"]
exclude_patterns = ["site/README.md"]

html_theme = "furo"
html_title = f"Surety {version}"
html_static_path = ["site/static"]
html_css_files = ["surety.css"]
html_show_sphinx = html_show_copyright = html_copy_source = False

myst_heading_anchors = 6
nb_execution_mode = "off"  # scripts/python frames runs the notebooks
nb_merge_streams = True

# What is not installed here is not needed to read docstrings.
autodoc_mock_imports = ["dp_accounting", "opacus", "prv_accountant", "pyarrow", "pyspark", "scipy", "sklearn", "torch"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100

#: Folders of documents whose README lists them: the menu lists them below it.
FOLDERS = ("docs/decisions/README", "docs/proofs/README", "docs/results/README")
NAME = re.compile(r'<a name="([^"]+)">$')


def add_menu(app, docname, source):
    """Lists the pages of a folder below its README."""
    if docname in FOLDERS:
        source[0] += "\n\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
    if docname == "examples/notebooks/README":
        source[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(re.findall(r"\]\((\w+)\.ipynb\)", source[0])) + "\n```\n"
    if docname == "folders":
        rooms = sorted(page for page in app.env.found_docs if page.endswith("/README") and not page.startswith(("docs/", "examples/notebooks/")))
        source[0] += "\n\n```{toctree}\n\n" + "\n".join(rooms) + "\n```\n"


def find_names(app, doctree):
    """Links within a page, and languages of blocks. Anchors `<a name="x"></a>`, to which links go: a section has the name as an identifier, and another place becomes a target."""
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for raw in list(doctree.findall(nodes.raw)):
        found = NAME.match(raw.astext())
        if not found:
            continue
        name, parent = found[1], raw.parent
        end = parent[parent.index(raw) + 1] if parent.index(raw) + 1 < len(parent) else None
        if isinstance(end, nodes.raw) and end.astext() == "</a>":
            parent.remove(end)
        if isinstance(parent, nodes.title):
            parent.remove(raw)
            section = parent.parent
            if name not in section["ids"]:
                section["ids"].append(name)
            slugs[name] = (raw.line or 0, name, parent.astext())
        else:
            parent.replace(raw, nodes.target("", "", ids=[name]))
            slugs[name] = (raw.line or 0, name, name)
    for link in list(doctree.findall(pending_xref)):
        if link.get("reftype") == "myst" and link["reftarget"] in slugs:  # `[text](#x)`: x of this page, whatever has that name elsewhere
            link.replace_self(nodes.reference("", "", *link.children, refid=slugs[link["reftarget"]][1], internal=True))
        elif link.get("reftype") == "myst" and (TREE / app.env.docname).parent.joinpath(link["reftarget"]).is_dir():
            link.replace_self(link.children)  # a folder has no page
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") == "sh" and block.astext().startswith("$ "):
            block["language"] = "console"  # a transcript: commands and what they print
        elif block.get("language") == "mermaid":
            block["language"] = "text"


def setup(app):
    app.connect("source-read", add_menu)
    app.connect("doctree-read", find_names, priority=100)  # before titles are collected
    return {"parallel_read_safe": True, "parallel_write_safe": True}
