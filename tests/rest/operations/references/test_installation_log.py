"""The operation log of the installation, and of settings, over HTTP: what it has, who may read it,
and what undo does to it.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from support.session.sizes import sized

_numbers = itertools.count(1)
ALLOW = {"effect": "allow", "resource": "*", "action": ["fs:ReadRepository"]}


@pytest.fixture
def name():
    return f"log-{next(_numbers)}"


def changed(operation):
    return [(each["kind"], each["name"]) for each in operation["settings"]]


def last(api, path="/installation/operations"):
    return api.get(path, params={"amount": 1}).json()["results"][0]


def kind(refused):
    return refused.headers.get("x-anabranch-kind", refused.text)


def undo(api, operation):
    return api.post(f"/installation/operations/{operation['id']}/undo")


def create_policy(api, name, *actions):
    statement = ALLOW | {"action": list(actions or ("fs:ReadRepository",))}
    made = api.post("/auth/policies", json={"id": name, "statement": [statement]})
    assert made.status_code == 201


def test_policies_come_back_with_their_attachments(api, name):
    create_policy(api, name)
    assert changed(last(api)) == [("policy", name)]
    assert last(api)["settings"][0]["before"] is None
    assert last(api)["settings"][0]["after"] == {"statement": [ALLOW]}
    assert last(api)["action"] == "createPolicy"
    api.post("/auth/groups", json={"id": name})
    api.put(f"/auth/groups/{name}/policies/{name}")
    assert changed(last(api)) == [("group_policy", f"{name}/{name}")]
    assert api.delete(f"/auth/policies/{name}").status_code == 204
    deleted = last(api)
    assert set(changed(deleted)) == {("policy", name), ("group_policy", f"{name}/{name}")}
    assert undo(api, deleted).status_code == 200
    assert api.get(f"/auth/policies/{name}").json()["statement"] == [ALLOW]
    attached = api.get(f"/auth/groups/{name}/policies").json()["results"]
    assert [each["id"] for each in attached] == [name]
    refused = undo(api, deleted)
    assert (refused.status_code, kind(refused)) == (409, "operation_undone")
    # the undo is one, too
    assert undo(api, last(api)).status_code == 200
    assert api.get(f"/auth/policies/{name}").status_code == 404


def test_a_policy_that_has_changed_since_stays(api, name):
    create_policy(api, name, "fs:ReadRepository")
    for action in ("fs:ReadObject", "fs:ReadBranch"):
        body = {"id": name, "statement": [ALLOW | {"action": [action]}]}
        assert api.put(f"/auth/policies/{name}", json=body).status_code == 200
    second, first = api.get("/installation/operations", params={"amount": 2}).json()["results"]
    refused = undo(api, first)
    assert (refused.status_code, kind(refused)) == (409, "changed_since")
    for each in (second, first):
        assert undo(api, each).status_code == 200
    actions = api.get(f"/auth/policies/{name}").json()["statement"][0]["action"]
    assert actions == ["fs:ReadRepository"]


def test_a_membership_does_not_return_to_another_user_of_the_name(api, name):
    api.post("/auth/groups", json={"id": name})
    api.post("/auth/users", json={"id": name})
    user_created = last(api)
    assert changed(user_created) == [("user", name)]
    assert user_created["settings"][0]["after"] == {}
    api.put(f"/auth/groups/{name}/members/{name}")
    assert api.delete(f"/auth/groups/{name}/members/{name}").status_code == 204
    removed = last(api)
    assert changed(removed) == [("membership", f"{name}/{name}")]
    api.delete(f"/auth/users/{name}")
    api.post("/auth/users", json={"id": name})
    refused = undo(api, removed)
    assert (refused.status_code, kind(refused)) == (409, "changed_since")
    assert api.get(f"/auth/groups/{name}/members").json()["results"] == []
    refused = undo(api, user_created)
    assert (refused.status_code, kind(refused)) == (409, "not_undoable"), refused.text


def test_a_membership_returns_and_goes(api, name):
    api.post("/auth/groups", json={"id": name})
    api.post("/auth/users", json={"id": name})
    api.put(f"/auth/groups/{name}/members/{name}")
    added = last(api)
    assert undo(api, added).status_code == 200
    assert api.get(f"/auth/groups/{name}/members").json()["results"] == []
    assert undo(api, last(api)).status_code == 200
    members = api.get(f"/auth/groups/{name}/members").json()["results"]
    assert [each["id"] for each in members] == [name]


def test_no_secret_is_in_the_log(api, name):
    api.post("/auth/users", json={"id": name})
    pair = api.post(f"/auth/users/{name}/credentials").json()
    api.delete(f"/auth/users/{name}")
    text = api.get("/installation/operations").text
    assert name in text
    assert pair["secret_access_key"] not in text
    assert pair["access_key_id"] not in text


def test_repositories_are_created_deleted_and_restored(api, name):
    body = {"name": name, "storage_namespace": f"local://{name}"}
    assert api.post("/repositories", json=body).status_code == 201
    created = last(api)
    assert changed(created) == [("repository", name)]
    assert created["settings"][0]["after"]["storage_namespace"] == f"local://{name}"
    path = f"/repositories/{name}"
    api.post(f"{path}/branches/main/objects", params={"path": "a"}, content=b"staged")
    assert kind(undo(api, created)) == "changed_since"  # it was used
    assert api.delete(path).status_code == 204
    assert api.get(path).status_code == 404
    deleted = last(api)
    assert changed(deleted) == [("repository", name)]
    assert deleted["settings"][0]["after"] is None
    assert kind(undo(api, created)) == "changed_since"
    assert undo(api, deleted).status_code == 200
    assert api.get(f"{path}/refs/main/objects", params={"path": "a"}).content == b"staged"
    assert kind(undo(api, deleted)) == "operation_undone"


def test_an_unused_repository_is_deleted_by_undo(api, name):
    body = {"name": name, "storage_namespace": f"local://{name}"}
    api.post("/repositories", json=body)
    created = last(api)
    assert undo(api, created).status_code == 200
    assert api.get(f"/repositories/{name}").status_code == 404
    assert undo(api, last(api)).status_code == 200
    assert api.get(f"/repositories/{name}").status_code == 200


def test_deleted_repositories_are_listed_restored_and_forgotten(api, new_repository):
    name = new_repository()
    path, kept = f"/repositories/{name}", f"/storage/deleted_repositories/{name}"
    assert kind(api.post(f"{kept}/restore", json={})) == "deletion_not_found"
    api.delete(path)
    listed = api.get("/storage/deleted_repositories").json()["results"]
    (deleted,) = [each for each in listed if each["id"] == name]
    assert deleted["deleted_by"] == "tester"
    assert deleted["kept_until"] == pytest.approx(deleted["deleted_at"] + 30 * 86_400)
    restored = api.post(f"{kept}/restore", json={"instance_uid": deleted["instance_uid"]})
    assert (restored.status_code, restored.json()["id"]) == (200, name)
    api.delete(path)
    assert api.post(f"{kept}/forget", json={}).status_code == 204
    assert api.post(f"{kept}/restore", json={}).status_code == 404


@pytest.fixture
def jane(api, name, server):
    """Returns a client of a user with some permissions."""

    def client(*actions):
        create_policy(api, name, *actions)
        api.post("/auth/users", json={"id": name})
        api.put(f"/auth/users/{name}/policies/{name}")
        pair = api.post(f"/auth/users/{name}/credentials").json()
        auth = (pair["access_key_id"], pair["secret_access_key"])
        return httpx2.Client(base_url=server.api, auth=auth, timeout=30)

    return client


def test_who_may_not_read_the_audit_log_reads_and_undoes_nothing(api, jane):
    with jane("fs:*", "retention:*", "branches:*", "auth:CreatePolicy") as client:
        for method, path in (
            ("GET", "/installation/operations"),
            ("GET", f"/installation/operations/{last(api)['id']}"),
            ("POST", f"/installation/operations/{last(api)['id']}/undo"),
        ):
            assert client.request(method, path).status_code == 401


def test_undo_needs_what_it_would_need_by_itself(api, jane, name):
    create_policy(api, f"{name}-p")
    api.delete(f"/auth/policies/{name}-p")
    deleted = last(api)
    with jane("auth:ReadAudit", "auth:DeletePolicy", "fs:DeleteRepository") as client:
        assert client.get("/installation/operations").status_code == 200
        refused = undo(client, deleted)
        assert (refused.status_code, kind(refused)) == (401, "insufficient_permissions")
        assert api.get(f"/auth/policies/{name}-p").status_code == 404
        body = {"name": f"{name}-r", "storage_namespace": f"local://{name}-r"}
        api.post("/repositories", json=body)
        api.delete(f"/repositories/{name}-r")
        assert undo(client, last(api)).status_code == 401
        restore = f"/storage/deleted_repositories/{name}-r/restore"
        assert client.post(restore, json={}).status_code == 401
        assert (
            client.post(f"/storage/deleted_repositories/{name}-r/forget", json={}).status_code
            == 401
        )
        assert client.get("/storage/deleted_repositories").status_code == 401
    assert api.post(restore, json={}).status_code == 200


SETTINGS = {
    "branch_protection": (
        lambda api, path: api.put(
            f"{path}/settings/branch_protection", json=[{"pattern": "release*"}]
        ),
        lambda api, path: api.get(f"{path}/settings/branch_protection").json(),
        "branches:GetBranchProtectionRules",
    ),
    "branch_ends": (
        lambda api, path: api.put(
            f"{path}/settings/branch_ends", json=[{"pattern": "dev-*", "expires": "7d"}]
        ),
        lambda api, path: api.get(f"{path}/settings/branch_ends").json(),
        "branches:GetBranchProtectionRules",
    ),
    "garbage_rules": (
        lambda api, path: api.put(
            f"{path}/settings/gc_rules", json={"default_retention_days": 7, "branches": []}
        ),
        lambda api, path: api.get(f"{path}/settings/gc_rules").json().get("branches"),
        "retention:GetGarbageCollectionRules",
    ),
    "undo_days": (
        lambda api, path: api.put(f"{path}/settings/undo_days", json={"undo_days": 3}),
        lambda api, path: api.get(f"{path}/settings/undo_days").json(),
        "retention:GetGarbageCollectionRules",
    ),
    "metadata": (
        lambda api, path: api.post(f"{path}/metadata", json={"metadata": {"owner": "ada"}}),
        lambda api, path: api.get(f"{path}/metadata").json(),
        "fs:ReadRepository",
    ),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_are_recorded_and_undone(api, repository, setting, jane):
    change, read, needed_to_read = SETTINGS[setting]
    path = f"/repositories/{repository}"
    before = read(api, path)
    assert change(api, path).status_code in (200, 201, 204)
    after = read(api, path)
    assert after != before
    operation = last(api, f"{path}/operations")
    assert (changed(operation), operation["changes"]) == ([(setting, "")], [])
    assert operation["settings"][0]["before"] is None
    assert operation["settings"][0]["after"]

    with jane("fs:ReadRepository", "fs:ListRepositories") as client:
        listed = client.get(f"{path}/operations").json()["results"]
        visible = operation["id"] in [each["id"] for each in listed]
        assert visible == (needed_to_read == "fs:ReadRepository")
        refused = client.post(f"{path}/undo", json={"operation": operation["id"]})
        assert refused.status_code == 401
    assert read(api, path) == after

    undone = api.post(f"{path}/undo", json={})
    assert (undone.status_code, undone.json()["id"]) == (200, operation["id"])
    assert read(api, path) == before
    again = last(api, f"{path}/operations")
    assert (again["action"], changed(again)) == ("undoOperation", [(setting, "")])
    assert api.post(f"{path}/undo", json={"operation": again["id"]}).status_code == 200
    assert read(api, path) == after


def test_a_setting_that_has_changed_since_stays(api, repository):
    path = f"/repositories/{repository}"
    for days in (3, 4):
        api.put(f"{path}/settings/undo_days", json={"undo_days": days})
        body = {"default_retention_days": days, "branches": []}
        assert api.put(f"{path}/settings/gc_rules", json=body).status_code == 204
    operations = api.get(f"{path}/operations").json()["results"]
    for first in operations[2:4]:
        refused = api.post(f"{path}/undo", json={"operation": first["id"]})
        assert (refused.status_code, kind(refused)) == (409, "changed_since")
    assert api.get(f"{path}/settings/undo_days").json() == {"undo_days": 4}
    assert api.get(f"{path}/settings/gc_rules").json()["default_retention_days"] == 4


def test_of_undos_at_once_one_succeeds(api, name):
    """What two requests read before either writes is what the compare-and-set decides about."""
    for number in range(5):
        policy = f"{name}-{number}"
        create_policy(api, policy)
        api.delete(f"/auth/policies/{policy}")
        path = f"/repositories/{policy}"
        api.post("/repositories", json={"name": policy, "storage_namespace": f"local://{policy}"})
        api.delete(path)
        deleted = api.get("/installation/operations", params={"amount": 3}).json()["results"]
        for operation in (deleted[0], deleted[2]):
            with ThreadPoolExecutor(6) as pool:
                statuses = [each.status_code for each in pool.map(undo, [api] * 6, [operation] * 6)]
            assert sorted(statuses) == [200] + [409] * 5, statuses
        assert api.get(f"/auth/policies/{policy}").status_code == 200
        assert api.get(path).status_code == 200


def test_a_policy_that_is_attached_since_stays(api, name):
    create_policy(api, name)
    created = last(api)
    api.post("/auth/users", json={"id": name})
    assert api.put(f"/auth/users/{name}/policies/{name}").status_code == 201
    refused = undo(api, created)
    assert (refused.status_code, kind(refused)) == (409, "changed_since")
    # else a later policy of the name would be that user's
    assert api.delete(f"/auth/users/{name}/policies/{name}").status_code == 204
    assert undo(api, created).status_code == 200
    create_policy(api, name, "fs:*")
    assert api.get(f"/auth/users/{name}/policies").json()["results"] == []


def test_a_group_that_has_members_or_policies_since_stays(api, name):
    api.post("/auth/groups", json={"id": name})
    created = last(api)
    create_policy(api, name)
    api.post("/auth/users", json={"id": name})
    for relation in ("policies", "members"):
        assert api.put(f"/auth/groups/{name}/{relation}/{name}").status_code == 201
        refused = undo(api, created)
        assert (refused.status_code, kind(refused)) == (409, "changed_since")
        assert api.delete(f"/auth/groups/{name}/{relation}/{name}").status_code == 204
    assert undo(api, created).status_code == 200
    assert api.get(f"/auth/groups/{name}").status_code == 404


def test_records_that_a_reader_may_not_read_are_not_told(api, jane, name):
    create_policy(api, f"{name}-p", "fs:ReadBranch")
    api.post("/auth/groups", json={"id": f"{name}-g", "description": "purpose"})
    body = {"name": f"{name}-r", "storage_namespace": f"local://{name}-r"}
    assert api.post("/repositories", json=body).status_code == 201
    made = api.get("/installation/operations", params={"amount": 3}).json()["results"]
    with jane("auth:ReadAudit", "auth:DeletePolicy") as client:
        told = [client.get(f"/installation/operations/{each['id']}").json() for each in made]
        listed = client.get("/installation/operations").json()["results"]
        assert [each for each in listed if each in told] == told
        assert [each["user"] for each in told] == ["tester"] * 3
        assert [each["settings"] for each in told] == [
            [{"kind": one, "name": f"{name}-{one[0]}", "before": None, "after": {}}]
            for one in ("repository", "group", "policy")
        ]
        undone = undo(client, made[2])
        assert (undone.status_code, undone.json()["settings"]) == (200, told[2]["settings"])
        readable = ALLOW | {"action": ["auth:ReadAudit", "auth:Read*", "fs:Read*"]}
        api.put(f"/auth/policies/{name}", json={"id": name, "statement": [readable]})
        for each in made:
            path = f"/installation/operations/{each['id']}"
            assert client.get(path).json() == api.get(path).json()


def test_a_group_returns_with_all_of_its_members(api, name):
    api.post("/auth/groups", json={"id": name})
    users = sorted(f"{name}-{number}" for number in range(sized(20, weekly=510)))
    for user in users:
        assert api.post("/auth/users", json={"id": user}).status_code == 201
        assert api.put(f"/auth/groups/{name}/members/{user}").status_code == 201
    api.delete(f"/auth/groups/{name}")
    deleted = last(api)
    assert len(changed(deleted)) == len(users) + 1
    assert undo(api, deleted).status_code == 200
    members = api.get(f"/auth/groups/{name}/members", params={"amount": 1000}).json()["results"]
    assert [each["id"] for each in members] == users
