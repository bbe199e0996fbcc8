"""Every page of docs/ is in one part of the documentation; links lead to files and headings."""

from __future__ import annotations

import re
import sys

from support.checkout import ROOT

sys.path.insert(0, str(ROOT / "tools" / "docs_site"))

import navigation

PARTS = navigation.parts()
LISTED = [page.path for pages in PARTS.values() for page in pages]
NOTES = [page.path for page in navigation.notes()]
PAGES = ["README.md", navigation.INDEX, *LISTED, *NOTES]
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def test_there_are_four_parts():
    assert tuple(PARTS) == navigation.PARTS
    assert all(PARTS.values())


def test_each_page_is_in_one_part():
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    listed = [*LISTED, *NOTES]
    assert sorted(files - set(listed)) == [navigation.INDEX]
    assert sorted(path for path in listed if not (ROOT / path).is_file()) == []
    assert len(listed) == len(set(listed))


def test_each_row_of_the_tables_is_a_page_with_a_sentence():
    text = "".join((ROOT / path).read_text() for path in (navigation.INDEX, navigation.NOTES))
    rows = [line for line in text.splitlines() if re.match(r"\| \[", line)]
    assert len(rows) == len(LISTED) + len(NOTES)
    pages = [page for pages in [*PARTS.values(), navigation.notes()] for page in pages]
    assert [
        page.path for page in pages if not re.match(r"[A-Z`].{10,}[^.]$", page.description)
    ] == []


def test_links_lead_to_files_and_headings():
    assert broken_links() == []


def broken_links() -> list[str]:
    """Returns the links within the checkout without a file, or whose file lacks the heading."""
    broken = []
    for page in PAGES:
        text = FENCED.sub("", (ROOT / page).read_text(encoding="utf-8"))
        for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
            target, _, anchor = link.partition("#")
            file = ((ROOT / page).parent / target) if target else ROOT / page
            is_heading = not anchor or (file.suffix == ".md" and anchor in anchors(file))
            if not (file.is_file() and is_heading):
                broken.append(f"{page}: {link}")
    return broken


def anchors(file) -> set[str]:
    """Returns the anchors of a page's headings, as forges make them."""
    text = FENCED.sub("", file.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def test_llms_txt_is_current():
    assert (ROOT / "llms.txt").read_text(encoding="utf-8") == navigation.llms_text(), (
        "run: python tools/docs_site/navigation.py > llms.txt"
    )
