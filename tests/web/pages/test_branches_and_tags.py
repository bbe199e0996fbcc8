"""The pages of branches and tags."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from support.repository_calls import call


@pytest.fixture
def repository(repository):
    repository.put("a.txt")
    repository.commit()
    return repository


def names(page, kind):
    return page.get_by_role("table", name=kind).locator("tbody .name > a")


def act(page, name, entry):
    page.get_by_role("button", name=f"Actions on {name}", exact=True).click()
    page.get_by_role("menuitem", name=entry).click()


def branches_of(repository):
    return [branch["id"] for branch in call(repository, "GET", "branches")["results"]]


def test_branch_is_created_from_another(page, repository):
    repository.branch("dev")
    repository.put("b.txt", branch="dev")
    commit = repository.commit(branch="dev")
    page.goto(f"/repositories/{repository.name}/branches")
    act(page, "dev", "Create a branch from it")
    page.get_by_label("Name").fill("feature")
    page.get_by_role("button", name="Create branch").last.click()
    expect(names(page, "Branches")).to_have_text(["dev", "feature", "main"])
    assert repository.head("feature")["id"] == commit["id"]


def test_name_that_is_taken_is_told_in_the_dialog(page, repository):
    page.goto(f"/repositories/{repository.name}/branches")
    page.get_by_role("button", name="Create branch").click()
    dialog = page.get_by_role("dialog", name="Create a branch")
    dialog.get_by_label("Name").fill("main")
    dialog.get_by_role("button", name="Create branch").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The branch was not created")


@pytest.mark.slow  # a filter of the API
def test_hidden_branches_are_shown_when_asked_for(page, repository):
    call(repository, "POST", "branches", {"name": "secret", "source": "main", "hidden": True})
    page.goto(f"/repositories/{repository.name}/branches")
    expect(names(page, "Branches")).to_have_text(["main"])
    page.get_by_label("Show hidden").check()
    expect(names(page, "Branches")).to_have_text(["main", "secret"])
    expect(page).to_have_url(re.compile("hidden=1"))


def test_search_finds_branches_by_prefix(page, repository):
    repository.branch("fix-1")
    repository.branch("other")
    page.goto(f"/repositories/{repository.name}/branches")
    page.get_by_label("Search branches by prefix").fill("fix")
    expect(names(page, "Branches")).to_have_text(["fix-1"])
    page.reload()
    expect(names(page, "Branches")).to_have_text(["fix-1"])


def test_branch_is_deleted_after_confirmation(page, repository):
    repository.branch("old")
    page.goto(f"/repositories/{repository.name}/branches")
    act(page, "old", "Delete branch")
    dialog = page.get_by_role("dialog", name="Delete branch old?")
    dialog.get_by_role("button", name="Cancel").click()
    assert branches_of(repository) == ["main", "old"]
    act(page, "old", "Delete branch")
    dialog.get_by_role("button", name="Delete branch").click()
    expect(names(page, "Branches")).to_have_text(["main"])
    assert branches_of(repository) == ["main"]


def test_default_branch_cannot_be_deleted(page, repository):
    page.goto(f"/repositories/{repository.name}/branches")
    page.get_by_role("button", name="Actions on main", exact=True).click()
    expect(page.get_by_role("menuitem", name="Delete branch")).to_be_disabled()


def test_branch_is_protected_and_shown_so(page, repository):
    repository.branch("stable")
    page.goto(f"/repositories/{repository.name}/branches")
    act(page, "stable", "Protect")
    row = page.get_by_role("row").filter(has_text="stable")
    expect(row.get_by_text("protected", exact=True)).to_be_visible()
    rules = call(repository, "GET", "settings/branch_protection")
    assert rules == [{"pattern": "stable"}]


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("release-*", ["release-1", "release-2x"]),
        ("release-?", ["release-1"]),
        ("{main,release-[!2]}", ["main", "release-1"]),
        ("main.*", []),
        ("release-[1-2]x", ["release-2x"]),
    ],
)
@pytest.mark.sample(1)
def test_patterns_protect_the_branches_that_the_server_protects(page, repository, pattern, matched):
    for name in ["release-1", "release-2x"]:
        repository.branch(name)
    call(repository, "PUT", "settings/branch_protection", [{"pattern": pattern}])
    page.goto(f"/repositories/{repository.name}/branches")
    expect(names(page, "Branches")).to_have_count(3)
    if matched:
        expect(page.get_by_text("protected", exact=True).first).to_be_visible()
    shown = page.get_by_role("row").filter(has_text="protected").locator(".name > a")
    assert shown.all_inner_texts() == matched
    for name in ["main", "release-1", "release-2x"]:
        response = repository.api.post(
            f"{repository.path}/branches/{name}/objects",
            params={"path": "x"},
            content=b"x",
            headers={"Content-Type": "application/octet-stream"},
        )
        assert response.status_code == (403 if name in matched else 201)


@pytest.mark.slow  # web/tests/format/addresses.test.ts
def test_addresses_and_ids_are_copied(page, repository):
    page.goto(f"/repositories/{repository.name}/branches")
    for entry, text in [
        ("Copy URI", f"lakefs://{repository.name}/main/"),
        ("Copy S3 URI", f"s3://{repository.name}/main/"),
        ("Copy commit id", repository.head()["id"]),
    ]:
        act(page, "main", entry)
        expect(
            page.get_by_text(f"{entry.removeprefix('Copy ')} copied".capitalize())
        ).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == text


def test_tag_is_created_and_deleted(page, repository):
    page.goto(f"/repositories/{repository.name}/tags")
    expect(page.get_by_text("There are no tags yet")).to_be_visible()
    page.get_by_role("button", name="Create tag").click()
    page.get_by_label("Name").fill("v1.0")
    page.get_by_role("button", name="Create tag").last.click()
    expect(names(page, "Tags")).to_have_text(["v1.0"])
    assert repository.head("v1.0")["id"] == repository.head()["id"]
    act(page, "v1.0", "Delete tag")
    page.get_by_role("button", name="Delete tag").click()
    expect(page.get_by_text("There are no tags yet")).to_be_visible()
    assert call(repository, "GET", "tags")["results"] == []


@pytest.mark.slow  # a link to pages/test_compare.py
def test_tag_is_compared_with_the_default_branch(page, repository):
    call(repository, "POST", "tags", {"id": "v1", "ref": "main"})
    repository.put("b.txt")
    repository.commit()
    page.goto(f"/repositories/{repository.name}/tags")
    act(page, "v1", "Compare with main")
    expect(page.get_by_role("link", name="b.txt, added")).to_be_visible()
    expect(page.get_by_role("button", name="Merge…")).to_have_count(0)


@pytest.mark.slow  # texts of the API
def test_branches_show_when_they_end_and_workspaces_what_they_are_for(page, repository):
    branch = {"name": "try", "source": "main", "expires": "7d"}
    call(repository, "POST", "branches", branch)
    workspace = {"source": "main", "branch": "ws", "expires": "3h", "purpose": "Clean delays"}
    call(repository, "POST", "workspaces", workspace)
    page.goto(f"/repositories/{repository.name}/branches")
    rows = page.get_by_role("table", name="Branches").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text(re.compile("ends (in 6 days|in 7 days|next week)"))
    expect(rows.nth(2)).to_contain_text("workspace: Clean delays")
    expect(rows.nth(2)).to_contain_text(re.compile("ends in [23] hours"))


@pytest.mark.slow  # figures of the API
def test_branches_that_are_not_merged_are_shown_by_age_and_size(page, repository):
    for name, size in (("small", 1), ("large", 3000)):
        repository.branch(name)
        repository.put("b.txt", b"x" * size, branch=name)
        repository.commit(branch=name)
    repository.branch("merged")
    page.goto(f"/repositories/{repository.name}/branches")
    page.get_by_label("Which branches").select_option(label="Not merged, largest first")
    rows = page.get_by_role("table", name="Branches that are not merged").locator("tbody tr")
    expect(rows.first).to_contain_text("large")
    expect(rows.filter(has_text="small")).to_have_count(1)
    expect(rows.filter(has_text="merged")).to_have_count(0)
    page.get_by_label("Which branches").select_option(label="Not merged, oldest first")
    expect(rows.filter(has_text="large")).to_have_count(1)
    page.get_by_label("Which branches").select_option(label="All branches")
    names = page.get_by_role("table", name="Branches", exact=True).locator("tbody tr")
    expect(names.filter(has_text="merged")).to_have_count(1)
