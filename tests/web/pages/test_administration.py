"""Users, groups, policies, access keys, explanations and the audit log."""

from __future__ import annotations

import json
import re
import uuid

import pytest
from playwright.sync_api import expect
from support.eventually import eventually

from anabranch.testing.server import running_server


@pytest.fixture
def name(api):
    """A name of the test's own for a user, a group or a policy."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    yield name
    for kind in ["users", "groups", "policies"]:
        api.delete(f"/auth/{kind}/{name}")


@pytest.fixture
def user(api, name):
    assert api.post("/auth/users", json={"id": name}).is_success
    return name


def test_user_is_created_and_deleted(page, api, name):
    page.goto("/auth/users")
    page.get_by_role("button", name="Create user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_role("button", name="Create user").click()
    expect(page.get_by_role("link", name=name)).to_be_visible()
    assert api.get(f"/auth/users/{name}").is_success
    page.get_by_role("button", name=f"Delete user {name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete user").click()
    expect(page.get_by_text(f"The user {name} was deleted")).to_be_visible()
    assert api.get(f"/auth/users/{name}").status_code == 404


def test_sessions_of_a_user_are_ended_and_the_user_deactivated_and_activated(page, api, user):
    def act(label):
        page.get_by_role("button", name=label, exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()

    page.goto(f"/auth/users/{user}")
    with page.expect_request(lambda request: request.method == "DELETE") as ended:
        act("End all sessions")
    assert ended.value.url.endswith(f"/auth/users/{user}/sessions")
    expect(page.get_by_text(f"All sessions of {user} were ended")).to_be_visible()
    act("Deactivate")
    expect(page.get_by_text("deactivated", exact=True)).to_be_visible()
    assert api.get(f"/auth/users/{user}").json()["active"] is False
    act("Activate")
    expect(page.get_by_role("button", name="Deactivate", exact=True)).to_be_visible()
    assert api.get(f"/auth/users/{user}").json().get("active", True) is True


def test_user_joins_and_leaves_a_group(page, api, user):
    page.goto(f"/auth/users/{user}")
    page.get_by_role("button", name="Add to groups").click()
    page.get_by_label("Viewers").check()
    page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    groups = page.get_by_role("table", name=f"Groups of {user}")
    expect(groups.get_by_role("link", name="Viewers")).to_be_visible()
    listed = api.get(f"/auth/users/{user}/groups").json()["results"]
    assert [group["id"] for group in listed] == ["Viewers"]
    page.get_by_role("link", name="Effective policies").click()
    expect(page.get_by_role("link", name="FSReadAll")).to_be_visible()
    page.goto("/auth/groups/Viewers")
    page.get_by_role("button", name=f"Remove {user}").click()
    expect(page.get_by_text(f"{user} removed")).to_be_visible()
    assert api.get(f"/auth/users/{user}/groups").json()["results"] == []


@pytest.mark.slow  # as a user who joins a group
def test_policy_is_attached_to_a_user_and_detached(page, api, user):
    page.goto(f"/auth/users/{user}/policies")
    page.get_by_role("button", name="Attach policies").click()
    page.get_by_label("FSReadAll").check()
    page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    detach = page.get_by_role("button", name="Detach FSReadAll")
    detach.click()
    expect(page.get_by_text(f"No policy is attached to {user}")).to_be_visible()
    assert api.get(f"/auth/users/{user}/policies").json()["results"] == []


def test_secret_is_shown_once_and_signs_in(page, open_page, site, user):
    page.goto(f"/auth/users/{user}/credentials")
    page.get_by_role("button", name="Create access key").click()
    codes = page.get_by_role("dialog").locator("code")
    expect(codes).to_have_count(2)
    key, secret = codes.all_inner_texts()
    other = open_page(site, signed_in=False)
    keys = {"access_key_id": key, "secret_access_key": secret}
    assert other.context.request.post("/api/v1/auth/login", data=keys).ok
    page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("cell", name=key, exact=True)).to_be_visible()
    assert secret not in page.content()
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert secret not in stored
    page.get_by_role("button", name=f"Delete access key {key}").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete access key").click()
    expect(page.get_by_text(f"{user} has no access key")).to_be_visible()
    assert other.context.request.post("/api/v1/auth/login", data=keys).status == 401


def test_own_access_keys_are_listed(page, site):
    page.goto("/repositories")
    page.get_by_role("button", name=re.compile("^User ")).click()
    page.get_by_role("menuitem", name="My access keys").click()
    expect(page.get_by_role("cell", name=site.access_key_id, exact=True)).to_be_visible()


def test_policy_is_written_with_its_meaning_beside_it(page, api, name):
    page.goto("/auth/policies")
    page.get_by_role("button", name="Create policy").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    statements = [
        {
            "effect": "allow",
            "action": ["fs:ReadObject", "fs:List*"],
            "resource": ["arn:lakefs:fs:::repository/sales/object/public/*"],
        },
        {
            "effect": "deny",
            "action": ["fs:*"],
            "resource": "arn:lakefs:fs:::repository/sales",
            "condition": {"NotIpAddress": {"SourceIp": ["10.0.0.0/8"]}},
        },
    ]
    dialog.get_by_label("Statements").fill(json.dumps(statements, indent=1))
    words = dialog.get_by_role("list", name="What the policy allows").get_by_role("listitem")
    expect(words).to_have_text(
        [
            re.compile(
                r"Allows\s+read object, list anything about data\s+on\s+"
                r"object public/\* in repository sales"
            ),
            re.compile(
                r"Denies\s+everything about data, not pull requests\s+on\s+repository sales\s+"
                r"if SourceIp is not in 10\.0\.0\.0/8"
            ),
        ]
    )
    dialog.get_by_role("button", name="Create policy").click()
    expect(page.get_by_text(f"The policy {name} was created")).to_be_visible()
    stored = api.get(f"/auth/policies/{name}").json()["statement"]
    assert [statement["effect"] for statement in stored] == ["allow", "deny"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[\n {"effect": "allow",\n]', 3, ""),
        ('[\n {"effect": "maybe", "action": ["fs:*"], "resource": "*"}\n]', 2, "effect"),
        ('[{"effect": "allow", "action": "fs:*", "resource": "*"}]', 1, "action"),
        (
            '[{"effect":"deny","action":["*"],"resource":"*"},\n\n{"effect":"deny","action":1}]',
            3,
            "action",
        ),
    ],
)
@pytest.mark.sample(1)
def test_errors_of_a_policy_are_told_at_their_lines(page, text, line, message):
    page.goto("/auth/policies/FSReadAll")
    field = page.get_by_label("Statements")
    expect(field).to_have_value(re.compile("fs:"))
    field.fill(text)
    problems = page.get_by_role("listitem").filter(has_text=f"Line {line}")
    expect(problems).to_contain_text(message)
    expect(page.get_by_role("button", name="Save policy")).to_be_disabled()


def test_error_that_only_the_server_knows_leaves_the_policy_as_it_was(page, api, name):
    statement = {"effect": "allow", "action": ["fs:ReadObject"], "resource": "*"}
    assert api.post("/auth/policies", json={"id": name, "statement": [statement]}).is_success
    page.goto(f"/auth/policies/{name}")
    field = page.get_by_label("Statements")
    expect(field).to_have_value(re.compile("ReadObject"))
    field.fill(json.dumps([{**statement, "action": ["fs:Fly"]}]))
    page.get_by_role("button", name="Save policy").click()
    expect(page.get_by_role("alert")).to_contain_text("fs:Fly")
    field.fill(json.dumps([{**statement, "action": ["fs:WriteObject"]}]))
    page.get_by_role("button", name="Save policy").click()
    expect(page.get_by_text(f"The policy {name} was saved")).to_be_visible()
    stored = api.get(f"/auth/policies/{name}").json()["statement"]
    assert [entry["action"] for entry in stored] == [["fs:WriteObject"]]


def test_permission_is_explained(page, api, user):
    api.put(f"/auth/groups/Viewers/members/{user}")
    page.goto(f"/auth/explain?user={user}")
    page.get_by_label("Resource").fill("arn:lakefs:fs:::repository/sales/object/a.csv")
    page.get_by_role("button", name="Explain").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text(f"{user} may do that")
    expect(answer.get_by_role("link", name="Viewers")).to_be_visible()
    page.get_by_label("Action").fill("fs:WriteObject")
    page.get_by_role("button", name="Explain").click()
    expect(answer).to_contain_text(f"{user} may not do that")
    expect(answer.get_by_role("link", name="FSReadWriteAll")).to_be_visible()


@pytest.mark.slow  # one sentence of the page
def test_server_without_an_audit_log_says_so(page):
    page.goto("/auth/audit")
    expect(page.get_by_text("This server writes no audit log to a file")).to_be_visible()


@pytest.mark.slow  # web/tests/access/audit-record.test.ts
def test_audit_log_is_shown_and_filtered(open_page, tmp_path):
    log = tmp_path / "audit.log"
    env = {"ANABRANCH_AUDIT_FILE": str(log)}
    with running_server(tmp_path / "data", env=env) as server:
        page = open_page(server)
        page.goto("/auth/users")
        expect(page.get_by_role("link", name="tester")).to_be_visible()
        eventually(lambda: "auth:ListUsers" in log.read_text())  # a record comes after its answer
        page.goto("/auth/audit?event=decision")
        rows = page.get_by_role("table", name="Records of the audit log").get_by_role("row")
        expect(rows.filter(has_text="auth:ListUsers").first).to_be_visible()
        page.get_by_label("Action").fill("fs:DeleteRepository")
        expect(page.get_by_text("No record passes the filters")).to_be_visible()
