"""Several objects and folders of the data page: selected, moved and deleted together."""

from __future__ import annotations

import tarfile

import pytest
from playwright.sync_api import expect


@pytest.fixture
def repository(repository):
    for path in ("a.csv", "b.csv", "c.csv", "deep/d.csv", "deep/e/f.csv", "maps/world.png"):
        repository.put(path, path.encode())
    return repository


@pytest.fixture
def data(page, repository):
    """The page at the top folder of the branch `main`."""
    page.goto(f"/repositories/{repository.name}/objects?ref=main")
    expect(box(page, "a.csv")).to_be_visible()
    return page


def box(page, name):
    return page.get_by_role("checkbox", name=f"Select {name}", exact=True)


def bar(page):
    return page.get_by_role("region", name="Selection")


def entries(page):
    return page.get_by_role("grid", name="Objects").locator("[data-row] a")


def test_selected_objects_and_folders_are_deleted_together(data, repository):
    for name in ("a.csv", "c.csv", "deep/"):
        box(data, name).check()
    expect(bar(data)).to_contain_text("3 entries selected")
    bar(data).get_by_role("button", name="Delete").click()
    dialog = data.get_by_role("dialog", name="Delete 3 entries?")
    expect(dialog).to_contain_text("2 objects and all objects below 1 folder are removed from main")
    dialog.get_by_role("button", name="Delete").click()
    expect(data.get_by_text("4 objects deleted")).to_be_visible()
    expect(entries(data)).to_have_text(["b.csv", "maps/"])
    expect(bar(data)).to_have_count(0)
    assert repository.paths() == ["b.csv", "maps/world.png"]


@pytest.mark.slow  # a move that needs consent is below
def test_selected_objects_and_folders_move_into_a_folder(data, repository):
    box(data, "b.csv").check()
    box(data, "deep/").check()
    bar(data).get_by_role("button", name="Move").click()
    dialog = data.get_by_role("dialog", name="Move 2 entries")
    move = dialog.get_by_role("button", name="Move")
    expect(move).to_be_disabled()  # they are there
    dialog.get_by_label("Folder to move them to").fill("deep/e")
    expect(dialog).to_contain_text("deep/ cannot be moved into itself")
    expect(move).to_be_disabled()
    dialog.get_by_label("Folder to move them to").fill("/old")
    move.click()
    expect(data.get_by_text("3 objects moved to old/")).to_be_visible()
    expect(entries(data)).to_have_text(["a.csv", "c.csv", "maps/", "old/"])
    assert repository.paths() == [
        "a.csv",
        "c.csv",
        "maps/world.png",
        "old/b.csv",
        "old/deep/d.csv",
        "old/deep/e/f.csv",
    ]
    assert repository.get("old/deep/e/f.csv") == b"deep/e/f.csv"


def test_a_move_onto_an_object_needs_the_consent(data, repository):
    repository.put("old/b.csv", b"old")
    for name in ("a.csv", "b.csv", "c.csv"):
        box(data, name).check()
    bar(data).get_by_role("button", name="Move").click()
    dialog = data.get_by_role("dialog")
    dialog.get_by_label("Folder to move them to").fill("old")
    dialog.get_by_role("button", name="Move").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Not everything was moved")
    assert repository.get("old/b.csv") == b"old"
    dialog.get_by_role("button", name="Cancel").click()
    expect(entries(data)).to_have_text(["b.csv", "c.csv", "deep/", "maps/", "old/"])
    expect(bar(data)).to_have_count(0)
    box(data, "b.csv").check()
    bar(data).get_by_role("button", name="Move").click()
    dialog.get_by_label("Folder to move them to").fill("old/")
    dialog.get_by_label("Replace objects that are there").check()
    dialog.get_by_role("button", name="Move").click()
    expect(entries(data)).to_have_text(["c.csv", "deep/", "maps/", "old/"])
    assert repository.get("old/b.csv") == b"b.csv"


@pytest.mark.slow  # web/tests/pages/data/selection.test.ts
def test_a_range_is_selected_with_shift_and_everything_by_the_header(data):
    box(data, "b.csv").click()
    box(data, "maps/").click(modifiers=["Shift"])
    for name, is_selected in {"a.csv": False, "b.csv": True, "deep/": True, "maps/": True}.items():
        expect(box(data, name)).to_be_checked(checked=is_selected)
    everything = box(data, "all")
    expect(everything).to_be_checked(indeterminate=True)
    everything.check()
    expect(bar(data)).to_contain_text("5 entries selected")
    everything.uncheck()
    expect(bar(data)).to_have_count(0)
    box(data, "a.csv").check()
    bar(data).get_by_role("button", name="Clear").click()
    expect(box(data, "a.csv")).not_to_be_checked()


@pytest.mark.slow  # web/tests/pages/data/selection.test.ts
def test_the_selection_ends_with_the_folder_the_search_and_the_branch(data, repository):
    repository.commit()
    repository.branch("dev")

    def select_and_go(go):
        box(data, "a.csv").check()
        expect(bar(data)).to_contain_text("1 entry selected")
        go()
        expect(bar(data)).to_have_count(0)

    select_and_go(data.get_by_role("link", name="deep/").click)
    expect(entries(data)).to_have_text(["d.csv", "e/"])
    data.go_back()
    select_and_go(lambda: data.get_by_label("Search by prefix").fill("a"))
    expect(entries(data)).to_have_text(["a.csv"])
    select_and_go(lambda: data.goto(f"/repositories/{repository.name}/objects?ref=dev"))
    expect(box(data, "a.csv")).not_to_be_checked()


def files(download):
    with tarfile.open(download.path()) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive}


def test_selected_objects_and_folders_are_downloaded_as_one_archive(data, repository):
    box(data, "a.csv").check()
    box(data, "deep/").check()
    with data.expect_download() as download:
        bar(data).get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == f"{repository.name}-main.tar"
    assert files(download.value) == {
        path: path.encode() for path in ("a.csv", "deep/d.csv", "deep/e/f.csv")
    }


def test_what_cannot_be_changed_can_be_downloaded_only(page, repository):
    repository.commit()
    page.goto(f"/repositories/{repository.name}/objects?ref={repository.head()['id']}")
    box(page, "a.csv").check()
    expect(bar(page).get_by_role("link", name="Download")).to_be_visible()
    expect(bar(page).get_by_role("button")).to_have_text(["Clear"])
    page.get_by_role("button", name="Actions on deep/", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Download as TAR").click()
    assert files(download.value) == {"deep/d.csv": b"deep/d.csv", "deep/e/f.csv": b"deep/e/f.csv"}


def test_the_marker_of_the_folder_itself_is_not_selected_with_what_is_in_it(page, repository):
    repository.put("deep/", b"")
    page.goto(f"/repositories/{repository.name}/objects?ref=main&path=deep%2F")
    expect(entries(page)).to_have_text(["(folder marker)", "d.csv", "e/"])
    box(page, "all").check()
    expect(bar(page)).to_contain_text("2 entries selected")
    expect(page.get_by_role("checkbox")).to_have_count(3)
