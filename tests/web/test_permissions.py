"""What the pages offer to users who may not do everything."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import expect

DENIED = re.compile("You do not have the permission (fs|auth):")


@pytest.fixture
def member(api, open_page, site):
    """Returns a function that opens a page as a new user in groups, with a policy's statements."""
    made = []

    def sign_in(*statements, groups=()):
        name = f"test-{uuid.uuid4().hex[:8]}"
        made.append(name)
        api.post("/auth/users", json={"id": name}).raise_for_status()
        for group in groups:
            api.put(f"/auth/groups/{group}/members/{name}").raise_for_status()
        if statements:
            body = {"id": name, "statement": list(statements)}
            api.post("/auth/policies", json=body).raise_for_status()
            api.put(f"/auth/users/{name}/policies/{name}").raise_for_status()
        keys = api.post(f"/auth/users/{name}/credentials").json()
        body = {each: keys[each] for each in ["access_key_id", "secret_access_key"]}
        page = open_page(site, signed_in=False)
        assert page.request.post(f"{site.url}/api/v1/auth/login", data=body).ok
        return page

    yield sign_in
    for name in made:
        for kind in ["users", "policies"]:
            api.delete(f"/auth/{kind}/{name}")


def expect_refused(button):
    expect(button).to_be_disabled()
    expect(button).to_have_attribute("title", DENIED)


def test_a_viewer_is_offered_nothing_that_would_be_refused(member, repository):
    repository.put("data/a")
    repository.commit()
    repository.put("data/b")
    repository.branch("dev")
    page = member(groups=["Viewers"])
    home = f"/repositories/{repository.name}"

    def button(name, **options):
        return page.get_by_role("button", name=name, **options)

    asked = []
    page.on("request", lambda sent: "/user/permissions" in sent.url and asked.append(sent.url))
    page.goto(f"{home}/objects?ref=main")
    expect_refused(button("Upload"))
    button("Actions on data/").click()
    expect_refused(page.get_by_role("menuitem", name="Delete folder"))
    expect_refused(page.get_by_role("menuitem", name="Rename or move"))
    expect(page.get_by_role("menuitem", name="Calculate size")).to_be_enabled()
    assert len(asked) == 1
    page.goto(f"{home}/changes?ref=main")
    expect_refused(button("Commit", exact=True))
    page.goto(f"{home}/compare?ref=main&compare=dev")
    expect_refused(button("Merge…"))
    page.goto(f"{home}/branches")
    expect_refused(button("Create branch"))
    button("Actions on dev").click()
    expect_refused(page.get_by_role("menuitem", name="Delete branch"))
    page.goto(f"{home}/tags")
    expect_refused(button("Create tag"))
    page.goto(f"{home}/settings")
    expect_refused(button("Delete repository"))
    page.goto("/repositories")
    expect_refused(button("Create repository"))
    for kind, noun in [("users", "user"), ("groups", "group"), ("policies", "policy")]:
        page.goto(f"/auth/{kind}")
        expect_refused(button(f"Create {noun}"))


def test_an_administrator_is_offered_everything(page, repository):
    repository.put("data/a")
    page.goto(f"/repositories/{repository.name}/changes?ref=main")
    with page.expect_response(lambda answer: "/user/permissions" in answer.url) as answer:
        page.goto(f"/repositories/{repository.name}/objects?ref=main")
    assert answer.value.ok
    expect(page.get_by_role("button", name="Upload")).to_be_enabled()
    page.get_by_role("button", name="Actions on data/").click()
    expect(page.get_by_role("menuitem", name="Delete folder")).to_be_enabled()


@pytest.mark.slow  # web/tests/access/own-permissions.test.ts
def test_without_an_answer_everything_is_offered(member, repository):
    page = member(groups=["Viewers"])
    page.route("**/user/permissions?*", lambda route: route.abort())
    with page.expect_event("requestfailed"):
        page.goto(f"/repositories/{repository.name}/objects?ref=main")
    expect(page.get_by_text("There are no objects yet")).to_be_visible()
    for button in page.get_by_role("button", name="Upload").all():
        expect(button).to_be_enabled()


@pytest.mark.parametrize("exists", [False, True])
def test_objects_that_may_not_be_read_are_not_called_absent(member, repository, exists):
    if exists:
        repository.put("secret/a")
    arn = f"arn:lakefs:fs:::repository/{repository.name}"
    look = ["fs:ReadRepository", "fs:ListObjects", "fs:ListBranches", "fs:ReadBranch"]
    looking = {"effect": "allow", "action": [*look, "fs:ReadConfig"], "resource": "*"}
    some = {"effect": "allow", "action": ["fs:ReadObject"], "resource": f"{arn}/object/data/*"}
    page = member(looking)
    page.goto(f"/repositories/{repository.name}/objects?ref=main")
    expect(page.get_by_text("You may not read any objects here")).to_be_visible()
    expect(page.get_by_text("Drop files here")).to_have_count(0)
    expect(page.get_by_text("secret")).to_have_count(0)
    page = member(looking, some)
    page.goto(f"/repositories/{repository.name}/objects?ref=main")
    expect(page.get_by_text("There are no objects here that you may read")).to_be_visible()
    page.goto(f"/repositories/{repository.name}/objects?ref=main&path=data/")
    expect(page.get_by_text("There are no objects", exact=True)).to_be_visible()
