"""The uncommitted changes of a branch: the tree, reverting and committing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect


@pytest.fixture
def edited(repository):
    """A repository whose main has a removed, a changed and some added objects."""
    for name in ("atlantic", "indian", "pacific"):
        repository.put(f"depth/{name}.csv", b"metres\n")
    repository.commit("First depths")
    repository.delete("depth/indian.csv")
    repository.put("depth/pacific.csv", b"metres\n10935\n")
    for month in range(3):
        repository.put(f"soundings/2024/{month:02}/data.csv", b"x" * 1000)
    return repository


def open_changes(page, repository, **more):
    query = "&".join(f"{name}={value}" for name, value in {"ref": "main", **more}.items())
    page.goto(f"/repositories/{repository.name}/changes?{query}")


def tree(page):
    return page.get_by_role("treegrid", name="Uncommitted changes")


def act(page, name, action):
    page.get_by_role("button", name=f"Actions on {name}", exact=True).click()
    page.get_by_role("menuitem", name=action).click()


def test_changes_are_a_tree_with_counts_and_sizes(page, edited):
    open_changes(page, edited)
    rows = tree(page).locator("[data-row]")
    expect(rows).to_have_count(10)
    expect(rows.nth(0)).to_contain_text("depth/")
    expect(rows.nth(0)).to_contain_text("1 changed")
    expect(rows.nth(0)).to_contain_text("1 removed")
    expect(rows.nth(0)).to_contain_text("13 B")
    expect(rows.nth(1)).to_contain_text("indian.csv")
    expect(rows.nth(3)).to_contain_text("soundings/2024/")
    expect(rows.nth(3)).to_contain_text("3 added")
    expect(rows.nth(3)).to_contain_text("2.93 KiB")


@pytest.mark.slow  # web/tests/changes/change-tree.test.ts
def test_folders_fold(page, edited):
    open_changes(page, edited)
    rows = tree(page).locator("[data-row]")
    expect(rows).to_have_count(10)
    tree(page).get_by_role("button", name="soundings/2024/", exact=True).click()
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Collapse all").click()
    expect(rows).to_have_count(2)


def test_one_change_is_reverted(page, edited):
    open_changes(page, edited)
    act(page, "indian.csv", "Revert this change")
    page.get_by_role("dialog").get_by_role("button", name="Revert").click()
    expect(tree(page).get_by_text("indian.csv")).to_have_count(0)
    assert "depth/indian.csv" not in edited.changes()
    assert "depth/pacific.csv" in edited.changes()


@pytest.mark.slow  # as everything is, below
def test_folder_is_reverted(page, edited):
    open_changes(page, edited)
    act(page, "soundings/2024/", "Revert this folder")
    page.get_by_role("dialog").get_by_role("button", name="Revert").click()
    expect(tree(page).get_by_text("soundings")).to_have_count(0)
    assert edited.changes() == {"depth/indian.csv": "removed", "depth/pacific.csv": "changed"}


def test_everything_is_reverted(page, edited):
    open_changes(page, edited)
    page.get_by_role("button", name="Revert all").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert").click()
    expect(page.get_by_text("No uncommitted changes")).to_be_visible()
    assert edited.changes() == {}


def test_changes_are_committed_with_message_and_metadata(page, edited):
    open_changes(page, edited)
    page.get_by_role("button", name="Commit").click()
    dialog = page.get_by_role("dialog")
    commit = dialog.get_by_role("button", name="Commit")
    expect(commit).to_be_disabled()
    dialog.get_by_label("Message").fill("Soundings of <2024>")
    dialog.get_by_role("button", name="Add a key").click()
    dialog.get_by_label("Key 1", exact=True).fill("source")
    dialog.get_by_label("Value 1", exact=True).fill("sonar")
    commit.click()
    expect(page.get_by_text(re.compile("Committed to main as [0-9a-f]{12}"))).to_be_visible()
    expect(page.get_by_text("No uncommitted changes")).to_be_visible()
    head = edited.head()
    assert head["message"] == "Soundings of <2024>"
    assert head["metadata"]["source"] == "sonar"
    assert edited.changes() == {}


def test_commit_that_came_first_is_told(page, edited):
    open_changes(page, edited)
    page.get_by_role("button", name="Commit").click()
    page.get_by_role("dialog").get_by_label("Message").fill("Too late")
    edited.commit("Somebody else's")
    page.get_by_role("dialog").get_by_role("button", name="Commit").click()
    alert = page.get_by_role("dialog").get_by_role("alert")
    expect(alert).to_contain_text("Nothing was committed")


def test_changed_object_leads_to_it_and_a_removed_one_to_its_last_version(page, edited):
    open_changes(page, edited)
    tree(page).get_by_role("link", name="indian.csv").click()
    page.get_by_role("link", name="Open depth/indian.csv at its last commit").click()
    expect(page).to_have_url(re.compile(f"ref={edited.head()['id']}&path=depth%2Findian.csv"))
    expect(page.get_by_role("link", name="Download").first).to_be_visible()


@pytest.mark.slow  # one sentence of the page
def test_tag_has_no_changes_and_says_so(page, edited):
    tag = {"id": "v1", "ref": "main"}
    assert edited.api.post(f"{edited.path}/tags", json=tag).is_success
    page.goto(f"/repositories/{edited.name}/changes?ref=v1")
    expect(page.get_by_text("“v1” is not a branch")).to_be_visible()


@pytest.mark.slow  # pages/test_data.py
def test_prefix_search_limits_the_tree(page, edited):
    open_changes(page, edited)
    page.get_by_label("Search by prefix").fill("depth/p")
    expect(tree(page).get_by_role("link")).to_have_text(["pacific.csv"])
    expect(page).to_have_url(re.compile("prefix=depth"))


@pytest.mark.slow  # web/tests/changes/change-tree.test.ts
def test_folders_stay_as_one_left_them_when_one_goes_back(page, repository):
    for path in ("deep/a.txt", "deep/b.txt", "flat/c.txt"):
        repository.put(path)
    page.goto(f"/repositories/{repository.name}/changes?ref=main")
    folder = page.get_by_role("button", name="deep/", exact=True)
    folder.click()
    expect(page.get_by_role("link", name="a.txt, added")).to_have_count(0)
    page.get_by_role("link", name="c.txt, added").click()
    page.get_by_role("link", name="Open flat/c.txt at main").click()
    expect(page).to_have_url(re.compile("/object"))
    for address in ("open=flat", "ref=main$"):  # beside the difference, and before that was opened
        page.go_back()
        expect(page).to_have_url(re.compile(address))
        expect(folder).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("link", name="a.txt, added")).to_have_count(0)
    page.get_by_role("link", name="Branches", exact=True).click()
    page.get_by_role("link", name="Changes", exact=True).click()  # another visit begins anew
    expect(page.get_by_role("link", name="a.txt, added")).to_be_visible()


SQUARE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><script>alert(1)</script>'
    b'<rect width="8" height="8"/></svg>'
)


@pytest.mark.slow  # pages/test_compare.py
def test_rows_text_and_images_of_uncommitted_changes_are_compared_with_the_last_commit(
    page, repository
):
    repository.put("t.csv", b"id,depth\n1,10\n2,20\n")
    repository.put("a.svg", SQUARE)
    repository.commit()
    repository.put("t.csv", b"id,depth\n1,10\n2,25\n")
    repository.put("a.svg", SQUARE.replace(b"rect", b"rect fill='red'"))
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    open_changes(page, repository)
    tree(page).get_by_role("link", name="t.csv, changed").click()
    rows = page.get_by_role("region", name="Rows that differ").locator("tbody tr")
    expect(rows).to_have_text(re.compile(r"changed\s*2\s*20\s*25"))
    page.get_by_role("button", name="Text", exact=True).click()
    lines = page.get_by_role("table", name="Lines that differ")
    expect(lines).to_contain_text("2,25")
    tree(page).get_by_role("link", name="a.svg, changed").click()
    for side in ("Before", "After"):
        image = page.get_by_role("region", name=side).get_by_role("img", name="a.svg")
        expect(image).to_have_attribute("src", re.compile("^data:image/svg"))
    assert dialogs == []
    page.get_by_role("button", name="Actions on a.svg").click()
    page.get_by_role("menuitem", name="Revert this change").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert").click()
    expect(page.get_by_role("region", name="Before")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("open="))
