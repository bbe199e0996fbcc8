"""The page of an object: its history, what is known about it, its metadata."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from support.repository_calls import call


@pytest.fixture
def charted(repository):
    repository.put("depth/mariana.csv", b"metres\n10935\n")
    repository.commit("First depths")
    repository.put("other.csv")
    repository.commit("Something else")
    repository.put("depth/mariana.csv", b"metres\n10920\n")
    repository.commit("Measured again")
    return repository


def open_object(page, repository, tab="", ref="main", path="depth/mariana.csv"):
    page.goto(f"/repositories/{repository.name}/object?ref={ref}&path={path}&tab={tab}")


def test_preview_shows_the_content(page, charted):
    open_object(page, charted)
    expect(page.get_by_role("main")).to_contain_text("10920")


def test_history_has_the_commits_that_changed_it_and_its_versions(page, charted):
    open_object(page, charted, "history")
    rows = page.get_by_role("table", name="History of depth/mariana.csv").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("Measured again")
    expect(rows.nth(0)).to_contain_text("last change")
    expect(rows.nth(1)).to_contain_text("First depths")
    rows.nth(1).get_by_role("link", name=re.compile("The object at commit")).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").first.click()
    assert download.value.path().read_bytes() == b"metres\n10935\n"


def test_two_versions_are_compared_and_one_is_restored_after_the_object_was_removed(page, charted):
    newer, first = (
        commit["id"]
        for commit in call(charted, "GET", "refs/main/commits", objects="depth/mariana.csv")[
            "results"
        ]
    )
    open_object(page, charted, "history")
    for commit in (newer, first):
        page.get_by_role("checkbox", name=f"Compare the version at {commit[:12]}").check()
    compared = page.get_by_role("region", name="Compared versions")
    expect(compared.get_by_role("heading")).to_have_text(f"{first[:12]} → {newer[:12]}")
    rows = compared.get_by_role("region", name="Rows that differ").locator("tbody tr")
    expect(rows.first).to_contain_text("109")
    page.reload()
    expect(compared.get_by_role("heading")).to_have_text(f"{first[:12]} → {newer[:12]}")

    charted.delete("depth/mariana.csv")
    charted.commit("Away")
    open_object(page, charted)
    page.get_by_role("link", name="Earlier versions").click()
    page.get_by_role("button", name=f"Restore the version at {first[:12]}").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.get_by_role("status").filter(has_text="uncommitted")).to_be_visible()
    expect(page.get_by_text("There is no such object")).to_have_count(0)
    assert charted.get("depth/mariana.csv") == b"metres\n10935\n"
    assert charted.changes() == {"depth/mariana.csv": "added"}


def test_versions_at_a_commit_are_not_restored_there(page, charted):
    open_object(page, charted, "history", ref=charted.head()["id"])
    expect(page.get_by_role("link", name=re.compile("The object at commit"))).to_have_count(2)
    expect(page.get_by_role("button", name=re.compile("Restore"))).to_have_count(0)


def test_last_change_after_a_merge_that_took_the_sources_side_is_the_sources(page, charted):
    """The newest commit of the history is one of main, whose change the merge has replaced."""
    charted.branch("dev")
    charted.put("depth/mariana.csv", b"metres\n10911\n", branch="dev")
    charted.commit("Measured by sonar", branch="dev")
    charted.put("depth/mariana.csv", b"metres\n10902\n")
    charted.commit("Measured by rope")
    merge = f"{charted.path}/refs/dev/merge/main"
    assert charted.api.post(merge, json={"strategy": "source-wins"}).is_success
    open_object(page, charted, "history")
    rows = page.get_by_role("table", name="History of depth/mariana.csv").locator("tbody tr")
    expect(rows.filter(has_text="last change")).to_have_count(1)
    expect(rows.filter(has_text="last change")).to_contain_text("Measured by sonar")


@pytest.mark.slow  # web/tests/snippets, test_snippets.py
def test_snippets_read_it_as_the_branch_or_the_commit_has_it(page, charted):
    open_object(page, charted)
    page.get_by_role("button", name="Use", exact=True).click()
    dialog = page.get_by_role("dialog", name="Use mariana.csv")
    snippet = dialog.get_by_role("region")
    expect(snippet).to_contain_text(f'lake.open_input_stream("{charted.name}/main/depth/')
    dialog.get_by_role("button", name="curl").click()
    expect(snippet).to_contain_text(f"/{charted.name}/refs/main/objects?path=depth%2Fmariana.csv")
    dialog.get_by_role("checkbox", name="As it is at this commit").check()
    expect(snippet).to_contain_text(f"/refs/{charted.head()['id']}/objects?")
    dialog.get_by_role("button", name="Copy snippet").click()
    expect(page.get_by_text("snippet copied").first).to_be_attached()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == snippet.inner_text()
    assert "ANABRANCH_SECRET_ACCESS_KEY" in copied


def test_information_has_size_checksum_and_addresses(page, charted):
    open_object(page, charted, "information")
    main = page.get_by_role("main")
    expect(main).to_contain_text("13 B (13 bytes)")
    expect(main).to_contain_text(f"lakefs://{charted.name}/main/depth/mariana.csv")
    page.get_by_role("button", name="Copy Checksum").click()
    expect(page.get_by_text("Checksum copied")).to_be_visible()
    assert re.fullmatch("[0-9a-f]{32}", page.evaluate("navigator.clipboard.readText()"))


def test_metadata_is_edited_on_a_branch_only(page, charted):
    open_object(page, charted, "metadata")
    page.get_by_role("button", name="Edit metadata").click()
    page.get_by_label("Key 1", exact=True).fill("owner")
    page.get_by_label("Value 1", exact=True).fill("ada")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Metadata saved")).to_be_visible()
    expect(page.get_by_role("definition")).to_have_text("ada")
    stat = charted.api.get(
        f"{charted.path}/refs/main/objects/stat", params={"path": "depth/mariana.csv"}
    ).json()
    assert stat["metadata"] == {"owner": "ada"}
    open_object(page, charted, "metadata", ref=charted.head()["id"])
    expect(page.get_by_text("The object has no metadata")).to_be_visible()
    expect(page.get_by_role("button", name="Edit metadata")).to_have_count(0)


@pytest.mark.slow  # pages/test_data.py renames and deletes
def test_renamed_object_is_followed_and_a_deleted_one_left(page, charted):
    open_object(page, charted)
    page.get_by_role("button", name="Actions on mariana.csv").click()
    page.get_by_role("menuitem", name="Rename or move").click()
    page.get_by_role("dialog").get_by_label("New path").fill("trench.csv")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page).to_have_url(re.compile("path=trench.csv"))
    page.get_by_role("button", name="Actions on trench.csv").click()
    page.get_by_role("menuitem", name="Delete object").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("/objects.ref=main"))
    assert charted.paths() == ["other.csv"]


def test_missing_object_is_told_with_a_way_out(page, charted):
    open_object(page, charted, path="depth/none.csv")
    expect(page.get_by_text("There is no such object at main")).to_be_visible()
    page.get_by_role("link", name="Go to its folder").click()
    expect(page.get_by_role("link", name="mariana.csv")).to_be_visible()
