"""The data page: references, folders, search, and what can be done with objects."""

from __future__ import annotations

import re
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import expect


@pytest.fixture
def repository(repository):
    """A repository with a commit, a tag, a branch and an uncommitted change."""
    repository.put("README.md", b"# The sea\n")
    repository.put("depth/atlantic.csv", b"place,metres\nMilwaukee,8376\n")
    repository.put("depth/pacific/mariana.csv", b"place,metres\nMariana,10935\n")
    repository.put("maps/world.png", b"\x89PNG")
    repository.commit("First depths")
    tag = {"id": "v1", "ref": "main"}
    assert repository.api.post(f"{repository.path}/tags", json=tag).is_success
    repository.branch("dev:fix-1")
    repository.put("depth/indian.csv", b"Java,7192\n")
    return repository


def open_data(page, repository, ref="main", path="", **more):
    query = "&".join(
        f"{name}={quote(value, safe='')}"
        for name, value in {"ref": ref, "path": path, **more}.items()
    )
    page.goto(f"/repositories/{repository.name}/objects?{query}")


def entries(page):
    return page.get_by_role("grid", name="Objects").locator("[data-row] a")


def act(page, name, action):
    page.get_by_role("button", name=f"Actions on {name}", exact=True).click()
    page.get_by_role("menuitem", name=action).click()


def test_folders_open_and_breadcrumbs_lead_back(page, repository):
    open_data(page, repository)
    expect(entries(page)).to_have_text(["README.md", "depth/", "maps/"])
    page.get_by_role("link", name="depth/").click()
    expect(entries(page)).to_have_text(["atlantic.csv", "indian.csv", "pacific/"])
    page.get_by_role("link", name="pacific/").click()
    expect(entries(page)).to_have_text(["mariana.csv"])
    page.get_by_role("navigation", name="Folders").get_by_role("link", name="depth").click()
    expect(entries(page)).to_have_text(["atlantic.csv", "indian.csv", "pacific/"])
    page.go_back()
    expect(entries(page)).to_have_text(["mariana.csv"])
    page.reload()
    expect(entries(page)).to_have_text(["mariana.csv"])


@pytest.mark.slow  # web/tests/router
def test_folder_of_a_link_without_slash_is_shown(page, repository):
    open_data(page, repository, path="depth")
    expect(entries(page)).to_have_text(["atlantic.csv", "indian.csv", "pacific/"])


def test_prefix_search_filters_and_stays_in_the_address(page, repository):
    open_data(page, repository, path="depth/")
    page.get_by_label("Search by prefix").fill("p")
    expect(entries(page)).to_have_text(["pacific/"])
    expect(page).to_have_url(re.compile("prefix=p"))
    page.get_by_label("Search by prefix").fill("nothing")
    expect(page.get_by_text("Nothing here begins with “nothing”")).to_be_visible()


@pytest.mark.slow  # other pages use it
def test_reference_selector_offers_branches_tags_and_commits(page, repository):
    open_data(page, repository, path="depth/")
    page.get_by_role("button", name="Reference: main").click()
    panel = page.get_by_role("dialog", name="Reference")
    expect(panel.get_by_role("option")).to_have_count(3)
    panel.get_by_role("option", name="v1").click()
    expect(entries(page)).to_have_text(["atlantic.csv", "pacific/"])
    expect(page.get_by_role("button", name="Upload")).to_have_count(0)
    page.get_by_role("button", name="Reference: v1").click()
    page.get_by_role("combobox").fill("main~1")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("ref=main%7E1|ref=main~1"))
    expect(page.get_by_text("There are no objects")).to_be_visible()


def test_missing_reference_is_told(page, repository):
    open_data(page, repository, ref="no-such-branch")
    expect(page.get_by_role("alert")).to_contain_text("There is nothing at “no-such-branch”")


@pytest.mark.slow  # web/tests/format/addresses.test.ts
def test_addresses_are_copied(page, repository):
    open_data(page, repository, path="depth/")
    for action, expected in (
        ("Copy URI", f"lakefs://{repository.name}/main/depth/atlantic.csv"),
        ("Copy S3 URI", f"s3://{repository.name}/main/depth/atlantic.csv"),
    ):
        act(page, "atlantic.csv", action)
        expect(page.get_by_text(f"{action[5:]} copied").last).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == expected


def test_presigned_link_reads_the_object_without_a_session(page, repository):
    open_data(page, repository, path="depth/")
    act(page, "atlantic.csv", "Copy presigned link")
    expect(page.get_by_text("Presigned link copied")).to_be_visible()
    url = page.evaluate("navigator.clipboard.readText()")
    assert httpx2.get(url).content == b"place,metres\nMilwaukee,8376\n"


def test_object_is_downloaded(page, repository):
    open_data(page, repository, path="depth/")
    with page.expect_download() as download:
        act(page, "atlantic.csv", "Download")
    assert download.value.path().read_bytes() == b"place,metres\nMilwaukee,8376\n"


def test_object_is_renamed_without_its_bytes(page, repository):
    open_data(page, repository, path="depth/")
    act(page, "indian.csv", "Rename or move")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New path").fill("deep/java.csv")
    dialog.get_by_role("button", name="Rename").click()
    expect(entries(page)).to_have_text(["atlantic.csv", "pacific/"])
    assert repository.get("deep/java.csv") == b"Java,7192\n"


def test_rename_onto_an_object_needs_the_consent(page, repository):
    open_data(page, repository, path="depth/")
    act(page, "indian.csv", "Rename or move")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New path").fill("depth/atlantic.csv")
    dialog.get_by_role("button", name="Rename").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Nothing was moved")
    assert repository.get("depth/atlantic.csv").startswith(b"place")
    dialog.get_by_label("Replace objects that are there").check()
    dialog.get_by_role("button", name="Rename").click()
    expect(entries(page)).to_have_text(["atlantic.csv", "pacific/"])
    assert repository.get("depth/atlantic.csv") == b"Java,7192\n"


@pytest.mark.slow  # as an object; the API does it
def test_folder_is_renamed_with_all_below(page, repository):
    open_data(page, repository)
    act(page, "depth/", "Rename or move")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New path").fill("deep")
    dialog.get_by_role("button", name="Rename").click()
    expect(page.get_by_text("3 objects moved to deep/")).to_be_visible()
    expect(entries(page)).to_have_text(["README.md", "deep/", "maps/"])
    assert "deep/pacific/mariana.csv" in repository.paths()


def test_object_and_folder_are_deleted(page, repository):
    open_data(page, repository)
    act(page, "README.md", "Delete object")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(entries(page)).to_have_text(["depth/", "maps/"])
    act(page, "depth/", "Delete folder")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("3 objects deleted")).to_be_visible()
    expect(entries(page)).to_have_text(["maps/"])
    assert repository.paths() == ["maps/world.png"]


@pytest.mark.slow  # uploads make folders
def test_new_folder_is_there_and_empty(page, repository):
    open_data(page, repository)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="New folder").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("charts")
    dialog.get_by_role("button", name="Create folder").click()
    expect(page).to_have_url(re.compile("path=charts%2F"))
    open_data(page, repository)
    expect(entries(page)).to_have_text(["README.md", "charts/", "depth/", "maps/"])


@pytest.mark.slow  # a figure of the API
def test_size_of_a_folder_is_calculated(page, repository):
    open_data(page, repository)
    act(page, "depth/", "Calculate size")
    expect(page.get_by_role("dialog")).to_contain_text("65 B in 3 objects")


def test_readme_is_shown_below_the_listing(page, repository):
    open_data(page, repository)
    expect(page.get_by_role("region", name="README.md")).to_contain_text("The sea")


@pytest.mark.slow  # pages/test_changes.py
def test_uncommitted_changes_are_pointed_out(page, repository):
    open_data(page, repository)
    page.get_by_role("link", name="Uncommitted changes").click()
    expect(page).to_have_url(re.compile("/changes.ref=main"))
    open_data(page, repository, showChanges="true")  # an address of lakeFS's pages
    expect(page).to_have_url(re.compile("/changes.ref=main"))


@pytest.mark.slow  # pages/test_compare.py has two browsers
def test_second_browser_sees_the_truth_after_refresh(open_page, site, repository):
    first, second = open_page(site), open_page(site)
    open_data(first, repository)
    open_data(second, repository)
    expect(entries(second)).to_have_count(3)
    act(first, "README.md", "Delete object")
    first.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(entries(first)).to_have_text(["depth/", "maps/"])
    act(second, "README.md", "Rename or move")
    second.get_by_role("dialog").get_by_label("New path").fill("NOTES.md")
    second.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(second.get_by_role("dialog").get_by_role("alert")).to_contain_text("Nothing was moved")
    second.keyboard.press("Escape")
    second.get_by_role("button", name="More actions").click()
    second.get_by_role("menuitem", name="Refresh").click()
    expect(entries(second)).to_have_text(["depth/", "maps/"])
