"""Long lists: only the rows in sight are in the page; others come when they are looked at."""

from __future__ import annotations

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect
from support.browser.conditions import wait_until
from support.eventually import eventually

import anabranch
from anabranch.testing.server import running_server

OBJECTS = 45_000  # more than the pages of a list that are kept
REMOVED = 3_000
MAX_ROWS_IN_PAGE = 100
PAGE = 1_000


@pytest.fixture(scope="module")
def library(tmp_path_factory, built):  # noqa: ARG001
    """A server whose repository `long` has one large folder, and many changes on `edited`."""
    folder = tmp_path_factory.mktemp("long")
    listing = folder / "listing.parquet"
    paths = [path(number) for number in range(OBJECTS)]
    columns = {
        "path": paths,
        "physical_address": [f"local://raw/{name}" for name in paths],
        "size": pa.array(range(OBJECTS)),
        "checksum": [f"{number:032x}" for number in range(OBJECTS)],
        "last_modified": pa.array([1_700_000_000_000_000] * OBJECTS, pa.timestamp("us", "UTC")),
    }
    pq.write_table(pa.table(columns), listing)
    with anabranch.open(folder / "data") as lake:
        lake.repositories.create("long", "local://long")
        lake.import_listing("long", "main", listing, verify="none")
        lake.branches.create("long", "edited", "main")
    with running_server(folder / "data") as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            for start in range(0, REMOVED, PAGE):
                removed = {"paths": paths[start : start + PAGE]}
                url = "/repositories/long/branches/edited/objects/delete"
                assert api.post(url, json=removed).is_success
        yield server


def path(number):
    return f"part-{number:06}.parquet"


def rows(page):
    return page.locator("[data-row]")


def test_a_large_folder_is_scrolled_to_its_end_and_back(open_page, library):
    page = open_page(library)
    page.goto("/repositories/long/objects?ref=main")
    first, last = (page.get_by_role("link", name=path(n)) for n in (0, OBJECTS - 1))
    expect(first).to_be_visible()
    viewport = page.locator(".viewport")

    def at_end():
        viewport.evaluate("element => { element.scrollTop = element.scrollHeight }")
        assert rows(page).count() <= MAX_ROWS_IN_PAGE
        return last.count()

    eventually(at_end)
    expect(last).to_be_visible()
    expect(page.get_by_text("45,000 entries")).to_be_visible()
    assert page.get_by_role("grid").get_attribute("aria-rowcount") == str(OBJECTS + 1)
    first_page = []
    page.on("request", lambda request: first_page.append(request.url))
    last.focus()
    page.keyboard.press("Home")  # whose rows have been forgotten meanwhile
    expect(first).to_be_focused()
    assert any("/objects/ls" in url for url in first_page)


@pytest.mark.slow  # test_keyboard.py moves by lines
def test_keys_move_by_pages(open_page, library):
    page = open_page(library)
    page.goto("/repositories/long/objects?ref=main")
    page.get_by_role("link", name=path(0)).focus()
    focused = "Number(document.activeElement.closest('[data-row]')?.dataset.row ?? -1)"
    row = 0
    for _ in range(3):
        page.keyboard.press("PageDown")
        wait_until(page, f"before => {focused} > before", row)
        row = page.evaluate(focused)
    assert row > 20
    expect(page.get_by_role("link", name=path(row))).to_be_focused()
    expect(page.get_by_role("link", name=path(row))).to_be_in_viewport()


@pytest.mark.slow  # a large folder above
def test_many_changes_are_counted_and_scrolled(open_page, library):
    page = open_page(library)
    page.goto("/repositories/long/changes?ref=edited")
    expect(page.get_by_text("3,000 removed").first).to_be_attached()
    expect(page.get_by_role("link", name=path(0))).to_be_visible()
    page.get_by_role("link", name=path(0)).focus()
    page.keyboard.press("End")
    expect(page.get_by_role("link", name=path(REMOVED - 1))).to_be_focused()
    assert rows(page).count() <= MAX_ROWS_IN_PAGE


def scroll_to(page, number):
    """Scrolls the list to a row, and waits until the place is kept."""
    top = "document.querySelector('[data-row]').offsetHeight * row"
    scroll = f"(element, row) => {{ element.scrollTop = {top} }}"

    places = "Object.values(history.state?.places ?? {})"
    kept = f"row => {places}.some((at) => Math.abs(at - row) < 2)"

    def is_there():
        page.locator(".viewport").evaluate(scroll, number)  # more rows are loaded on the way
        return page.evaluate(kept, number)

    eventually(is_there)
    expect(page.locator(f'[data-row="{number}"] a')).to_be_visible()


@pytest.mark.parametrize("again", ["back", "reload"])
@pytest.mark.parametrize(
    ("view", "row"), [("objects?ref=main", 8000), ("changes?ref=edited", 2000)]
)
@pytest.mark.slow  # a large folder above; where one was is in the browser's history
def test_list_is_where_it_was_when_one_comes_back(open_page, library, view, row, again):
    page = open_page(library)
    page.goto(f"/repositories/long/{view}")
    expect(page.get_by_role("link", name=path(0))).to_be_visible()
    scroll_to(page, row)
    link = page.get_by_role("link", name=path(row + 3))
    if again == "back":
        page.get_by_role("link", name="Branches", exact=True).click()
        expect(page.get_by_role("button", name="Create branch")).to_be_visible()
        page.go_back()
    else:
        page.reload()
    expect(link).to_be_in_viewport()
    assert rows(page).count() <= MAX_ROWS_IN_PAGE
    page.get_by_label("Search by prefix").fill("part-00")  # another list begins at its beginning
    expect(page.get_by_role("link", name=path(0))).to_be_in_viewport()


@pytest.mark.slow  # pages/test_data.py
def test_prefix_search_finds_what_is_far_away(open_page, library):
    page = open_page(library)
    page.goto("/repositories/long/objects?ref=main")
    page.get_by_label("Search by prefix").fill("part-04499")
    expect(rows(page)).to_have_count(10)
    expect(page.get_by_role("link", name=path(OBJECTS - 1))).to_be_visible()
