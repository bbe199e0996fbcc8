"""Sphinx's configuration of the documentation site, whose source is the checkout itself.

Pages keep the paths and links that they have on a forge. Only the pages that docs/README.md lists,
and the project's README as the first page, are read. For `make docs` every warning is an error: a
link without a target, or a page in docs/ that is in no part, ends the build.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

import navigation

project = "Anabranch"
html_title = "Anabranch"
extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6b70", "color-brand-content": "#0b6b70"},
    "dark_css_variables": {"color-brand-primary": "#5cc4c4", "color-brand-content": "#5cc4c4"},
}
html_static_path = ["static"]
html_css_files = ["wide_tables.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False  # pages stand beside their HTML with their own names: see below
templates_path: list[str] = []
myst_heading_anchors = 4  # the anchors of a forge
suppress_warnings = [
    "misc.highlighting_failure"
]  # Pygments' EBNF lacks the characters of W3C's, #x20

LISTED = [page for pages in navigation.parts().values() for page in pages]
OUTSIDE = [page.path for page in LISTED if not page.path.startswith("docs/")]
include_patterns = ["README.md", "docs/**", *OUTSIDE]
exclude_patterns = [
    ".*",
    "kernel",
    "site",
    "src",
    "target",
    "tests",
    "web",
]  # not searched for pages


def add_navigation(_app: Sphinx, name: str, content: list[str]) -> None:
    """Adds hidden tables of contents to the first page, one for each part, and to the notes."""
    if name == "README":
        content[0] += _tree("README.md", [navigation.Page(navigation.INDEX, "All pages", "")])
        for title, pages in navigation.parts().items():
            content[0] += _tree("README.md", pages, title)
    elif name == navigation.NOTES.removesuffix(".md"):
        content[0] += _tree(navigation.NOTES, navigation.notes())


def add_texts(app: Sphinx, error: Exception | None) -> None:
    """Puts llms.txt, the text of each page beside its HTML, and the first page into the site."""
    if error or app.builder.name != "html":
        return
    out = Path(app.outdir)
    for name in app.env.found_docs:
        shutil.copyfile(navigation.ROOT / f"{name}.md", out / f"{name}.md")
    (out / "llms.txt").write_text(navigation.llms_text(), encoding="utf-8")
    shutil.copyfile(out / "README.html", out / "index.html")


def _tree(index: str, pages: list[navigation.Page], caption: str = "") -> str:
    title = f":caption: {caption}\n" if caption else ""
    names = "\n".join(f"{page.title} <{navigation.relative(page, index)}>" for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n{title}\n{names}\n```\n"


def setup(app: Sphinx) -> None:
    """Registers what is added to pages and to the site."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", add_texts)
