"""The settings of a repository."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect
from support.repository_calls import call


def settings_url(repository, section):
    return f"/repositories/{repository.name}/settings/{section}"


def protection(repository):
    return call(repository, "GET", "settings/branch_protection")


def test_repository_is_deleted_only_after_its_name_is_typed(page, repository):
    page.goto(settings_url(repository, "general"))
    expect(page.get_by_text(f"local://{repository.name}", exact=True)).to_be_visible()
    page.get_by_role("button", name="Delete repository").click()
    dialog = page.get_by_role("dialog")
    confirm = dialog.get_by_role("button", name="Delete repository")
    expect(confirm).to_be_disabled()
    dialog.get_by_role("textbox").fill(repository.name)
    confirm.click()
    expect(page).to_have_url(re.compile("/repositories$"))
    assert repository.api.get(repository.path).status_code == 404


def test_rules_of_protection_are_added_changed_and_deleted(page, repository):
    page.goto(settings_url(repository, "branches"))
    page.get_by_role("button", name="Add rule").click()
    page.get_by_label("Pattern").fill("release-*")
    page.get_by_label("Required approvals").select_option("2")
    page.get_by_role("button", name="Add rule").last.click()
    approvals = page.get_by_label("Required approvals for release-*")
    expect(approvals).to_have_value("2")
    assert protection(repository) == [{"pattern": "release-*", "required_approvals": 2}]
    approvals.select_option("0")
    expect(page.get_by_text("The rule for release-* was changed")).to_be_visible()
    assert protection(repository) == [{"pattern": "release-*"}]
    page.get_by_role("button", name="Delete the rule for release-*").click()
    expect(page.get_by_text("No branch is protected")).to_be_visible()
    assert protection(repository) == []


@pytest.mark.parametrize(
    ("tab", "name", "fields"),
    [("branches", "branch_protection", {}), ("ends", "branch_ends", {"expires": "7d"})],
)
@pytest.mark.sample(1)
def test_rules_changed_at_once_are_changed_one_after_the_other(page, repository, tab, name, fields):
    rules = [{"pattern": each, **fields} for each in "abc"]
    call(repository, "PUT", f"settings/{name}", rules)
    page.goto(settings_url(repository, tab))
    page.get_by_role("button", name="Delete the rule for c").wait_for()
    buttons = page.get_by_role("button", name=re.compile("^Delete the rule for [ab]$"))
    buttons.evaluate_all("buttons => buttons.forEach(button => button.click())")
    expect(page.get_by_text("The rule for b was deleted")).to_be_visible()
    kept = call(repository, "GET", f"settings/{name}")
    assert [each["pattern"] for each in kept] == ["c"]


def test_invalid_pattern_is_told_and_adds_no_rule(page, repository):
    page.goto(settings_url(repository, "branches"))
    page.get_by_role("button", name="Add rule").click()
    page.get_by_label("Pattern").fill("release-[")
    page.get_by_role("button", name="Add rule").last.click()
    expect(page.get_by_role("alert")).to_contain_text("The rule was not added")
    assert protection(repository) == []


def test_rules_that_another_browser_changed_are_not_overwritten(open_page, site, repository):
    call(repository, "PUT", "settings/branch_protection", [{"pattern": "main"}])
    first, second = open_page(site), open_page(site)
    for page in [first, second]:
        page.goto(settings_url(repository, "branches"))
        expect(page.get_by_label("Required approvals for main")).to_be_visible()
    first.get_by_label("Required approvals for main").select_option("1")
    expect(first.get_by_text("The rule for main was changed")).to_be_visible()
    second.get_by_role("button", name="Delete the rule for main").click()
    expect(second.get_by_role("alert")).to_contain_text("The rules stay as they were")
    expect(second.get_by_label("Required approvals for main")).to_have_value("1")
    assert protection(repository) == [{"pattern": "main", "required_approvals": 1}]


def test_retention_rules_are_set_in_the_form_and_deleted(page, repository):
    page.goto(settings_url(repository, "retention"))
    page.get_by_label("Days by default").fill("30")
    page.get_by_role("button", name="Add a branch").click()
    page.get_by_label("Branch 1", exact=True).fill("main")
    page.get_by_label("Days of branch 1").fill("7")
    page.get_by_role("button", name="Save rules").click()
    expect(page.get_by_text("The retention rules were saved")).to_be_visible()
    rules = {
        "default_retention_days": 30,
        "branches": [{"branch_id": "main", "retention_days": 7}],
    }
    assert call(repository, "GET", "settings/gc_rules") == rules
    page.get_by_role("button", name="Delete rules").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete rules").click()
    expect(page.get_by_text("garbage collection keeps everything")).to_be_visible()
    assert repository.api.get(f"{repository.path}/settings/gc_rules").status_code == 404


@pytest.mark.slow  # web/tests/pages/settings/retention-rules.test.ts
def test_retention_rules_are_written_as_json(page, repository):
    page.goto(settings_url(repository, "retention?as=json"))
    text = page.get_by_label("Rules as JSON")
    text.fill('{"default_retention_days": "many"}')
    page.get_by_role("button", name="Save rules").click()
    expect(page.get_by_role("alert")).to_contain_text("The rules do not look like")
    assert repository.api.get(f"{repository.path}/settings/gc_rules").status_code == 404
    rules = {"default_retention_days": 9, "branches": []}
    text.fill(json.dumps(rules))
    page.get_by_role("button", name="As a form").click()
    expect(page.get_by_label("Days by default")).to_have_value("9")
    page.get_by_role("button", name="Save rules").click()
    expect(page.get_by_text("The retention rules were saved")).to_be_visible()
    assert call(repository, "GET", "settings/gc_rules") == rules


@pytest.mark.slow  # a form as that of retention
def test_metadata_of_the_repository_are_added_and_removed(page, repository):
    call(repository, "POST", "metadata", {"metadata": {"old": "1", "kept": "2"}})
    page.goto(settings_url(repository, "metadata"))
    page.get_by_role("button", name="Remove old").click()
    page.get_by_role("button", name="Add a key").click()
    page.get_by_role("textbox", name="Key 2").fill("owner")
    page.get_by_role("textbox", name="Value 2").fill("<geology>")
    page.get_by_role("button", name="Save metadata").click()
    expect(page.get_by_text("The metadata were saved")).to_be_visible()
    assert call(repository, "GET", "metadata") == {"kept": "2", "owner": "<geology>"}


@pytest.mark.slow  # a moment that fast hands alone notice
def test_a_new_key_has_the_focus_before_anything_can_be_typed(page, repository):
    page.goto(settings_url(repository, "metadata"))
    page.get_by_role("button", name="Add a key").wait_for()
    page.evaluate("window.requestAnimationFrame = () => 0")
    page.get_by_role("button", name="Add a key").dispatch_event("click")
    expect(page.get_by_role("textbox", name="Key 1")).to_be_focused()


@pytest.mark.slow  # web/tests/deletion, tests/catalog
def test_repository_is_deleted_with_its_data_if_that_is_chosen(page, repository):
    repository.put("a", b"12345")
    page.goto(settings_url(repository, "general"))
    page.get_by_role("button", name="Delete repository").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Delete the data of its objects, too").check()
    expect(dialog.get_by_text("cannot be restored")).to_contain_text(f"local://{repository.name}")
    dialog.get_by_role("textbox").fill(repository.name)
    dialog.get_by_role("button", name="Delete repository and data").click()
    result = page.get_by_text(f"Repository {repository.name} deleted with 1 object, 5 B")
    expect(result).to_be_visible()
    expect(page).to_have_url(re.compile("/repositories$"))
    assert repository.api.get(repository.path).status_code == 404
    left = repository.api.get("/storage/namespaces").json()["results"]
    assert repository.name not in {each["repository"] for each in left}


def test_notifications_are_sent_to_addresses_that_are_not_shown_again(page, repository):
    page.goto(settings_url(repository, "notifications"))
    expect(page.get_by_text("Nothing is sent")).to_be_visible()
    page.get_by_role("button", name="Add address").click()
    page.get_by_label("Address").fill("ftp://chat.example/cedfca83")
    page.get_by_role("button", name="Add address").last.click()
    expect(page.get_by_role("alert")).to_contain_text("does not begin with https://")
    page.get_by_label("Address").fill("https://chat.example/cedfca83")
    page.get_by_label("Format").select_option("slack")
    page.get_by_label("Comments").uncheck()
    page.get_by_label("Reviews", exact=True).uncheck()
    page.get_by_role("button", name="Add address").last.click()
    row = page.get_by_role("table", name="Addresses of notifications").get_by_role("row").nth(1)
    expect(row).to_contain_text("chat.example")
    expect(row).to_contain_text("Slack, a sentence")
    (target,) = call(repository, "GET", "settings/notifications")["results"]
    assert target["events"] == [
        "pull_request_opened",
        "pull_request_merged",
        "review_requested",
        "hook_failed",
    ]
    assert "cedfca83" not in page.content()
    page.get_by_role("button", name="Delete the address at chat.example").click()
    expect(page.get_by_text("Nothing is sent")).to_be_visible()
    assert call(repository, "GET", "settings/notifications")["results"] == []


@pytest.mark.slow  # as those of protection, by the same form
def test_rules_of_ends_are_added_and_deleted(page, repository):
    page.goto(settings_url(repository, "ends"))
    expect(page.get_by_text("No branch ends by its name")).to_be_visible()
    page.get_by_role("button", name="Add rule").click()
    page.get_by_label("Pattern").fill("tmp-*")
    page.get_by_label("End after").fill("soon")
    page.get_by_label("Leave them out of listings").check()
    page.get_by_role("button", name="Add rule").last.click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(
        "The rule was not added"
    )
    page.get_by_label("End after").fill("7d")
    page.get_by_role("button", name="Add rule").last.click()
    row = page.get_by_role("table", name="Ends of branches").locator("tbody tr")
    expect(row).to_contain_text("tmp-*")
    wanted = [{"pattern": "tmp-*", "expires": "7d", "hidden": True}]
    assert call(repository, "GET", "settings/branch_ends") == wanted
    row.get_by_role("button", name="Delete the rule for tmp-*").click()
    expect(page.get_by_text("No branch ends by its name")).to_be_visible()
    assert call(repository, "GET", "settings/branch_ends") == []
