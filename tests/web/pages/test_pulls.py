"""Pull requests: created, looked at, discussed, approved, merged."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from support.repository_calls import call


@pytest.fixture
def proposed(repository):
    """A branch with a change for main."""
    repository.put("a.txt", b"one\n")
    repository.commit("First")
    repository.branch("fix")
    repository.put("a.txt", b"two\n", branch="fix")
    repository.commit("Second", branch="fix")
    return repository


def create(repository, *, title="Fix it", description=""):
    body = {
        "title": title,
        "description": description,
        "source_branch": "fix",
        "destination_branch": "main",
    }
    return call(repository, "POST", "pulls", body)["id"]


def pull_url(repository, pull="", more=""):
    return f"/repositories/{repository.name}/pulls/{pull}{more}".replace("pulls/?", "pulls?")


def state_of(repository, pull):
    return call(repository, "GET", f"pulls/{pull}")["status"]


def test_pull_request_is_created_with_its_differences_in_sight(page, proposed):
    page.goto(f"/repositories/{proposed.name}/compare?ref=main&compare=fix")
    page.get_by_role("button", name="Create pull request").click()
    expect(page.get_by_role("link", name="a.txt, changed")).to_be_visible()
    create_button = page.get_by_role("button", name="Create pull request")
    expect(create_button).to_be_disabled()
    page.get_by_label("Title").fill("Correct a.txt")
    page.get_by_label("Description").fill("Because of **two**.")
    create_button.click()
    expect(page.get_by_role("heading", name="Correct a.txt")).to_be_visible()
    expect(page.locator("strong", has_text="two")).to_be_visible()
    (pull,) = call(proposed, "GET", "pulls")["results"]
    assert (pull["source_branch"], pull["destination_branch"]) == ("fix", "main")


def test_list_has_open_ones_and_on_request_the_others(page, proposed):
    create(proposed, title="Still open")
    closed = create(proposed, title="Given up")
    call(proposed, "PATCH", f"pulls/{closed}", {"status": "closed"})
    page.goto(f"/repositories/{proposed.name}/pulls")
    pulls = page.get_by_role("list", name="Pull requests")
    expect(pulls.get_by_role("link")).to_have_text(["Still open"])
    page.get_by_role("link", name="Closed and merged").click()
    expect(pulls.get_by_role("link")).to_have_text(["Given up"])
    page.get_by_role("link", name="All", exact=True).click()
    expect(pulls.get_by_role("link")).to_have_text(["Given up", "Still open"])


@pytest.mark.slow  # one state of many; tests/catalog has it
def test_an_open_one_says_that_its_source_was_deleted(page, proposed):
    pull = create(proposed)
    call(proposed, "PUT", f"pulls/{pull}/merge")
    merge = call(proposed, "GET", "operations")["results"][0]["id"]
    call(proposed, "DELETE", "branches/fix")
    call(proposed, "POST", "undo", {"operation": merge})
    assert state_of(proposed, pull) == "open"
    page.goto(pull_url(proposed, pull))
    expect(page.get_by_role("note")).to_contain_text("The branch fix was deleted.")
    expect(page.get_by_role("button", name="Merge…")).to_have_count(0)
    call(proposed, "POST", "branches/fix/restore")
    page.reload()
    expect(page.get_by_role("button", name="Merge…")).to_be_visible()
    expect(page.get_by_role("note")).to_have_count(0)


def test_comment_is_added_and_its_markdown_runs_no_script(page, proposed):
    pull = create(proposed, description="<script>alert(1)</script> [x](javascript:alert(2))")
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(pull_url(proposed, pull))
    page.get_by_label("Say something").fill("Look at *this* <img src=x onerror=alert(3)>")
    page.get_by_role("button", name="Comment", exact=True).click()
    entry = page.get_by_role("list", name="Comments and reviews").get_by_role("listitem")
    expect(entry).to_contain_text("commented")
    expect(entry.locator("em")).to_have_text("this")
    expect(page.locator("main [onerror], main script, main a[href^=javascript]")).to_have_count(0)
    (comment,) = call(proposed, "GET", f"pulls/{pull}/comments")["results"]
    assert comment["text"].startswith("Look at *this*")
    assert dialogs == []


@pytest.mark.slow  # one on a line, below
def test_comment_on_a_path_leads_back_to_its_difference(page, proposed):
    pull = create(proposed)
    page.goto(pull_url(proposed, pull, "?tab=changes"))
    page.get_by_role("link", name="a.txt, changed").click()
    expect(page.get_by_role("table", name="Lines that differ")).to_be_visible()
    page.get_by_role("button", name="Comment on this path").click()
    page.get_by_label("Comment", exact=True).fill("Why two?")
    page.get_by_role("dialog").get_by_role("button", name="Comment", exact=True).click()
    expect(page.get_by_text("Comment on a.txt added")).to_be_visible()
    page.get_by_role("link", name="Conversation").click()
    page.get_by_role("link", name="a.txt", exact=True).click()
    expect(page.get_by_role("table", name="Lines that differ")).to_be_visible()


def test_comment_on_a_line_moves_with_it_until_the_line_is_gone(page, proposed):
    proposed.put("a.txt", b"one\n2\n3\n", branch="fix")
    proposed.commit("Three lines", branch="fix")
    pull = create(proposed)
    page.goto(pull_url(proposed, pull, "?tab=changes&open=a.txt"))
    page.get_by_role("button", name="Comment on line 2 after the change").click()
    page.get_by_label("Comment", exact=True).fill("<img src=x onerror=alert(1)> **why?**")
    page.get_by_role("dialog").get_by_role("button", name="Comment", exact=True).click()
    said = page.get_by_role("list", name="Comments on line 2")
    expect(said).to_contain_text("<img src=x onerror=alert(1)> **why?**")
    expect(page.locator("main [onerror]")).to_have_count(0)
    (comment,) = call(proposed, "GET", f"pulls/{pull}/comments")["results"]
    head = proposed.head("fix")["id"]
    assert comment["place"] == {"side": "after", "commit_id": head, "line": 2}

    proposed.put("a.txt", b"zero\none\n2\n3\n", branch="fix")
    proposed.commit("Another line before", branch="fix")
    page.reload()
    expect(page.get_by_role("list", name="Comments on line 3")).to_contain_text("why?")
    proposed.put("a.txt", b"zero\none\n3\n", branch="fix")
    proposed.commit("Without the line", branch="fix")
    page.reload()
    gone = page.get_by_role("list", name="Comments on lines that have gone")
    expect(gone).to_contain_text("outdated")
    expect(gone).to_contain_text("line 2")
    page.get_by_role("button", name="Information").click()
    expect(page.get_by_role("list", name="Comments on a.txt")).to_contain_text("why?")
    page.get_by_role("link", name="Conversation").click()
    expect(page.get_by_role("list", name="Comments and reviews")).to_contain_text("line 2 of a.txt")


@pytest.mark.slow  # web/tests/diff/comments.test.ts
def test_comment_on_a_row_is_beside_the_row_of_its_key(page, proposed):
    proposed.put("t.csv", b"id,name\n1,ada\n2,bob\n")
    proposed.commit("A table")
    proposed.branch("rows")
    proposed.put("t.csv", b"id,name\n1,Ada\n2,Bob\n", branch="rows")
    proposed.commit("Capitals", branch="rows")
    body = {"title": "Names", "source_branch": "rows", "destination_branch": "main"}
    pull = call(proposed, "POST", "pulls", body)["id"]
    page.goto(pull_url(proposed, pull, "?tab=changes&open=t.csv&key=id"))
    page.get_by_role("button", name="Comment on row 2").click()
    expect(page.get_by_role("dialog")).to_contain_text("row id = 2 of t.csv")
    page.get_by_label("Comment", exact=True).fill("Is it <b>Bob</b>?")
    page.get_by_role("dialog").get_by_role("button", name="Comment", exact=True).click()
    expect(page.get_by_role("list", name="Comments on row 2")).to_contain_text("Is it <b>Bob</b>?")
    proposed.put("t.csv", b"id,name\n1,Ada\n2,bob\n", branch="rows")
    proposed.commit("Not Bob", branch="rows")
    page.reload()
    gone = page.get_by_role("list", name="Comments on other rows")
    expect(gone).to_contain_text("row id = 2")
    expect(gone).to_contain_text("outdated")


def test_required_approval_of_somebody_else_lets_it_be_merged(page, proposed, reviewer):
    rules = [{"pattern": "main", "required_approvals": 1}]
    call(proposed, "PUT", "settings/branch_protection", rules)
    pull = create(proposed)
    page.goto(pull_url(proposed, pull, "?merge=1"))
    checks = page.get_by_role("list", name="Checks")
    expect(checks).to_contain_text("0 of 1 required approval")
    page.get_by_role("button", name="Approve").click()
    entries = page.get_by_role("list", name="Comments and reviews").get_by_role("listitem")
    expect(entries.first).to_contain_text("does not count")
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_role("alert")).to_contain_text("1 of 1 required approval is missing")
    assert state_of(proposed, pull) == "open"

    reviewer.goto(pull_url(proposed, pull))
    reviewer.get_by_label("Say something").fill("Looks right")
    reviewer.get_by_role("button", name="Approve").click()
    expect(reviewer.get_by_role("list", name="Checks")).to_contain_text("1 of 1 required")

    page.reload()
    expect(checks).to_contain_text("1 of 1 required approval")
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_text("The pull request is merged")).to_be_visible()
    expect(page.get_by_text("merged", exact=True).first).to_be_visible()
    assert state_of(proposed, pull) == "merged"
    assert proposed.get("a.txt") == b"two\n"


@pytest.fixture
def reviewer(open_page, site, api):
    """A page at which another user is signed in."""
    api.post("/auth/users", json={"id": "reviewer"})
    api.put("/auth/groups/SuperUsers/members/reviewer")
    keys = api.post("/auth/users/reviewer/credentials").json()
    page = open_page(site, signed_in=False)
    body = {name: keys[name] for name in ["access_key_id", "secret_access_key"]}
    assert page.context.request.post("/api/v1/auth/login", data=body).ok
    yield page
    api.delete("/auth/users/reviewer")


@pytest.mark.slow  # web/tests/pages/pulls/reviewers.test.ts
def test_reviewers_are_asked_and_their_answers_shown(page, proposed, reviewer):
    page.goto(pull_url(proposed, more="create?source=fix&destination=main"))
    page.get_by_label("Title").fill("Ask first")
    name = page.get_by_label("Name of a reviewer")
    name.fill("nobody")
    name.press("Enter")
    expect(page.get_by_role("group", name="Reviewers")).to_contain_text("nobody")
    page.get_by_role("button", name="Create pull request").click()
    expect(page.get_by_role("alert")).to_contain_text("there is no user 'nobody'")
    page.get_by_role("button", name="Do not ask nobody").click()
    name.fill("reviewer")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("button", name="Create pull request").click()
    asked = page.get_by_role("list", name="Reviewers").get_by_role("listitem")
    expect(asked).to_have_text(["reviewer has not answered"])

    page.get_by_label("Kind of reviewer").select_option("Group")
    name.fill("SuperUsers")
    name.press("Enter")
    expect(asked).to_have_text(["group SuperUsers has not answered", "reviewer has not answered"])
    page.get_by_role("button", name="Ask group SuperUsers no longer").click()
    expect(asked).to_have_count(1)
    name.fill("<b>x</b>")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("there is no group '<b>x</b>'")

    reviewer.goto(pull_url(proposed))
    reviewer.get_by_role("link", name="Waiting for me").click()
    reviewer.get_by_role("link", name="Ask first").click()
    reviewer.get_by_role("button", name="Approve").click()
    expect(reviewer.get_by_role("list", name="Reviewers")).to_contain_text("reviewer approved")
    reviewer.goto(pull_url(proposed, more="?status=waiting"))
    expect(reviewer.get_by_text("None waits for your review")).to_be_visible()
    reviewer.get_by_role("link", name="Open", exact=True).click()
    expect(reviewer.get_by_text("reviewer approved")).to_be_visible()


@pytest.mark.slow  # as an approval, with another button
def test_changes_are_requested(page, proposed):
    pull = create(proposed)
    page.goto(pull_url(proposed, pull))
    page.get_by_label("Say something").fill("Not yet")
    page.get_by_role("button", name="Request changes").click()
    entries = page.get_by_role("list", name="Comments and reviews").get_by_role("listitem")
    expect(entries).to_contain_text("asked for changes")
    (review,) = call(proposed, "GET", f"pulls/{pull}/reviews")["results"]
    assert (review["state"], review["text"]) == ("changes_requested", "Not yet")
    assert review["commit_id"] == proposed.head("fix")["id"]


def test_conflicts_are_among_the_checks(page, proposed):
    proposed.put("a.txt", b"three\n")
    proposed.commit("Third")
    pull = create(proposed)
    page.goto(pull_url(proposed, pull))
    expect(page.get_by_role("list", name="Checks")).to_contain_text("1 conflict with main")
    page.get_by_role("button", name="Merge…").click()
    expect(page.get_by_role("button", name="Merge into main")).to_be_disabled()
    assert not page.get_by_label("Choice for a.txt").is_visible()
    page.get_by_role("button", name="Settle on fix…").click()
    expect(page.get_by_role("heading", name="Merge main into fix")).to_be_visible()
    page.get_by_label("Choice for a.txt").select_option("dest-wins")
    page.get_by_role("button", name="Merge into fix").click()
    expect(page.get_by_text("Conflicts settled on fix")).to_be_visible()
    assert len(proposed.head("fix")["parents"]) == 2
    expect(page.get_by_role("list", name="Checks")).to_contain_text("No conflicts with main")
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_text("The pull request is merged")).to_be_visible()
    assert proposed.get("a.txt") == b"two\n"


@pytest.mark.slow  # approvals and conflicts have tests of their own
def test_settled_conflicts_need_another_approval(page, proposed, reviewer):
    rules = [{"pattern": "main", "required_approvals": 1}]
    proposed.put("a.txt", b"three\n")
    proposed.commit("Third")
    call(proposed, "PUT", "settings/branch_protection", rules)
    pull = create(proposed)
    reviewer.goto(pull_url(proposed, pull))
    reviewer.get_by_role("button", name="Approve").click()
    expect(reviewer.get_by_role("list", name="Checks")).to_contain_text("1 of 1 required")

    page.goto(pull_url(proposed, pull, "?merge=1"))
    page.get_by_role("button", name="Settle on fix…").click()
    page.get_by_label("Choice for a.txt").select_option("base")
    page.get_by_role("button", name="Merge into fix").click()
    checks = page.get_by_role("list", name="Checks")
    expect(checks).to_contain_text("0 of 1 required approval")
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_role("alert")).to_contain_text("1 of 1 required approval is missing")
    assert state_of(proposed, pull) == "open"

    reviewer.reload()
    reviewer.get_by_role("button", name="Approve").click()
    expect(reviewer.get_by_role("list", name="Checks")).to_contain_text("1 of 1 required")
    page.reload()
    expect(checks).to_contain_text("1 of 1 required approval")
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_text("The pull request is merged")).to_be_visible()


def test_pull_request_is_edited_closed_and_opened_again(page, proposed):
    pull = create(proposed, title="Old title")
    page.goto(pull_url(proposed, pull))
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Title").fill("New title")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="New title")).to_be_visible()
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_role("button", name="Open again")).to_be_visible()
    assert state_of(proposed, pull) == "closed"
    page.get_by_role("button", name="Open again").click()
    expect(page.get_by_role("button", name="Merge…")).to_be_visible()
    assert state_of(proposed, pull) == "open"


def test_merged_pull_request_keeps_showing_what_it_changed(page, proposed):
    pull = create(proposed)
    call(proposed, "PUT", f"pulls/{pull}/merge", {})
    page.goto(pull_url(proposed, pull, "?tab=changes"))
    expect(page.get_by_role("link", name="a.txt, changed")).to_be_visible()
    expect(page.get_by_text(re.compile("merged as"))).to_be_visible()
