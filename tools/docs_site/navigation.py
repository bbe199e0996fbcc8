"""The order of the documentation: the tables of docs/README.md, whose sections are the four parts.

The site's navigation (`conf.py`) and `llms.txt` are made from these tables. A page that is an index
itself, as the design notes' is, has a table of the same form.

    python tools/docs_site/navigation.py > llms.txt
"""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["INDEX", "PARTS", "Page", "llms_text", "notes", "parts", "relative"]

ROOT = Path(__file__).parents[2]
INDEX = "docs/README.md"
NOTES = "docs/design/README.md"
PARTS = ("Tutorial", "How-to guides", "Reference", "Explanation")

_ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)]+\.md)\) \| (.+) \|$", re.MULTILINE)
_SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)+)", re.MULTILINE)

_HEAD = """\
# Anabranch

> Git for data lakes: branches, commits, merges and tags over any number of objects, in a folder or
> an object store, through the REST API of lakeFS, S3, a command line, a Python library and Spark.

A program that changes data on a user's behalf begins with [AGENTS.md](AGENTS.md). Data are never
changed on `main` directly: work on a branch, compare, then merge. [README.md](README.md) is the
overview.
"""


@dataclass(frozen=True)
class Page:
    """A page: its path in the checkout, the title and the sentence that its index gives it."""

    path: str
    title: str
    description: str


def parts(root: Path = ROOT) -> dict[str, list[Page]]:
    """Returns the pages of each part, in the order of docs/README.md."""
    text = (root / INDEX).read_text(encoding="utf-8")
    return {title: _rows(INDEX, rows) for title, rows in _SECTION.findall(text)}


def notes(root: Path = ROOT) -> list[Page]:
    """Returns the design notes, which the page of design notes lists."""
    return _rows(NOTES, (root / NOTES).read_text(encoding="utf-8"))


def relative(page: Page, index: str) -> str:
    """Returns the link from an index to a page without its ending, as for Sphinx's toctree."""
    return os.path.relpath(page.path, Path(index).parent).removesuffix(".md")


def llms_text(root: Path = ROOT) -> str:
    """Returns `llms.txt` (https://llmstxt.org): each page with a sentence."""
    sections = {**parts(root), "Optional": notes(root)}
    return "\n".join([_HEAD, *(_section(*section) for section in sections.items())])


def _section(title: str, pages: list[Page]) -> str:
    lines = [f"- [{page.title}]({page.path}): {page.description}" for page in pages]
    return "\n".join([f"## {title}", "", *lines, ""])


def _rows(index: str, text: str) -> list[Page]:
    folder = Path(index).parent
    return [
        Page(os.path.normpath(folder / link), title, description)
        for title, link, description in _ROW.findall(text)
    ]


if __name__ == "__main__":
    print(llms_text(), end="")
