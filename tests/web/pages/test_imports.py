"""Imports: progress, the commit, errors, and cancelling."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect


@pytest.fixture
def folder(tmp_path):
    """A folder with files, and its address."""
    for name in ("a.csv", "b.csv", "deep/c.csv"):
        file = tmp_path / "raw" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return f"local://{tmp_path}/raw/"


def open_import(page, repository):
    page.goto(f"/repositories/{repository.name}/objects?ref=main")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Import objects").click()
    return page.get_by_role("dialog", name="Import to main")


def test_folder_is_imported_with_a_commit(page, repository, folder):
    dialog = open_import(page, repository)
    dialog.get_by_label("Source", exact=True).fill(folder)
    dialog.get_by_label("Destination").fill("raw/")
    dialog.get_by_label("Commit message").fill("Bring in the raw files")
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("3 objects imported")).to_be_visible()
    expect(page.get_by_role("grid").get_by_role("link")).to_have_text(["raw/"])
    assert repository.paths() == ["raw/a.csv", "raw/b.csv", "raw/deep/c.csv"]
    assert repository.head()["message"] == "Bring in the raw files"


def test_source_that_is_not_allowed_is_told(page, repository):
    dialog = open_import(page, repository)
    dialog.get_by_label("Source", exact=True).fill("local:///etc/")
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Nothing was imported")
    dialog.get_by_label("Source", exact=True).fill("nonsense")
    expect(dialog.get_by_text("This server imports from addresses such as")).to_be_visible()


@pytest.fixture
def long_import(page, repository, tmp_path):
    """The dialog of an import that takes seconds, which is under way."""
    many = tmp_path / "many"
    many.mkdir()
    for number in range(1000):
        (many / f"{number}").touch()

    def lengthen(route):
        """Has the server import the folder a thousand times."""
        if route.request.method != "POST":
            return route.continue_()
        creation = route.request.post_data_json
        [location] = creation["paths"]
        paths = [{**location, "destination": f"{number}/"} for number in range(1000)]
        return route.continue_(post_data={**creation, "paths": paths})

    page.route("**/branches/main/import*", lengthen)
    dialog = open_import(page, repository)
    dialog.get_by_label("Source", exact=True).fill(f"local://{many}/")
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog.get_by_role("progressbar", name="Importing")).to_be_visible()
    return dialog


def test_import_is_cancelled(page, repository, long_import):
    head = repository.head()["id"]
    long_import.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("The import was cancelled")).to_be_visible()
    assert repository.head()["id"] == head


@pytest.mark.slow  # so is one that is looked at, above
def test_import_in_the_background_is_cancelled(page, repository, long_import):
    head = repository.head()["id"]
    long_import.get_by_role("button", name="Continue in the background").click()
    background = page.get_by_role("region", name="In the background")
    expect(background).to_contain_text("Importing to main")
    background.get_by_role("button", name="Cancel").click()
    expect(background).to_contain_text("The import to main was cancelled")
    assert repository.head()["id"] == head


@pytest.mark.slow  # the order of two answers
def test_cancelled_import_is_told_before_the_response_to_the_cancellation(
    page, repository, long_import
):
    """The page may learn first that the import has ended with an error."""
    head = repository.head()["id"]
    held = []

    def hold(route):
        if route.request.method != "DELETE":
            return route.fallback()
        return held.append((route, route.fetch()))

    page.route("**/branches/main/import*", hold)
    long_import.get_by_role("button", name="Continue in the background").click()
    background = page.get_by_role("region", name="In the background")
    background.get_by_role("button", name="Cancel").click()
    expect(background).to_contain_text("The import to main was cancelled")
    expect(background.get_by_role("alert")).to_have_count(0)
    [(route, response)] = held
    route.fulfill(response=response)
    assert repository.head()["id"] == head
