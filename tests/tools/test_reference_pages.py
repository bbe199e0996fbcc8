"""The pages that are made from the code say what the code says."""

from __future__ import annotations

import sys

import pytest
from support.checkout import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from reference_pages.__main__ import main
from reference_pages.marked_tables import markdown_table, with_tables
from reference_pages.pages import PAGES, current, tables_of


def page_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name):
    assert page_of(name) == current(name, page_of(name), ROOT), "run: make reference"


@pytest.mark.parametrize("name", [name for name in PAGES if name != "docs/commands.md"])
def test_a_row_that_is_not_current_is_replaced_and_the_text_around_it_stays(name):
    page = page_of(name)
    tables = tables_of(name, ROOT)
    for table in tables.values():
        stale = page.replace(table.splitlines()[-1], "| old |")
        assert stale != page
        assert with_tables(stale, tables) == page


def test_all_pages_of_a_folder_are_written(tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    for name in PAGES:
        (tmp_path / name).write_text(page_of(name), encoding="utf-8")
    stale = tmp_path / "docs/settings.md"
    stale.write_text(page_of("docs/settings.md").replace("| list |", "| text |"), encoding="utf-8")
    assert main(tmp_path) == 0
    assert capsys.readouterr().out == "wrote docs/settings.md\n"
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in PAGES} == {
        name: page_of(name) for name in PAGES
    }


@pytest.mark.parametrize(
    "page",
    [
        "",
        "<!-- depths: begin -->\n",
        "<!-- depths: end -->\n",
        "<!-- depths: end --><!-- depths: begin -->",
    ],
)
def test_a_page_without_both_marks_is_refused(page):
    with pytest.raises(ValueError, match="no marks <!-- depths: begin -->"):
        with_tables(page, {"depths": "| a |"})


def test_a_table_stands_between_its_marks():
    table = markdown_table(("Place", "Depth"), [("`a`", "1"), ("b", "2")])
    page = "# Depths\n<!-- depths: begin -->\nold\n<!-- depths: end -->\nEnd.\n"
    rows = "| Place | Depth |\n| --- | --- |\n| `a` | 1 |\n| b | 2 |"
    assert with_tables(page, {"depths": table}) == page.replace("old", rows)
