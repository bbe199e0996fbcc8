"""What notebooks show of pages, read back by the standard library's HTML parser."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import anabranch
from anabranch.files.html_table import MAX_CELL_CHARACTERS, MAX_ROWS
from anabranch.model.page import Page

HOSTILE = "<script>alert('x')</script>&amp;\"onload=\u202eevil\x00"


class Parsed(HTMLParser):
    """The tags of a page, and its rows as texts of cells."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.rows, self.text, self.in_cell = set(), [], "", False
        self.feed(page._repr_html_())

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self.in_cell = False

    def handle_data(self, data):
        self.text += data
        if self.in_cell:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with anabranch.open(tmp_path_factory.mktemp("lake"), committer="ada") as lake:
        lake.repositories.create("sea")
        lake.objects.upload("sea", "main", "depth.csv", [b"place,metres\nMariana,10935\nTonga,1\n"])
        lake.commits.commit("sea", "main", message=HOSTILE)
        lake.branches.create("sea", "dev", "main")
        text = "place,metres\nMariana,10920\n<b>Kermadec</b>,10047\n"
        lake.objects.upload("sea", "dev", "depth.csv", [text.encode()])
        lake.objects.upload("sea", "dev", "<img src=x>.txt", [b"1"])
        lake.commits.commit("sea", "dev", message="Measured again")
        yield lake


def test_changes_are_shown_with_their_paths_and_sizes(lake):
    parsed = Parsed(lake.refs.diff("sea", "main", "dev", amount=10))
    assert parsed.rows == [
        ["kind", "path", "bytes before", "bytes after"],
        ["added", "<img src=x>.txt", "", "1"],
        ["changed", "depth.csv", "35", "49"],
    ]
    assert parsed.tags == {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert parsed.text.endswith("2 items")


def test_rows_are_shown_with_what_differs(lake):
    page = lake.refs.diff_rows("sea", "main", "dev", "depth.csv", key=["place"], amount=10)
    parsed = Parsed(page)
    assert parsed.rows == [
        ["", "place", "metres"],
        ["added", "<b>Kermadec</b>", "10047"],
        ["changed", "Mariana", "10935 → 10920"],
        ["removed", "Tonga", "1"],
    ]
    assert "b" not in parsed.tags


def test_content_never_becomes_markup(lake):
    shown = Page([HOSTILE, f"{HOSTILE}2"])._repr_html_()
    assert "<script" not in shown
    parsed = Parsed(lake.commits.log("sea", "main", amount=10))
    assert "script" not in parsed.tags
    assert "<script>alert('x')</script>&amp;\"onload=\\u202eevil\\u0000" in parsed.text


def test_rows_and_cells_are_bounded():
    page = Page([{"a": 1}] * (MAX_ROWS + 1), has_more=True)
    parsed = Parsed(page)
    assert len(parsed.rows) == 1 + MAX_ROWS
    assert parsed.text.endswith(f"50 of {MAX_ROWS + 1} items, and more that are not in this page")
    long = Parsed(Page(["x" * 10_000]))
    assert len(long.rows[1][0]) == MAX_CELL_CHARACTERS


def test_an_empty_page_is_shown_as_such():
    assert Page([])._repr_html_() == "<div><p>0 items</p></div>"
