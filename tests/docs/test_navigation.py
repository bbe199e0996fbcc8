"""Every page of docs/ is in one part of the documentation."""

from __future__ import annotations

import re
import sys

from support.checkout import ROOT

sys.path.insert(0, str(ROOT / "tools" / "docs_site"))

import navigation

PARTS = navigation.parts()
LISTED = [page.path for pages in PARTS.values() for page in pages]
NOTES = [page.path for page in navigation.notes()]


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


def test_llms_txt_is_current():
    assert (ROOT / "llms.txt").read_text(encoding="utf-8") == navigation.llms_text(), (
        "run: make reference"
    )
