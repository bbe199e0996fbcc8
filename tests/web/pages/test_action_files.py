"""The form for action files: what it writes, what the server says, and what it leaves alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

MINE = b"""# whom to ask: ada
on:
  pre-merge: {branches: [main]}
hooks:
  - {id: rules, type: check, properties: {commit_metadata: {ticket: "FL-*"}}}
"""
PATH = "_lakefs_actions/whole-data.yaml"


def open_form(page, repository, path=""):
    more = f"&path={path}" if path else ""
    page.goto(f"/repositories/{repository.name}/action-files/edit?ref=main{more}")


@pytest.fixture
def written(page, repository):
    """The form's file, which was saved on main and committed."""
    repository.put("a.txt")
    repository.commit()
    page.goto(f"/repositories/{repository.name}/actions")
    page.get_by_role("link", name="Action files").click()
    page.get_by_role("button", name="New action").click()
    page.get_by_label("File", exact=True).fill("whole-data")
    page.get_by_label("Name", exact=True).fill("whole data")
    page.get_by_label("Event 1", exact=True).select_option("pre-commit")
    hook = page.get_by_role("group", name="Hook 1", exact=True)
    hook.get_by_label("Id").fill("rules")
    hook.get_by_label("Paths of tables").fill("tables/*.csv")
    hook.get_by_label("Never null").fill("name, day")
    hook.get_by_role("button", name="Add a range of values").click()
    hook.get_by_label("Column of range 1").fill("n")
    hook.get_by_label("From").fill("1")
    page.get_by_role("button", name="Save on main").click()
    expect(page).to_have_url(re.compile("/changes"))
    expect(page.get_by_text(f"{PATH} is an uncommitted change of main")).to_be_visible()
    return repository


def test_a_check_that_is_filled_in_guards_the_branch(written):
    written.put("tables/a.csv", b"name,day,n\nx,1,1\ny,,0\n")
    commits = f"{written.path}/branches/main/commits"
    refused = written.api.post(commits, json={"message": "m"})
    assert refused.status_code == 412
    assert "column day is null" in refused.text
    written.put("tables/a.csv", b"name,day,n\nx,1,1\ny,2,1\n")
    assert written.api.post(commits, json={"message": "m"}).status_code == 201


@pytest.mark.slow  # web/tests/pages/action-form.test.ts
def test_a_file_of_the_form_is_edited_in_the_form(page, written):
    page.goto(f"/repositories/{written.name}/action-files?ref=main")
    row = page.get_by_role("table", name="Action files").get_by_role("row").nth(1)
    expect(row).to_contain_text(re.compile("whole-data.yaml.*whole data.*valid"))
    row.get_by_role("link", name="whole-data.yaml").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("whole data")
    expect(page.get_by_label("Never null")).to_have_value("name, day")
    page.get_by_label("Unique together").fill("name")
    page.get_by_role("button", name="Add a hook").click()
    hook = page.get_by_role("group", name="Hook 2", exact=True)
    hook.get_by_label("Id").fill("tell")
    hook.get_by_label("What it does").select_option("webhook")
    hook.get_by_label("Address").fill("https://checks.example/?a=1#b")
    page.get_by_role("button", name="Save on main").click()
    expect(page).to_have_url(re.compile("/changes"))
    text = written.get(PATH).decode()
    assert "unique: [name]" in text
    assert 'url: "https://checks.example/?a=1#b"' in text
    open_form(page, written, PATH)
    expect(page.get_by_label("Address")).to_have_value("https://checks.example/?a=1#b")


def test_what_the_server_finds_wrong_is_said_at_its_field_and_nothing_is_written(page, repository):
    repository.put("a.txt")
    repository.commit()
    open_form(page, repository)
    page.get_by_label("File", exact=True).fill("whole-data")
    hook = page.get_by_role("group", name="Hook 1", exact=True)
    hook.get_by_label("Id").fill("1 rule")
    hook.get_by_label("Paths of tables").fill("t/*.csv")
    hook.get_by_label("Fewest rows").fill("many")
    page.get_by_role("button", name="Save on main").click()
    field = hook.get_by_label("Id")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(hook.get_by_text("is not an id of a hook")).to_be_visible()
    field.fill("rule")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("alert")).to_contain_text("hooks[0].properties.tables")
    hook.get_by_label("Fewest rows").fill("2")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("The server finds nothing wrong")).to_be_visible()
    assert repository.paths() == ["a.txt"]


@pytest.mark.slow  # web/tests/pages/action-form.test.ts
def test_a_file_with_comments_is_edited_as_text_and_kept(page, repository):
    repository.put(PATH, MINE)
    repository.commit()
    open_form(page, repository, PATH)
    expect(page.get_by_text("This file is edited as text")).to_be_visible()
    area = page.get_by_label("Action file", exact=True)
    expect(area).to_have_value(MINE.decode())
    area.fill(MINE.decode().replace("type: check", "type: chock"))
    page.get_by_role("button", name="Save on main").click()
    expect(page.get_by_role("button", name="Line 5")).to_be_visible()
    assert repository.get(PATH) == MINE
    changed = MINE.decode().replace("FL-*", "XY-*")
    area.fill(changed)
    page.get_by_role("button", name="Save on main").click()
    expect(page).to_have_url(re.compile("/changes"))
    assert repository.get(PATH) == changed.encode()


def test_a_file_that_changed_meanwhile_is_not_replaced(page, written):
    open_form(page, written, PATH)
    expect(page.get_by_label("Name", exact=True)).to_have_value("whole data")
    written.put(PATH, MINE)
    page.get_by_label("Name", exact=True).fill("mine")
    page.get_by_role("button", name="Save on main").click()
    expect(page.get_by_text("The file has changed since you opened it")).to_be_visible()
    assert written.get(PATH) == MINE


@pytest.mark.slow  # as one that changed meanwhile
def test_a_new_file_replaces_none(page, written):
    open_form(page, written)
    page.get_by_label("File", exact=True).fill("whole-data.yaml")
    before = written.get(PATH)
    page.get_by_label("Id").fill("rules")
    page.get_by_label("Paths of tables").fill("x")
    page.get_by_label("Never null").fill("a")
    page.get_by_role("button", name="Save on main").click()
    expect(page.get_by_role("alert").filter(has_text="The file was not written")).to_be_visible()
    assert written.get(PATH) == before
