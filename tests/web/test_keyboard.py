"""The keyboard alone is enough: the palette, lists, menus, dialogs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from anabranch.testing.server import running_server


@pytest.fixture
def listed(page, repository):
    for name in ("a.csv", "b.csv", "c/d.csv"):
        repository.put(name)
    page.goto(f"/repositories/{repository.name}/objects?ref=main")
    expect(page.get_by_role("link", name="a.csv")).to_be_visible()
    return page


@pytest.mark.slow  # as to branches and objects
def test_palette_goes_to_a_repository(page, repository):
    page.goto("/repositories")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to or do").fill(repository.name)
    expect(page.get_by_role("option", name=f"Repository {repository.name}")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/repositories/{repository.name}/objects"))


@pytest.mark.slow  # as places
def test_palette_offers_what_the_page_can_do(listed):
    listed.keyboard.press("Control+k")
    listed.get_by_role("combobox", name="Go to or do").fill("new fold")
    listed.keyboard.press("Enter")
    expect(listed.get_by_role("dialog", name="New folder")).to_be_visible()
    listed.keyboard.press("Escape")
    expect(listed.get_by_role("dialog", name="New folder")).to_have_count(0)


def test_palette_goes_to_branches_and_to_objects_at_the_reference_shown(listed, repository):
    repository.branch("deep-dive")
    repository.put("c/only here.csv", branch="deep-dive")
    listed.keyboard.press("Control+k")
    field = listed.get_by_role("combobox", name="Go to or do")
    field.fill("deep")
    expect(listed.get_by_role("option", name="Branch deep-dive")).to_be_visible()
    listed.keyboard.press("Enter")
    expect(listed).to_have_url(re.compile(f"/{repository.name}/objects.ref=deep-dive"))
    listed.keyboard.press("Control+k")
    field.fill("c/only h")
    expect(listed.get_by_role("option", name="Object c/only here.csv")).to_be_visible()
    listed.keyboard.press("Enter")
    expect(listed).to_have_url(re.compile("/object.ref=deep-dive&path=c%2Fonly"))


def test_the_menu_of_the_user_says_which_version_the_server_has(listed, api):
    version = api.get("/config").json()["version_config"]["anabranch_version"]
    listed.get_by_role("button", name="User tester").click()
    listed.get_by_role("menuitem", name=f"Version {version}", exact=True).click()
    expect(listed.get_by_text("Version copied")).to_be_visible()
    assert listed.evaluate("navigator.clipboard.readText()") == version


@pytest.mark.slow  # a link, for a server of its own
def test_the_menu_of_the_user_leads_to_the_documentation_that_is_set(open_page, listed, tmp_path):
    listed.get_by_role("button", name="User tester").click()
    expect(listed.get_by_role("menuitem", name="API description")).to_be_visible()
    expect(listed.get_by_role("menuitem", name="Documentation")).to_have_count(0)
    url = "https://docs.example/anabranch/?a=1"
    with running_server(tmp_path, env={"ANABRANCH_PAGES_DOCUMENTATION_URL": url}) as server:
        page = open_page(server)
        page.goto("/repositories")
        page.get_by_role("button", name="User tester").click()
        entry = page.get_by_role("menuitem", name="Documentation")
        expect(entry).to_have_attribute("href", url)
        expect(entry).to_have_attribute("rel", "noopener noreferrer")


def test_keys_go_to_pages_and_to_the_search(listed, repository):
    listed.keyboard.press("g")
    listed.keyboard.press("u")
    expect(listed).to_have_url(re.compile(f"/repositories/{repository.name}/changes"))
    expect(listed.get_by_role("treegrid")).to_be_visible()
    listed.keyboard.press("/")
    expect(listed.get_by_label("Search by prefix")).to_be_focused()
    listed.keyboard.type("g d")  # typed, not a command
    expect(listed.get_by_label("Search by prefix")).to_have_value("g d")
    expect(listed).to_have_url(re.compile("/changes"))


def test_arrows_move_in_a_list_and_enter_opens(listed):
    listed.get_by_role("link", name="a.csv").focus()
    listed.keyboard.press("ArrowDown")
    expect(listed.get_by_role("link", name="b.csv")).to_be_focused()
    listed.keyboard.press("End")
    expect(listed.get_by_role("link", name="c/")).to_be_focused()
    listed.keyboard.press("Enter")
    expect(listed.get_by_role("link", name="d.csv")).to_be_visible()


def test_menu_opens_moves_and_gives_the_focus_back(listed):
    button = listed.get_by_role("button", name="Actions on a.csv")
    button.focus()
    listed.keyboard.press("Enter")
    expect(listed.get_by_role("menuitem", name="Download")).to_be_focused()
    listed.keyboard.press("ArrowDown")
    expect(listed.get_by_role("menuitem", name="Copy URI")).to_be_focused()
    listed.keyboard.press("Escape")
    expect(listed.get_by_role("menu")).to_have_count(0)
    expect(button).to_be_focused()


def test_dialog_keeps_the_focus_and_gives_it_back(listed):
    button = listed.get_by_role("button", name="Upload")
    button.focus()
    listed.keyboard.press("Enter")
    dialog = listed.get_by_role("dialog")
    expect(dialog.get_by_label("Folder", exact=True)).to_be_focused()
    for _ in range(8):
        listed.keyboard.press("Tab")
        assert listed.evaluate(
            "document.activeElement === document.body"
            " || document.querySelector('dialog').contains(document.activeElement)"
        )
    listed.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


def test_new_page_has_the_focus_on_its_heading(listed):
    listed.get_by_role("link", name="a.csv").press("Enter")
    expect(listed.get_by_role("heading", level=1)).to_be_focused()
    expect(listed).to_have_title(re.compile("^a.csv · "))


@pytest.mark.slow  # web/tests/changes/change-tree.test.ts
def test_tree_folds_by_arrows(page, repository):
    repository.put("a/b.csv")
    repository.put("a/c.csv")
    page.goto(f"/repositories/{repository.name}/changes?ref=main")
    rows = page.get_by_role("treegrid").locator("[data-row]")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="a/", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    expect(rows).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(rows).to_have_count(3)


def test_single_keys_can_be_turned_off(listed):
    listed.get_by_role("button", name="User tester").click()
    listed.get_by_role("menuitemcheckbox", name="Single-key shortcuts").click()
    listed.reload()
    expect(listed.get_by_role("link", name="a.csv")).to_be_visible()
    listed.keyboard.press("f")
    listed.keyboard.press("Control+k")
    expect(listed.get_by_role("dialog", name="Go to or do")).to_be_visible()
    expect(listed.get_by_role("dialog", name="New folder")).to_have_count(0)
