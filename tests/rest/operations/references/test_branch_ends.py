"""Ends by pattern over HTTP, and who may give a branch another one."""

from __future__ import annotations

import itertools

import httpx2
import pytest

DAY = 86_400
_numbers = itertools.count(1)


@pytest.fixture
def root(repository):
    return f"/repositories/{repository}"


@pytest.fixture
def ends(root):
    return f"{root}/settings/branch_ends"


@pytest.fixture
def jane(api, server):
    """Returns a client of a new user with some permissions."""

    def client(*actions):
        name = f"ends-{next(_numbers)}"
        statement = {"effect": "allow", "action": actions, "resource": "*"}
        api.post("/auth/policies", json={"id": name, "statement": [statement]})
        api.post("/auth/users", json={"id": name})
        api.put(f"/auth/users/{name}/policies/{name}")
        pair = api.post(f"/auth/users/{name}/credentials").json()
        auth = (pair["access_key_id"], pair["secret_access_key"])
        return httpx2.Client(base_url=server.api, auth=auth, timeout=30)

    return client


def branch(api, root, name):
    shown = {"include_expiry": True, "include_hidden": True}
    return api.get(f"{root}/branches/{name}", params=shown).json()


def create(client, root, name, **body):
    return client.post(f"{root}/branches", json={"name": name, "source": "main", **body})


def test_rules_are_replaced_only_if_the_etag_matches(api, ends):
    none = api.get(ends)
    assert (none.text, none.headers["etag"]) == ("[]\n", "")
    rules = [
        {"pattern": "dev-*", "expires": "7d", "hidden": True},
        {"pattern": "a*", "expires": "1h", "hidden": False},
    ]
    assert api.put(ends, json=rules, headers={"If-Match": ""}).status_code == 204
    first = api.get(ends)
    assert first.json() == rules
    for etag in ("", "0" * 64):
        refused = api.put(ends, json=[], headers={"If-Match": etag})
        assert refused.status_code == 412
    assert api.get(ends).json() == rules
    headers = {"If-Match": first.headers["etag"]}
    assert api.put(ends, json=rules[1:], headers=headers).status_code == 204
    assert api.get(ends).json() == rules[1:]


@pytest.mark.parametrize(
    "body",
    [
        [{"pattern": "", "expires": "7d"}],
        [{"pattern": "a"}],
        [{"pattern": "a", "expires": "never"}],
        [{"pattern": "[a", "expires": "7d"}],
        {"pattern": "a", "expires": "7d"},
    ],
)
def test_a_wrong_rule_is_refused(api, ends, body):
    assert api.put(ends, json=body).status_code == 400
    assert api.get(ends).json() == []


def test_new_branches_end_by_rule_unless_they_are_given_another_end(api, root, ends):
    api.put(ends, json=[{"pattern": "dev-*", "expires": "7d", "hidden": True}])
    for name, body in (
        ("dev-1", {}),
        ("dev-2", {"expires": "1d"}),
        ("dev-3", {"expires": "never"}),
        ("fix", {}),
    ):
        assert create(api, root, name, **body).status_code == 201
    ruled, own = branch(api, root, "dev-1"), branch(api, root, "dev-2")
    assert ruled["hidden"] is True
    assert own["hidden"] is False
    assert abs(ruled["expires_at"] - own["expires_at"] - 6 * DAY) < 600
    assert branch(api, root, "dev-3")["expires_at"] == 0
    assert branch(api, root, "fix")["expires_at"] == 0


def test_a_longer_life_needs_the_permission_to_delete(api, root, ends, jane):
    api.put(ends, json=[{"pattern": "dev-*", "expires": "7d"}])
    creator = ("fs:CreateBranch", "fs:ReadBranch", "fs:ReadCommit", "fs:ReadRepository")
    with jane(*creator) as client:
        for number, expires in enumerate(("never", "8d")):
            refused = create(client, root, f"dev-{number}", expires=expires)
            assert refused.status_code == 401
            body = {"branch": f"dev-{number}", "source": "main", "expires": "8d"}
            assert client.post(f"{root}/workspaces", json=body).status_code == 401
            assert api.get(f"{root}/branches/dev-{number}").status_code == 404
        assert create(client, root, "dev-5", expires="6d").status_code == 201
        assert create(client, root, "dev-6").status_code == 201
        assert create(client, root, "other", expires="never").status_code == 201
        expiry = {"expires": "never"}
        assert client.put(f"{root}/branches/dev-6/expiry", json=expiry).status_code == 401
    with jane(*creator, "fs:DeleteBranch") as client:
        assert create(client, root, "dev-7", expires="never").status_code == 201
        assert client.put(f"{root}/branches/dev-6/expiry", json=expiry).status_code == 200
    assert branch(api, root, "dev-6")["expires_at"] == 0


def test_rules_need_the_permissions_of_branch_protection(ends, jane):
    with jane("fs:ReadRepository", "fs:UpdateRepository") as client:
        assert client.get(ends).status_code == 401
    with jane("branches:GetBranchProtectionRules") as client:
        assert client.get(ends).status_code == 200
        assert client.put(ends, json=[]).status_code == 401
    with jane("branches:SetBranchProtectionRules") as client:
        assert client.put(ends, json=[]).status_code == 204
