"""The page of activity: what has changed branches and tags, and undo."""

from __future__ import annotations

from playwright.sync_api import expect
from support.repository_calls import call


def test_a_deleted_branch_is_restored(page, repository):
    repository.put("a.txt")
    repository.commit()
    repository.branch("dev")
    head = repository.head("dev")["id"]
    repository.put("b.txt", branch="dev")
    call(repository, "DELETE", "branches/dev")
    page.goto(f"/repositories/{repository.name}/activity")
    rows = page.get_by_role("table", name="Operations").locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("dev deleted")
    rows.first.get_by_role("button", name="Restore: branch dev deleted").click()
    dialog = page.get_by_role("dialog", name="Restore this?")
    expect(dialog).to_contain_text("branch dev deleted at")
    dialog.get_by_role("button", name="Restore").click()
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("dev created")
    expect(rows.nth(1)).to_contain_text("undone")
    assert repository.head("dev")["id"] == head
    changes = call(repository, "GET", "branches/dev/diff")["results"]
    assert [each["path"] for each in changes] == ["b.txt"]


def test_what_is_in_the_way_is_told_and_nothing_changes(page, repository):
    repository.put("a.txt")
    repository.commit()
    repository.put("b.txt")
    page.goto(f"/repositories/{repository.name}/activity")
    page.get_by_role("button", name="Undo: branch main moved").click()
    dialog = page.get_by_role("dialog", name="Undo this?")
    dialog.get_by_role("button", name="Undo").click()
    expect(dialog.get_by_role("alert")).to_contain_text("the branch main has uncommitted changes")
    page.keyboard.press("Escape")
    expect(page.get_by_role("table", name="Operations").locator("tbody tr")).to_have_count(2)
