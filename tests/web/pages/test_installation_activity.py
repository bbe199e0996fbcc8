"""The page of the installation's operations, and deleted repositories."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from support.repository_calls import call


@pytest.mark.slow  # as a repository
def test_a_deleted_policy_returns(page, api):
    statement = {"effect": "allow", "action": ["fs:ReadObject"], "resource": "*"}
    body = {"id": "UndonePolicy", "statement": [statement]}
    assert api.post("/auth/policies", json=body).is_success
    assert api.delete("/auth/policies/UndonePolicy").is_success
    page.goto("/auth/policies")
    page.get_by_role("link", name="Activity").click()
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
    first = page.get_by_role("table", name="Operations").locator("tbody tr").first
    expect(first).to_contain_text("Policy UndonePolicy deleted")
    first.get_by_role("button", name="Undo: Policy UndonePolicy deleted").click()
    dialog = page.get_by_role("dialog", name="Undo this?")
    dialog.get_by_role("button", name="Undo").click()
    expect(first).to_contain_text("Policy UndonePolicy created")
    assert api.get("/auth/policies/UndonePolicy").json()["statement"] == [statement]


def test_users_are_in_the_log_and_do_not_return(page, api):
    assert api.post("/auth/users", json={"id": "gone-user"}).is_success
    assert api.delete("/auth/users/gone-user").is_success
    page.goto("/auth/activity")
    first = page.get_by_role("table", name="Operations").locator("tbody tr").first
    expect(first).to_contain_text("User gone-user deleted")
    expect(first.get_by_role("button")).to_have_count(0)


def test_a_deleted_repository_is_restored(page, repository):
    repository.put("a.txt")
    repository.commit()
    head = repository.head()["id"]
    assert repository.api.delete(repository.path).is_success
    page.goto("/repositories")
    page.get_by_label("Show deleted").check()
    expect(page).to_have_url(re.compile("deleted=1"))
    deleted = page.get_by_role("table", name="Deleted repositories")
    deleted.get_by_role("button", name=f"Restore {repository.name}", exact=True).click()
    dialog = page.get_by_role("dialog", name=f"Restore {repository.name}?")
    dialog.get_by_role("button", name="Restore").click()
    expect(page.get_by_text(f"Repository {repository.name} restored")).to_be_visible()
    expect(deleted.get_by_text(repository.name, exact=True)).to_have_count(0)
    assert repository.head()["id"] == head


def test_a_deleted_repository_is_forgotten_once_its_name_is_typed(page, repository):
    assert repository.api.delete(repository.path).is_success
    page.goto("/repositories?deleted=1")
    page.get_by_role("button", name=f"Forget {repository.name}", exact=True).click()
    dialog = page.get_by_role("dialog", name=f"Forget {repository.name}?")
    confirm = dialog.get_by_role("button", name="Forget")
    expect(confirm).to_be_disabled()
    dialog.get_by_role("textbox").fill(repository.name)
    confirm.click()
    expect(page.get_by_text(f"Nothing is kept of {repository.name}")).to_be_visible()
    listed = repository.api.get("/storage/deleted_repositories").json()["results"]
    assert repository.name not in [each["id"] for each in listed]


@pytest.mark.slow  # as a repository
def test_a_merged_pull_request_is_taken_back_with_its_branch(page, repository):
    repository.put("a.txt")
    repository.commit()
    repository.branch("dev")
    repository.put("b.txt", branch="dev")
    repository.commit(branch="dev")
    body = {"title": "Add <b>b", "source_branch": "dev", "destination_branch": "main"}
    pull = call(repository, "POST", "pulls", body)["id"]
    before = repository.head()["id"]
    call(repository, "PUT", f"pulls/{pull}/merge", {})
    page.goto(f"/repositories/{repository.name}/activity")
    first = page.get_by_role("table", name="Operations").locator("tbody tr").first
    expect(first).to_contain_text("main moved")
    expect(first).to_contain_text("Pull request “Add <b>b” merged")
    first.get_by_role("button", name="Undo").click()
    page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    expect(first).to_contain_text("Pull request “Add <b>b” reopened")
    assert repository.head()["id"] == before
    assert call(repository, "GET", f"pulls/{pull}")["status"] == "open"
