"""The history of a reference, and what can be done from a commit."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from support.browser.conditions import wait_until
from support.repository_calls import call


@pytest.fixture
def merged(repository):
    """A history with a branch that was merged."""
    repository.put("a.txt", b"1")
    repository.commit("First")
    repository.branch("dev")
    repository.put("b.txt", b"1", branch="dev")
    repository.commit("On dev", branch="dev")
    repository.put("docs/c.txt", b"1")
    repository.commit("On main")
    call(repository, "POST", "refs/dev/merge/main", {"message": "Both"})
    return repository


def messages(page):
    return page.get_by_role("table", name="Commits").locator("tbody tr td.commit .message")


def act(page, commit_id, entry):
    page.get_by_role("button", name=f"Actions on commit {commit_id[:12]}").click()
    page.get_by_role("menuitem", name=entry).click()


def test_history_shows_commits_with_their_branches(page, merged):
    page.goto(f"/repositories/{merged.name}/commits?ref=main")
    expect(messages(page)).to_have_text(
        ["Both", "On main", "On dev", "First", "Repository created"]
    )
    row = page.get_by_role("row").filter(has_text="On dev")
    expect(row.get_by_role("link", name="History of branch dev")).to_be_visible()


@pytest.mark.slow  # web/tests/history/lanes.test.ts
def test_graph_has_a_lane_for_the_merged_branch(page, merged):
    page.goto(f"/repositories/{merged.name}/commits?ref=main")
    expect(messages(page)).to_have_count(5)
    circles = page.locator("svg circle").evaluate_all(
        "circles => circles.map(circle => circle.getAttribute('cx'))"
    )
    main, dev = circles[0], circles[2]
    assert dev != main
    assert circles == [main, main, dev, main, main]
    # lines out of the merge, and both of them into the commit where the branch began
    rows = page.get_by_role("table", name="Commits").locator("td.graph svg")
    assert [rows.nth(index).locator("path").count() for index in range(5)] == [2, 3, 3, 2, 1]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("path=a.txt", ["First"]),
        ("path=docs/", ["On main"]),
        ("author=NOBODY", []),
        ("author=TEST", ["Both", "On main", "On dev", "First"]),
        ("until=2001-01-01", []),
        ("since=2001-01-01&until=2099-01-01", ["Both", "On main", "On dev", "First"]),
    ],
)
@pytest.mark.sample(1)
def test_filters_leave_the_commits_that_pass(page, merged, query, found):
    page.goto(f"/repositories/{merged.name}/commits?ref=main&{query}")
    if found:
        shown = messages(page).filter(has_not_text="Repository created")
        expect(shown).to_have_text(found)
    else:
        expect(page.get_by_text("No commit passes the filters")).to_be_visible()


@pytest.mark.slow  # web/tests/history/commit-filters.test.ts
def test_filter_that_is_typed_is_in_the_address(page, merged):
    page.goto(f"/repositories/{merged.name}/commits?ref=main")
    page.get_by_label("Path or folder/").fill("b.txt")
    expect(messages(page)).to_have_text(["On dev"])
    expect(page).to_have_url(re.compile("path=b.txt"))
    page.get_by_role("button", name="Clear filters").click()
    expect(messages(page)).to_have_count(5)


def test_commit_shows_metadata_parents_and_its_changes(page, merged):
    head = merged.head()
    page.goto(f"/repositories/{merged.name}/commits/{head['id']}")
    expect(page.get_by_role("heading", name="Both")).to_be_visible()
    for parent in head["parents"]:
        expect(page.get_by_role("link", name=parent[:12])).to_be_visible()
    expect(page.get_by_role("link", name="b.txt, added")).to_be_visible()
    page.get_by_label("Compared with").select_option("2")
    expect(page.get_by_role("link", name="c.txt, added")).to_be_visible()
    expect(page.get_by_role("link", name="b.txt, added")).to_have_count(0)


def test_metadata_links_open_only_addresses_of_the_web(page, repository):
    repository.put("a.txt")
    metadata = {
        "::lakefs::Airflow::url[url:ui]": "https://airflow.example/run/1",
        "::lakefs::Evil::url[url:ui]": "javascript:alert(1)",
        "note": "<b>bold</b>",
    }
    body = {"message": "Linked", "metadata": metadata}
    commit = call(repository, "POST", "branches/main/commits", body)
    page.goto(f"/repositories/{repository.name}/commits/{commit['id']}")
    link = page.get_by_role("link", name="Open Airflow")
    expect(link).to_have_attribute("href", "https://airflow.example/run/1")
    expect(page.get_by_text("javascript:alert(1)")).to_be_visible()
    expect(page.get_by_role("link", name="Open Evil")).to_have_count(0)
    expect(page.get_by_text("<b>bold</b>")).to_be_visible()


def test_commit_is_reverted_on_a_branch(page, merged):
    commit = merged.head("dev")
    page.goto(f"/repositories/{merged.name}/commits?ref=main")
    act(page, commit["id"], "Revert on a branch")
    dialog = page.get_by_role("dialog", name=re.compile("Revert"))
    dialog.get_by_label("Message").fill("Without b")
    dialog.get_by_role("button", name="Revert", exact=True).click()
    expect(messages(page).first).to_have_text("Without b")
    assert merged.paths() == ["a.txt", "docs/c.txt"]


@pytest.mark.slow  # web/tests/history/commit-actions.test.ts
def test_revert_of_a_merge_counts_from_the_chosen_parent(page, merged):
    merge = merged.head()
    page.goto(f"/repositories/{merged.name}/commits/{merge['id']}")
    page.get_by_role("button", name="Actions on this commit").click()
    page.get_by_role("menuitem", name="Revert on a branch").click()
    dialog = page.get_by_role("dialog", name=re.compile("Revert"))
    dialog.get_by_label("The commit is a merge").select_option("2")
    dialog.get_by_role("button", name="Revert", exact=True).click()
    expect(page.get_by_text("Reverted on main")).to_be_visible()
    assert merged.paths() == ["a.txt", "b.txt"]


def test_commit_is_cherry_picked_to_a_branch(page, merged):
    commit = call(merged, "GET", "refs/main/commits", objects="docs/c.txt")["results"][0]
    page.goto(f"/repositories/{merged.name}/commits/{commit['id']}")
    page.get_by_role("button", name="Actions on this commit").click()
    page.get_by_role("menuitem", name="Cherry-pick").click()
    dialog = page.get_by_role("dialog", name=re.compile("Cherry-pick"))
    dialog.get_by_role("button", name="Branch: main").click()
    page.get_by_role("option", name="dev").click()
    dialog.get_by_role("button", name="Cherry-pick", exact=True).click()
    expect(page.get_by_text("Cherry-picked to dev")).to_be_visible()
    assert merged.paths("dev") == ["a.txt", "b.txt", "docs/c.txt"]


def test_conflicting_revert_names_the_paths_and_changes_nothing(page, repository):
    repository.put("a.txt", b"1")
    repository.commit("One")
    repository.put("a.txt", b"2")
    commit = repository.commit("Two")
    repository.put("a.txt", b"3")
    head = repository.commit("Three")
    page.goto(f"/repositories/{repository.name}/commits?ref=main")
    act(page, commit["id"], "Revert on a branch")
    dialog = page.get_by_role("dialog", name=re.compile("Revert"))
    dialog.get_by_role("button", name="Revert", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("The branch stays as it was")
    assert repository.head()["id"] == head["id"]
    dialog.get_by_label("If the branch has changed the same path").select_option("source-wins")
    dialog.get_by_role("button", name="Revert", exact=True).click()
    expect(page.get_by_text("Reverted on main")).to_be_visible()
    assert repository.get("a.txt") == b"1"


@pytest.mark.slow  # pages/test_branches_and_tags.py
def test_branch_and_tag_are_created_at_a_commit(page, merged):
    commit = merged.head("dev")
    page.goto(f"/repositories/{merged.name}/commits?ref=main")
    act(page, commit["id"], "Create branch here")
    page.get_by_label("Name").fill("from-here")
    page.get_by_role("button", name="Create branch", exact=True).click()
    expect(page.get_by_role("link", name="History of branch from-here")).to_be_visible()
    act(page, commit["id"], "Create tag here")
    page.get_by_label("Name").fill("v1")
    page.get_by_role("button", name="Create tag", exact=True).click()
    expect(page.get_by_role("link", name="History of tag v1")).to_be_visible()
    assert merged.head("from-here")["id"] == commit["id"] == merged.head("v1")["id"]


@pytest.mark.slow  # as addresses
def test_commit_id_is_copied(page, merged):
    page.goto(f"/repositories/{merged.name}/commits?ref=main")
    page.get_by_role("button", name="Commit id of main").click()
    expect(page.get_by_text("Commit id of main copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == merged.head()["id"]


@pytest.mark.slow  # one is above; web/tests/history
def test_several_commits_are_reverted_together(page, merged):
    merged.put("d.txt")
    merged.commit("Another")
    page.goto(f"/repositories/{merged.name}/commits?ref=main")
    page.get_by_role("button", name="Revert several…").click()
    page.get_by_label("Choose “Both”").check()
    page.get_by_label("Choose “Another”").check()
    expect(page.get_by_label("Choose “Repository created”")).to_have_count(0)
    page.get_by_role("button", name="Revert chosen commits").click()
    dialog = page.get_by_role("dialog", name="Revert 2 commits on main?")
    expect(dialog.get_by_role("listitem")).to_have_text([re.compile("Another"), re.compile("Both")])
    dialog.get_by_role("button", name="Revert", exact=True).click()
    expect(page.get_by_text("2 commits reverted on main")).to_be_visible()
    expect(messages(page)).to_have_count(8)
    assert merged.paths() == ["a.txt", "docs/c.txt"]


@pytest.mark.slow  # test_long_lists.py
def test_long_history_is_where_it_was_when_one_goes_back(page, repository):
    for number in range(120):
        body = {"message": f"Commit {number}", "allow_empty": True}
        call(repository, "POST", "branches/main/commits", body)
    page.goto(f"/repositories/{repository.name}/commits?ref=main")
    page.get_by_role("button", name="Show more").click()
    link = page.get_by_role("link", name="Commit 3", exact=True)
    link.scroll_into_view_if_needed()
    wait_until(page, "history.state?.places?.page > 1000")
    link.click()
    expect(page.get_by_role("heading", name="Commit 3")).to_be_visible()
    expect(page.get_by_role("heading", name="Commit 3")).to_be_in_viewport()
    page.go_back()
    expect(link).to_be_in_viewport()
    page.reload()
    expect(link).to_be_in_viewport()
