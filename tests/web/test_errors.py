"""What pages say of failures: the server's own words, and "Try again" only where that may help."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect


def notice(page):
    return page.get_by_role("main").get_by_role("alert")


def test_message_of_the_server_is_shown_as_it_was_sent(page, api, repository):
    path = f"/repositories/{repository.name}/commits/iota"
    page.goto(f"/repositories/{repository.name}/objects?ref=iota")
    sent = api.get(path).json()["message"]
    assert sent[0].islower()
    expect(notice(page).locator("p").first).to_have_text(sent)
    expect(notice(page).get_by_role("button", name="Try again")).to_have_count(0)


@pytest.mark.parametrize("place", ["objects?ref=main", "branches", "storage", "pulls"])
@pytest.mark.sample(1)
def test_missing_repository_cannot_be_tried_again(page, place):
    page.goto(f"/repositories/no-such-repository/{place}")
    expect(page.get_by_role("alert").first).to_contain_text("repository")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


@pytest.mark.parametrize("status", [400, 403, 404, 409, 501])
@pytest.mark.sample(1)
def test_refusal_cannot_be_tried_again(page, repository, status):
    refuse(page, repository, status)
    page.goto(f"/repositories/{repository.name}/tags")
    expect(notice(page)).to_contain_text("anna/2024 is what it is")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


@pytest.mark.parametrize("status", [0, 408, 429, 500, 502, 503, 504])
@pytest.mark.sample(1)
def test_failure_that_may_pass_is_tried_again(page, api, repository, status):
    tag = {"id": "first", "ref": "main"}
    api.post(f"{repository.path}/tags", json=tag).raise_for_status()
    refuse(page, repository, status)
    page.goto(f"/repositories/{repository.name}/tags")
    expect(notice(page)).to_contain_text("anna/2024" if status else "The server does not respond.")
    page.unroute_all()
    notice(page).get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="first", exact=True)).to_be_visible()
    expect(notice(page)).to_have_count(0)


def refuse(page, repository, status):
    """Has what is between the browser and the server refuse to list tags; 0 cuts the connection."""

    def answer(route):
        if status:
            route.fulfill(status=status, json={"message": "anna/2024 is what it is"})
        else:
            route.abort()

    page.route(f"**/api/v1/repositories/{repository.name}/tags?*", answer)


def test_page_whose_code_did_not_arrive_is_loaded_again(page, repository):
    page.goto(f"/repositories/{repository.name}/branches")
    expect(page.get_by_role("link", name="main").first).to_be_visible()
    page.route("**/assets/Tags-*.js", lambda route: route.abort())
    page.get_by_role("link", name="Tags").click()
    expect(notice(page)).to_contain_text("The page could not be loaded.")
    page.unroute_all()
    notice(page).get_by_role("button", name="Try again").click()
    expect(page.get_by_text("no tags", exact=False).first).to_be_visible()
