"""The page of all repositories: search, create, delete."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import expect


def fresh_name():
    return f"web-{uuid.uuid4().hex[:12]}"


@pytest.mark.slow  # pages/test_branches_and_tags.py
def test_search_shows_repositories_whose_names_contain_it(page, repository):
    page.goto("/repositories")
    page.get_by_label("Search repositories").fill(repository.name[4:])
    rows = page.get_by_role("table", name="Repositories").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.get_by_role("link")).to_have_text(repository.name)
    expect(page).to_have_url(re.compile(f"search={repository.name[4:]}"))
    page.reload()
    expect(rows).to_have_count(1)
    page.get_by_label("Search repositories").fill("no-such-name")
    expect(page.get_by_text("No repository's name contains “no-such-name”")).to_be_visible()


def test_repository_is_created_with_sample_data(page, api):
    name = fresh_name()
    page.goto("/repositories")
    page.get_by_role("button", name="Create repository").first.click()
    dialog = page.get_by_role("dialog", name="Create a repository")
    dialog.get_by_label("Name", exact=True).fill(name)
    expect(dialog.get_by_label("Storage namespace")).to_have_value(re.compile(f"//.*{name}$"))
    dialog.get_by_label("Add sample data").check()
    dialog.get_by_role("button", name="Create repository").click()
    expect(page.get_by_role("link", name="lakes.parquet", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(f"/repositories/{name}/objects.ref=main"))
    assert api.get(f"/repositories/{name}").json()["default_branch"] == "main"


def test_invalid_and_taken_names_are_told(page, repository):
    page.goto("/repositories")
    page.get_by_role("button", name="Create repository").first.click()
    dialog = page.get_by_role("dialog", name="Create a repository")
    create = dialog.get_by_role("button", name="Create repository")
    dialog.get_by_label("Name", exact=True).fill("Bad Name")
    expect(dialog.get_by_text("Use 3 to 63 lower-case letters")).to_be_visible()
    expect(create).to_be_disabled()
    dialog.get_by_label("Name", exact=True).fill(repository.name)
    create.click()
    expect(dialog.get_by_role("alert")).to_contain_text("The repository was not created")


def test_repository_is_deleted_once_its_name_is_typed(page, api, repository):
    page.goto(f"/repositories?search={repository.name}")
    page.get_by_role("button", name=f"Actions on {repository.name}").click()
    page.get_by_role("menuitem", name="Delete repository").click()
    dialog = page.get_by_role("dialog")
    delete = dialog.get_by_role("button", name="Delete repository")
    expect(delete).to_be_disabled()
    dialog.get_by_label(re.compile("to confirm")).fill(repository.name)
    delete.click()
    expect(page.get_by_text(f"Repository {repository.name} deleted")).to_be_visible()
    expect(page.get_by_text("No repository's name contains")).to_be_visible()
    assert api.get(f"/repositories/{repository.name}").status_code == 404
