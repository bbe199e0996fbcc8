"""The README of a sample repository is shown at its root, and its steps can be followed."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import expect

RIVERS = "data/rivers.csv"


@pytest.fixture
def sample(api):
    """A repository with sample data."""
    name = f"sample-{uuid.uuid4().hex[:8]}"
    creation = {"name": name, "storage_namespace": f"local://{name}", "sample_data": True}
    assert api.post("/repositories", json=creation).is_success
    yield name
    api.delete(f"/repositories/{name}")


@pytest.mark.slow  # each page has tests of its own
def test_the_steps_of_the_readme_lead_through_the_pages(page, api, sample):
    def rivers(ref="main"):
        url = f"/repositories/{sample}/refs/{ref}/objects"
        return api.get(url, params={"path": RIVERS}).text

    def go(tab):
        tabs = page.get_by_role("navigation", name=f"Repository {sample}")
        tabs.get_by_role("link", name=tab, exact=True).click()

    before = rivers()
    page.goto(f"/repositories/{sample}")
    readme = page.get_by_role("region", name="README.md")
    expect(readme.get_by_role("heading", name="A sample repository")).to_be_visible()
    steps = readme.get_by_role("listitem").all_inner_texts()
    assert [re.match(r"[\w ]+", step)[0] for step in steps] == [
        "Branch",
        "Change",
        "Compare rows",
        "Commit it there",
        "Merge",
        "Undo",
    ]
    assert sample in readme.inner_text(), "its commands name the repository"
    named = set(readme.locator("em").all_inner_texts())

    go("Branches")
    page.get_by_role("button", name="Create branch").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("try")
    dialog.get_by_role("button", name="Create branch").click()
    expect(dialog).to_have_count(0)

    page.goto(f"/repositories/{sample}/objects?ref=try&path=data/")
    page.get_by_role("button", name="Upload").first.click()
    changed = before.replace("6400", "6575")
    assert changed != before
    dialog = page.get_by_role("dialog")
    file = {"name": "rivers.csv", "mimeType": "text/csv", "buffer": changed.encode()}
    dialog.get_by_label("Files to upload").set_input_files([file])
    dialog.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_role("region", name="Uploads")).to_contain_text("1 file uploaded")
    assert (rivers(), rivers("try")) == (before, changed)

    go("Changes")
    compare_rows_and_commit(page)

    page.goto(f"/repositories/{sample}/compare?ref=main&compare=try")
    page.get_by_role("button", name="Merge…").click()
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_role("status").filter(has_text="Merged into main as")).to_be_visible()
    assert rivers() == changed

    page.goto(f"/repositories/{sample}/commits?ref=main")
    page.get_by_role("button", name=re.compile("^Actions on commit")).first.click()
    page.get_by_role("menuitem", name="Revert on a branch").click()
    dialog = page.get_by_role("dialog", name=re.compile("Revert"))
    dialog.get_by_role("button", name="Revert", exact=True).click()
    expect(page.get_by_text("Reverted on main")).to_be_visible()
    assert rivers() == before
    assert named == {
        *("Branches", "Create branch", "Data", "Upload", "Changes", "Compare", "Merge…"),
        *("Settings", "Actions", "History", "Revert on a branch"),
    }


def compare_rows_and_commit(page):
    tree = page.get_by_role("treegrid", name="Uncommitted changes")
    tree.get_by_text("rivers.csv").click()
    rows = page.get_by_role("region", name="Rows that differ").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("6575")
    page.get_by_role("button", name="Commit").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill("Measured again")
    dialog.get_by_role("button", name="Commit").click()
    expect(page.get_by_text(re.compile("Committed to try as"))).to_be_visible()
