"""The runs of hooks, as far as the server runs hooks."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

RULES = b"""name: whole data
on:
  pre-commit:
    branches: [main]
hooks:
  - id: places
    type: check
    properties:
      files:
        - within: [docs/, _lakefs_actions/]
  - id: tickets
    type: check
    properties:
      commit_metadata: {ticket: "FL-*"}
"""


@pytest.fixture
def refused(repository):
    """The runs of a repository where a hook has refused a commit."""
    repository.put("_lakefs_actions/rules.yaml", RULES)
    repository.put("elsewhere/a.txt")
    commits = f"{repository.path}/branches/main/commits"
    repository.api.post(commits, json={"message": "Refused", "metadata": {"ticket": "FL-1"}})
    return repository.api.get(f"{repository.path}/actions/runs").json()["results"]


@pytest.mark.usefixtures("refused")
def test_runs_are_listed_and_filtered_by_branch(page, repository):
    page.goto(f"/repositories/{repository.name}/actions")
    row = page.get_by_role("table", name="Runs").get_by_role("row").nth(1)
    expect(row).to_contain_text(re.compile("pre-commit.*failed.*main"))
    page.get_by_label("Branch", exact=True).fill("other")
    expect(page.get_by_text("No run is of this branch and commit")).to_be_visible()


def test_run_shows_its_hooks_and_the_output_of_the_failed_one(page, repository, refused):
    page.goto(f"/repositories/{repository.name}/actions/{refused[0]['run_id']}")
    hooks = page.get_by_role("navigation", name="Hooks of the run").get_by_role("link")
    expect(hooks).to_have_text([re.compile("places.*failed"), re.compile("tickets.*skipped")])
    expect(page.get_by_role("log")).to_contain_text("elsewhere/a.txt is not under docs/")
    hooks.nth(1).click()
    expect(page.get_by_text("The hook was skipped.")).to_be_visible()
    expect(page).to_have_url(re.compile("hook="))


@pytest.mark.slow  # waits until the page asks again
def test_new_runs_appear_while_the_list_is_looked_at(page, repository, refused):
    page.goto(f"/repositories/{repository.name}/actions")
    rows = page.get_by_role("table", name="Runs").locator("tbody tr")
    expect(rows).to_have_count(len(refused))
    commits = f"{repository.path}/branches/main/commits"
    repository.api.post(commits, json={"message": "Refused again", "metadata": {}})
    expect(rows).to_have_count(len(refused) + 1)
