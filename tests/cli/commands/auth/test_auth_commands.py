"""`auth` commands for users, groups, policies and access keys, against a real server."""

from __future__ import annotations

import itertools
import json

import httpx2
import pytest

_numbers = itertools.count(1)


def conditional(**condition):
    """Returns a policy with a condition, as JSON."""
    statement = {"effect": "allow", "action": ["fs:*"], "resource": "*", "condition": condition}
    return json.dumps([statement]).encode()


@pytest.fixture
def user(ana):
    name = f"jane-{next(_numbers)}"
    out = ana.ok("auth", "users", "create", "--id", name).out
    assert out == f"Created the user {name}, who has no permissions and no keys yet\n"
    return name


def column(ran):
    return [row[0] for row in ran.rows]


def test_users_are_listed_and_deleted(ana, user):
    assert user in column(ana.ok("auth", "users", "list"))
    assert column(ana.ok("auth", "users", "ls", "--prefix", user)) == [user]
    again = ana("auth", "users", "create", "--id", user)
    assert (again.code, "Already exists" in again.err) == (1, True)
    assert ana.ok("auth", "users", "rm", "--id", user, "-y").out == f"Deleted the user {user}\n"
    assert user not in column(ana.ok("auth", "users", "list", "--amount", "1000"))
    missing = ana("auth", "users", "delete", "--id", user, "-y")
    assert (missing.code, "user not found" in missing.err) == (1, True)


def test_keys_of_a_user_work_until_they_are_deleted(ana, server, user):
    ana.ok("auth", "groups", "members", "add", "--id", "Viewers", "--user", user)
    made = ana.ok("auth", "users", "credentials", "create", "--id", user, "--json").json
    pair = made["access_key_id"], made["secret_access_key"]
    shown = ana.ok("auth", "users", "credentials", "create", "--id", user)
    assert "secret access key: " in shown.out
    assert "not shown again" in shown.err
    listed = column(ana.ok("auth", "users", "credentials", "list", "--id", user))
    assert len(listed) == 2
    assert pair[0] in listed
    assert httpx2.get(f"{server.api}/repositories", auth=pair).status_code == 200
    words = ("auth", "users", "credentials", "delete", "--id", user, "--access-key-id", pair[0])
    assert ana.ok(*words, "-y").out == f"Deleted the access key {pair[0]}\n"
    assert httpx2.get(f"{server.api}/repositories", auth=pair).status_code == 401
    own = ana.ok("auth", "users", "credentials", "list")
    assert server.access_key_id in column(own)


def test_sessions_of_a_user_end_and_the_user_is_deactivated(ana, server, user):
    made = ana.ok("auth", "users", "credentials", "create", "--id", user, "--json").json
    pair = made["access_key_id"], made["secret_access_key"]
    body = {name: made[name] for name in ("access_key_id", "secret_access_key")}
    token = httpx2.post(f"{server.api}/auth/login", json=body).json()["token"]
    headers = {"authorization": f"Bearer {token}"}
    assert httpx2.get(f"{server.api}/user", headers=headers).status_code == 200
    assert user in ana.ok("auth", "users", "end-sessions", "--id", user, "-y").out
    assert httpx2.get(f"{server.api}/user", headers=headers).status_code == 401
    assert httpx2.get(f"{server.api}/user", auth=pair).status_code == 200
    assert user in ana.ok("auth", "users", "deactivate", "--id", user, "-y").out
    assert httpx2.get(f"{server.api}/user", auth=pair).status_code == 401
    ana.ok("auth", "users", "activate", "--id", user)
    assert httpx2.get(f"{server.api}/user", auth=pair).status_code == 200


def test_groups_have_members_and_policies(ana, user):
    group = f"crew-{user}"
    ana.ok("auth", "groups", "create", "--id", group, "-d", "all hands")
    assert group in column(ana.ok("auth", "groups", "list"))
    added = ana.ok("auth", "groups", "members", "add", "--id", group, "--user", user)
    assert added.out == f"Added the user {user} to the group {group}\n"
    assert column(ana.ok("auth", "groups", "members", "list", "--id", group)) == [user]
    assert column(ana.ok("auth", "users", "groups", "list", "--id", user)) == [group]
    policy = ("--id", group, "--policy", "FSReadAll")
    ana.ok("auth", "groups", "policies", "attach", *policy)
    effective = ("auth", "users", "policies", "list", "--id", user)
    assert column(ana.ok(*effective, "--effective")) == ["FSReadAll"]
    assert column(ana.ok(*effective)) == []
    ana.ok("auth", "groups", "policies", "detach", *policy)
    assert column(ana.ok("auth", "groups", "policies", "list", "--id", group)) == []
    ana.ok("auth", "groups", "acl", "set", "--id", group, "--permission", "Write")
    assert "Write" in ana.ok("auth", "groups", "acl", "get", "--id", group).out
    ana.ok("auth", "groups", "members", "remove", "--id", group, "--user", user)
    ana.ok("auth", "groups", "delete", "--id", group, "-y")
    assert group not in column(ana.ok("auth", "groups", "list"))


def test_roles_of_aws_belong_to_a_user(ana, user):
    role = f"arn:aws:sts::1234:assumed-role/{user}"
    principal = ("--principal-id", role)
    ran = ana.ok("auth", "users", "aws-iam", "attach", "--id", user, *principal)
    assert ran.out == f"{role} logs in as the user {user}\n"
    assert column(ana.ok("auth", "users", "aws-iam", "list", "--id", user)) == [role]
    assert user in ana.ok("auth", "users", "aws-iam", "lookup", *principal).out
    assert ana("auth", "users", "aws-iam", "attach", *principal).code == 1
    ana.ok("auth", "users", "aws-iam", "detach", "--id", user, *principal)
    assert ana("auth", "users", "aws-iam", "lookup", *principal).code == 1


def test_policy_is_created_from_a_document_and_explained(ana, user, tmp_path):
    policy, file = f"sales-{user}", tmp_path / "policy.json"
    place = "arn:lakefs:fs:::repository/sales/object"
    statements = [
        {"effect": "allow", "action": ["fs:ReadObject"], "resource": [f"{place}/*"]},
        {"effect": "deny", "action": ["fs:*"], "resource": f"{place}/secret/*"},
    ]
    file.write_text(json.dumps({"statement": statements}))
    words = ("auth", "policies", "create", "--id", policy, "--statement-document")
    assert ana.ok(*words, file).out == f"Created the policy {policy}\n"
    assert ana(*words, file).code == 1
    text = file.read_bytes()
    replaced = ana.ok(*words, "-", "--force", stdin=text)
    assert replaced.out == f"Replaced the policy {policy}\n"
    shown = json.loads(ana.ok("auth", "policies", "show", "--id", policy).out)
    assert [each["effect"] for each in shown["statement"]] == ["allow", "deny"]

    def explain(path, code):
        ran = ana("auth", "explain", user, "fs:ReadObject", f"{place}/{path}")
        assert ran.code == code
        return ran.out

    before = explain("a", 1)
    assert "no statement of the user's policies names it" in before
    assert policy in before
    assert "FSReadAll" in before
    ana.ok("auth", "users", "policies", "attach", "--id", user, "--policy", policy)
    assert f"statement 1 of the policy {policy}" in explain("a", 0)
    denied = explain("secret/a", 1)
    assert f"statement 2 of the policy {policy}" in denied
    assert f"if the policy {policy} did not deny it" in denied
    ana.ok("auth", "users", "policies", "detach", "--id", user, "--policy", policy)
    ana.ok("auth", "groups", "members", "add", "--id", "Viewers", "--user", user)
    assert "through the group Viewers" in explain("a", 0)
    ana.ok("auth", "policies", "delete", "--id", policy, "-y")
    assert policy not in column(ana.ok("auth", "policies", "list"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no json", "not a policy document"),
        (b'{"statements": []}', "not a policy document"),
        (b'[{"effect": "allow", "action": ["fs:Fly"], "resource": "*"}]', "'fs:Fly'"),
        (
            conditional(IpAddress={"SourceIp": ["10.0.0.0/99"]}),
            "statement 1: condition: IpAddress: SourceIp: malformed value '10.0.0.0/99'",
        ),
        (
            conditional(DateLessThan={"SourceIp": ["2026-01-01"]}),
            "statement 1: condition: DateLessThan: the field is CurrentTime, not 'SourceIp'",
        ),
    ],
)
def test_malformed_policy_is_refused(ana, content, message):
    words = ("auth", "policies", "create", "--id", "bad", "--statement-document", "-")
    ran = ana(*words, stdin=content)
    assert ran.code in {1, 2}
    assert message in ran.err
    assert "bad" not in column(ana.ok("auth", "policies", "list"))


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["auth", "users"], "auth users needs a command", "list, create, delete"),
        (["auth", "groups", "members"], "auth groups members needs a command", "list, add"),
        (["auth", "users", "lst"], "auth users has no command 'lst'", "list"),
        (["auth", "uesrs"], "auth has no command 'uesrs'", "users"),
        (["auth", "explain", "x", "fs:Fly", "*"], "no action is called 'fs:Fly'", ""),
        (["auth", "explain", "tester", "fs:ReadObject", "a"], "malformed name 'a'", ""),
        (["auth", "explain", "nobody", "fs:ReadObject", "*"], "user not found", ""),
    ],
)
def test_wrong_words_say_what_there_is(ana, words, message, hint):
    ran = ana(*words)
    assert ran.code in {1, 2}
    assert message in ran.err
    assert hint in ran.err
