"""No page offers a reader what the server would refuse; an administrator is offered all of it."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import expect
from support.repository_calls import call

READER = {
    "effect": "allow",
    "action": [
        *("fs:Read*", "fs:List*", "auth:Read*", "auth:List*", "ci:Read*", "pr:Read*", "pr:List*"),
        *("branches:Get*", "retention:Get*"),
    ],
    "resource": "*",
}
DENIED = re.compile("You do not have the permission [a-z]+:[A-Z][A-Za-z]+ for this")

PAGES = {
    "/repositories": ["Create repository"],
    "{home}/objects?ref=main": ["Upload"],
    "{home}/object?ref=main&path=data/a&tab=metadata": ["Edit metadata"],
    "{home}/changes?ref=main": ["Commit", "Revert all"],
    "{home}/commits?ref=main": ["Revert several…"],
    "{home}/branches": ["Create branch"],
    "{home}/tags": ["Create tag"],
    "{home}/compare?ref=main&compare=dev": ["Merge…", "Create pull request"],
    "{home}/pulls": ["Create pull request"],
    "{home}/pulls/create?source=dev&destination=main": ["Create pull request"],
    "{home}/pulls/{pull}": [
        *("Edit", "Close", "Merge…", "Comment", "Approve", "Request changes"),
        "Ask {user} no longer",
    ],
    "{home}/pulls/{pull}?tab=changes&open=data/c": [
        "Comment on this path",
        "Comment on line 1 after the change",
    ],
    "{home}/pulls/{pull}?merge=1": ["Merge into main"],
    "{home}/pulls/{closed}": ["Open again"],
    "{home}/settings": ["Delete repository"],
    "{home}/settings/branches": ["Add rule", "Delete the rule for dev"],
    "{home}/settings/retention": ["Save rules", "Delete rules"],
    "{home}/settings/notifications": ["Add address"],
    "{home}/settings/metadata": ["Save metadata"],
    "{home}/storage": ["Find out"],
    "/images": ["Build image"],
    "/images/build": ["Dry run"],
    "/auth/users/{user}/groups": [
        "Add to groups",
        "Remove Readers",
        "End all sessions",
        "Deactivate",
    ],
    "/auth/users/{user}/policies": ["Attach policies", "Detach {user}"],
    "/auth/users/{user}/credentials": ["Create access key"],
    "/auth/groups/Readers": ["Add members", "Remove {user}"],
    "/auth/groups/Readers/policies": ["Attach policies", "Detach FSReadAll"],
}
"""The buttons that change something, by page."""
MENUS = {
    "{home}/objects?ref=main": {
        "Actions on data/": ["Rename or move", "Delete folder"],
        "More actions": ["Import objects", "New folder"],
    },
    "{home}/commits?ref=main": {
        "Actions on commit": [
            *("Create branch here", "Create tag here"),
            *("Cherry-pick to a branch", "Revert on a branch"),
        ],
    },
    "{home}/branches": {"Actions on main": ["Create a branch from it", "Protect"]},
    "/repositories?search={name}": {"Actions on {name}": ["Delete repository"]},
}
"""The entries of menus that change something, by page and menu."""


@pytest.fixture
def reader(api):
    """The name of a user who may read everything, and a group of the user's."""
    name = f"reader-{uuid.uuid4().hex[:8]}"
    api.post("/auth/users", json={"id": name}).raise_for_status()
    api.post("/auth/policies", json={"id": name, "statement": [READER]}).raise_for_status()
    api.put(f"/auth/users/{name}/policies/{name}").raise_for_status()
    api.post("/auth/groups", json={"id": "Readers"}).raise_for_status()
    api.put("/auth/groups/Readers/policies/FSReadAll").raise_for_status()
    api.put(f"/auth/groups/Readers/members/{name}").raise_for_status()
    yield name
    api.delete("/auth/groups/Readers")
    for kind in ["users", "policies"]:
        api.delete(f"/auth/{kind}/{name}")


@pytest.fixture
def places(repository, reader):
    """What the addresses and names of `PAGES` and `MENUS` contain."""
    repository.put("data/a")
    repository.commit()
    repository.put("data/b")
    repository.branch("dev")
    repository.put("data/c", branch="dev")
    repository.commit(branch="dev")
    body = {"title": "Dev", "source_branch": "dev", "destination_branch": "main"}
    body["reviewers"] = [{"name": reader}]
    pull, closed = (call(repository, "POST", "pulls", body)["id"] for _ in range(2))
    call(repository, "PATCH", f"pulls/{closed}", {"status": "closed"})
    call(repository, "PUT", "settings/branch_protection", [{"pattern": "dev"}])
    rules = {"default_retention_days": 9, "branches": []}
    call(repository, "PUT", "settings/gc_rules", rules)
    home = f"/repositories/{repository.name}"
    names = {"name": repository.name, "user": reader, "pull": pull, "closed": closed}
    return {"home": home, **names}


def offered(page, places):
    """Yields the buttons and menu entries that change something."""
    for address, names in PAGES.items():
        page.goto(address.format(**places))
        for name in names:
            yield page.get_by_role("button", name=name.format(**places), exact=True)
        for menu, entries in MENUS.get(address, {}).items():
            yield from menu_entries(page, menu.format(**places), entries)
    for address in MENUS.keys() - PAGES.keys():
        page.goto(address.format(**places))
        for menu, entries in MENUS[address].items():
            yield from menu_entries(page, menu.format(**places), entries)


def menu_entries(page, menu, entries):
    button = page.get_by_role("button", name=menu).first
    button.click()
    for entry in entries:
        yield page.get_by_role("menuitem", name=entry, exact=True)
    page.keyboard.press("Escape")


@pytest.mark.slow
def test_a_reader_is_offered_nothing_that_would_be_refused(api, open_page, site, places):
    keys = api.post(f"/auth/users/{places['user']}/credentials").json()
    body = {each: keys[each] for each in ["access_key_id", "secret_access_key"]}
    page = open_page(site, signed_in=False)
    assert page.request.post(f"{site.url}/api/v1/auth/login", data=body).ok
    for button in offered(page, places):
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", DENIED)


@pytest.mark.slow
def test_an_administrator_is_offered_everything_on_every_page(page, places):
    for button in offered(page, places):
        if button.get_attribute("type") == "submit":
            expect(button).not_to_have_attribute("title", DENIED)
        else:
            expect(button).to_be_enabled()
