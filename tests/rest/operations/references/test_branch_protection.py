"""Branch protection over HTTP."""

from __future__ import annotations

import hashlib

import pytest


@pytest.fixture
def root(repository):
    return f"/repositories/{repository}"


@pytest.fixture
def rules(root):
    return f"{root}/settings/branch_protection"


def patterns(response):
    assert response.status_code == 200
    return [rule["pattern"] for rule in response.json()]


def refusal(response):
    return response.status_code, response.json()["message"]


def test_rules_are_replaced_only_if_the_etag_matches(api, rules):
    none = api.get(rules)
    assert (none.text, none.headers["etag"]) == ("[]\n", "")
    assert api.put(rules, json=[{"pattern": "b*"}], headers={"If-Match": ""}).status_code == 204
    first = api.get(rules)
    assert first.text == '[{"pattern":"b*"}]\n'
    assert len(first.headers["etag"]) == len(hashlib.sha256().hexdigest())
    for etag in ("", "0" * 64, f'"{first.headers["etag"]}"'):
        response = api.put(rules, json=[], headers={"If-Match": etag})
        assert refusal(response) == (412, "Precondition failed")
    assert api.get(rules).text == first.text
    body = [{"pattern": "a"}, {"pattern": "b*"}]
    headers = {"If-Match": first.headers["etag"]}
    assert api.put(rules, json=body, headers=headers).status_code == 204
    assert patterns(api.get(rules)) == ["a", "b*"]
    assert api.put(rules, json=[]).status_code == 204
    assert patterns(api.get(rules)) == []


def test_the_deprecated_paths_change_one_rule(api, root):
    older = f"{root}/branch_protection"
    assert api.get(f"{older}/set_allowed").status_code == 204
    assert api.get(older).headers["etag"] == ""
    for pattern in ("b", "a", "b"):
        assert api.post(older, json={"pattern": pattern}).status_code == 204
    assert patterns(api.get(older)) == ["a", "b"]
    gone = api.request("DELETE", older, json={"pattern": "a"})
    assert gone.status_code == 204
    assert patterns(api.get(f"{root}/settings/branch_protection")) == ["b"]
    again = api.request("DELETE", older, json={"pattern": "a"})
    assert refusal(again) == (404, "rule not found")


def test_write_to_a_protected_branch_is_refused_with_the_reason(api, root, rules):
    objects = f"{root}/branches/main/objects"
    assert api.post(objects, params={"path": "a"}, content=b"1").status_code == 201
    assert api.put(rules, json=[{"pattern": "m??n"}]).status_code == 204
    written = (403, "cannot write to protected branch")
    upload = api.post(objects, params={"path": "b"}, content=b"1")
    assert refusal(upload) == written
    assert refusal(api.delete(objects, params={"path": "a"})) == written
    copy = api.post(f"{objects}/copy", params={"dest_path": "b"}, json={"src_path": "a"})
    assert refusal(copy) == written
    assert refusal(api.put(f"{root}/branches/main", json={"type": "reset"})) == written
    kinds = {"include_kinds": "true"}
    many = api.post(f"{objects}/delete", params=kinds, json={"paths": ["a"]})
    assert many.json()["errors"] == [
        {
            "path": "a",
            "status_code": 403,
            "message": "cannot write to protected branch",
            "error": "ProtectedBranch",
            "kind": "protected_branch",
            "hint": "Write to another branch and merge it.",
        }
    ]
    commit = api.post(f"{root}/branches/main/commits", json={"message": "m"})
    assert refusal(commit) == (403, "cannot commit to protected branch")
    hard = api.put(f"{root}/branches/main/hard_reset", params={"ref": "main"})
    assert refusal(hard) == (403, "protected branch")
    (change,) = api.get(f"{root}/branches/main/diff").json()["results"]
    assert change["path"] == "a"


def test_a_hard_reset_moves_an_unprotected_branch(api, root):
    head = api.get(f"{root}/branches/main").json()["commit_id"]
    commits = f"{root}/branches/main/commits"
    assert api.post(commits, json={"message": "m", "allow_empty": True}).status_code == 201
    moved = api.put(f"{root}/branches/main/hard_reset", params={"ref": "main~1"})
    assert (moved.status_code, moved.content) == (204, b"")
    assert api.get(f"{root}/branches/main").json()["commit_id"] == head
    missing = api.put(f"{root}/branches/main/hard_reset")
    assert refusal(missing)[0] == 400


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([{"pattern": ""}], "minimum string length is 1"),
        ([{}], 'property "pattern" is missing'),
        ({"pattern": "a"}, "value must be an array"),
        ([{"pattern": "[a"}], "invalid value"),
    ],
)
def test_an_invalid_rule_changes_nothing(api, rules, body, reason):
    api.put(rules, json=[{"pattern": "a"}])
    status, message = refusal(api.put(rules, json=body))
    assert status == 400
    assert reason in message
    assert patterns(api.get(rules)) == ["a"]


def test_rules_of_a_missing_repository_are_not_found(api):
    nothing = "/repositories/nothing/settings/branch_protection"
    assert refusal(api.get(nothing)) == (404, "repository not found")
    assert refusal(api.put(nothing, json=[])) == (404, "repository not found")
