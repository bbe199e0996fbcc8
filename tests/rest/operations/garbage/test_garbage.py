"""Rules of garbage collection over HTTP, and the files that lakeFS's client reads to collect."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import lakefs_sdk
import pyarrow.parquet as pq
import pytest
from lakefs_sdk.api import InternalApi, RepositoriesApi
from lakefs_sdk.exceptions import NotFoundException

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import Permission
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import Denied
from anabranch.records import lakefs_pb2 as records
from anabranch.rest.operations.garbage import table_records
from anabranch.rest.operations.garbage.preparation import (
    PrepareGCUncommittedRequest,
    PrepareUncommitted,
    prepare_uncommitted,
)
from anabranch.rest.protocol.call import Call, Request
from anabranch.rest.protocol.parameters import InRepository

RULES = {
    "default_retention_days": 21,
    "branches": [
        {"branch_id": "dev", "retention_days": 7},
        {"branch_id": "main", "retention_days": 28},
    ],
}


@pytest.fixture
def root(repository):
    return f"/repositories/{repository}"


@pytest.fixture
def rules(root):
    return f"{root}/settings/gc_rules"


@pytest.fixture
def sdk(server):
    key, secret = server.auth
    configuration = lakefs_sdk.Configuration(host=server.api, username=key, password=secret)
    with lakefs_sdk.ApiClient(configuration) as client:
        yield client


def refusal(response):
    return response.status_code, response.json()["message"]


def put(api, root, path, branch="main"):
    objects = f"{root}/branches/{branch}/objects"
    response = api.post(objects, params={"path": path}, content=path.encode())
    assert response.status_code == 201
    return response.json()["physical_address"]


def commit(api, root, branch="main"):
    response = api.post(f"{root}/branches/{branch}/commits", json={"message": "m"})
    assert response.status_code == 201
    return response.json()


def local(address):
    return Path(address.removeprefix("local://"))


def test_rules_are_set_read_and_deleted(api, rules):
    assert refusal(api.get(rules)) == (404, "not found")
    assert api.put(rules, json=RULES).status_code == 204
    assert api.get(rules).json() == RULES
    assert api.put(rules, json={"default_retention_days": 3, "branches": []}).status_code == 204
    assert api.get(rules).text == '{"branches":[],"default_retention_days":3}\n'
    assert api.delete(rules).status_code == 204
    assert refusal(api.get(rules)) == (404, "not found")
    assert api.delete(rules).status_code == 204


def test_deprecated_paths_of_rules_are_equivalent(api, root, rules):
    older = f"{root}/gc/rules"
    assert api.get(f"{older}/set_allowed").status_code == 204
    assert api.post(older, json=RULES).status_code == 204
    assert api.get(older).json() == api.get(rules).json() == RULES
    assert api.delete(older).status_code == 204
    assert api.get(older).status_code == 404


def test_stored_rules_are_in_lakefs_format(api, root, rules):
    api.put(rules, json=RULES)
    namespace = local(put(api, root, "a")).parents[2]
    file = namespace / "_lakefs" / "retention" / "gc" / "rules" / "config.json"
    expected = records.GarbageCollectionRules(
        default_retention_days=21, branch_retention_days={"dev": 7, "main": 28}
    )
    assert records.GarbageCollectionRules.FromString(file.read_bytes()) == expected
    api.delete(rules)
    assert file.read_bytes() == b""
    file.write_bytes(b"\xff")
    response = api.get(rules)
    assert response.status_code == 500
    assert "config.json" in response.json()["message"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"branches": []}, 'property "default_retention_days" is missing'),
        ({"default_retention_days": 1}, 'property "branches" is missing'),
        ({"default_retention_days": -1, "branches": []}, "number must be at least 0"),
        ({"default_retention_days": 2**31, "branches": []}, "number must be at most"),
        ({"default_retention_days": "1", "branches": []}, "value must be an integer"),
        (
            {"default_retention_days": 1, "branches": [{"branch_id": "a"}]},
            'property "retention_days" is missing',
        ),
    ],
)
def test_invalid_rules_change_nothing(api, rules, body, reason):
    api.put(rules, json=RULES)
    status, message = refusal(api.put(rules, json=body))
    assert status == 400
    assert reason in message
    assert api.get(rules).json() == RULES


def test_read_only_repository_refuses_rules(api):
    body = {"name": "gc-locked", "storage_namespace": "local://gc-locked", "read_only": True}
    assert api.post("/repositories", json=body).status_code == 201
    locked = "/repositories/gc-locked/settings/gc_rules"
    assert refusal(api.put(locked, json=RULES)) == (403, "read-only repository")
    assert refusal(api.delete(locked)) == (403, "read-only repository")


def test_preparation_without_rules_raises_not_found(api, root):
    refused = (404, "get gc rules: not found")
    assert refusal(api.post(f"{root}/gc/prepare_commits")) == refused
    task = api.post(f"{root}/gc/prepare_commits/async")
    assert task.status_code == 202
    status = ended(api, root, task.json()["id"])
    assert status["error"] == {"message": "get gc rules: not found"}
    assert "result" not in status


def ended(api, root, task_id):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        status = api.get(f"{root}/gc/prepare_commits/status", params={"id": task_id}).json()
        if status["completed"]:
            return status
        time.sleep(0.02)
    raise AssertionError(f"task {task_id} has not ended")


def test_prepared_commits_are_in_the_format_of_lakefs_client(api, root, rules):
    api.put(rules, json={"default_retention_days": 1, "branches": []})
    first_tree = api.get(f"{root}/refs/main/commits").json()["results"][0]
    put(api, root, "a")
    head = commit(api, root)
    prepared = api.post(f"{root}/gc/prepare_commits")
    assert prepared.status_code == 201
    body = prepared.json()
    folder, name = body["gc_commits_location"].rsplit("/run_id=", 1)
    assert folder.endswith("/_lakefs/retention/gc/commits")
    assert name == f"{body['run_id']}/commits.csv"
    assert body["gc_addresses_location"] == folder.removesuffix("commits") + "addresses/"
    text = local(body["gc_commits_location"]).read_text(encoding="utf-8")
    assert text.splitlines()[0] == "commit_id,expired,metarange_id"
    rows = {row["commit_id"]: row for row in csv.DictReader(io.StringIO(text))}
    assert set(rows) == {head["id"], first_tree["id"]}
    assert rows[head["id"]]["metarange_id"] == head["meta_range_id"]
    assert rows[first_tree["id"]]["metarange_id"] == ""
    assert {row["expired"] for row in rows.values()} == {"false"}
    assert "gc_commits_presigned_url" not in body  # such URLs are off


def test_run_ids_sort_newest_first(api, root, rules):
    api.put(rules, json=RULES)
    runs = [api.post(f"{root}/gc/prepare_commits").json()["run_id"] for _ in range(2)]
    assert len(set(runs)) == 2
    assert all(len(run) == 20 for run in runs)


def test_published_client_prepares_commits_and_uncommitted_objects(api, sdk, repository, root):
    rules = lakefs_sdk.GarbageCollectionRules(default_retention_days=5, branches=[])
    RepositoriesApi(sdk).set_gc_rules(repository, rules)
    internal = InternalApi(sdk)
    task = internal.prepare_garbage_collection_commits_async(repository)
    assert task.id.startswith("GCPC")
    assert len(task.id) == 24
    assert "result" in ended(api, root, task.id)
    status = internal.prepare_garbage_collection_commits_status(repository, task.id)
    assert status.completed
    assert local(status.result.gc_commits_location).read_text().count("\n") == 2
    with pytest.raises(NotFoundException):
        internal.prepare_garbage_collection_commits_status(repository, "GCPC" + "x" * 20)
    with pytest.raises(NotFoundException):
        internal.prepare_garbage_collection_commits_status(repository, "other")
    page = internal.prepare_garbage_collection_uncommitted(repository)
    assert (page.gc_uncommitted_location, page.continuation_token) == ("", None)


def test_prepared_staged_addresses_are_in_the_format_of_lakefs_client(api, root):
    put(api, root, "committed")
    commit(api, root)
    body = {"name": "side", "source": "main", "hidden": True}
    assert api.post(f"{root}/branches", json=body).status_code == 201
    staged = [put(api, root, "a"), put(api, root, "b", "side")]
    api.delete(f"{root}/branches/main/objects", params={"path": "committed"})
    page = api.post(f"{root}/gc/prepare_uncommited")
    assert page.status_code == 201
    prepared = page.json()
    assert "continuation_token" not in prepared
    folder = local(prepared["gc_uncommitted_location"])
    parts = ("_lakefs", "retention", "gc", "uncommitted", prepared["run_id"], "uncommitted")
    assert folder.parts[-6:] == parts
    (file,) = folder.iterdir()
    table = pq.read_table(file).to_pydict()
    relative = ["/".join(local(address).parts[-3:]) for address in staged]
    assert sorted(table["physical_address"]) == sorted(relative)
    assert all(abs(date - time.time()) < 3600 for date in table["creation_date"])


def test_invalid_continuation_token_is_refused(api, root):
    for token in ("x", "e30=", "eyJhIjoxfQ=="):
        response = api.post(f"{root}/gc/prepare_uncommited", json={"continuation_token": token})
        assert refusal(response) == (400, "invalid continuation token")


def test_every_parameter_lists_expired_commits(api, root):
    put(api, root, "a")
    head = commit(api, root)["id"]
    prepare = f"{root}/gc/prepare_commits"
    assert refusal(api.post(prepare)) == (404, "get gc rules: not found")
    response = api.post(prepare, params={"every": "true"})
    assert response.status_code == 201
    rows = list(
        csv.DictReader(io.StringIO(local(response.json()["gc_commits_location"]).read_text()))
    )
    assert [row["expired"] for row in rows] == ["false", "false"]
    assert head in {row["commit_id"] for row in rows}


def test_paths_of_staged_objects_are_written_on_request(api, root, repository):
    staged = put(api, root, "a/ä")
    response = api.post(f"{root}/gc/prepare_uncommited", params={"paths": "true"})
    assert response.status_code == 201
    (file,) = local(response.json()["gc_uncommitted_location"]).iterdir()
    (row,) = [row for row in pq.read_table(file).to_pylist() if row["repository"] == repository]
    assert (row["branch"], row["path"]) == ("main", "a/ä")
    assert row["physical_address"] == "/".join(local(staged).parts[-3:])


@pytest.mark.parametrize("resource", ["arn:lakefs:fs:::repository/sea", "*"])
def test_paths_need_the_permission_for_all_repositories(resource):
    action = "retention:PrepareGarbageCollectionUncommitted"
    actor = Actor(username="jane", statements=(Statement(Effect.ALLOW, (action,), (resource,)),))
    call = Call(
        None,  # nothing is asked before the decision
        Request({}, "", {}),
        PrepareUncommitted(repository="sea", paths=True),
        PrepareGCUncommittedRequest(),
        actor,
    )
    with pytest.raises(AttributeError if resource == "*" else Denied):
        prepare_uncommitted(call)


@pytest.mark.parametrize("resource", ["arn:lakefs:fs:::repository/sea", "*"])
def test_records_of_tables_need_the_permission_for_all_repositories(resource):
    action = "retention:PrepareGarbageCollectionUncommitted"
    actor = Actor(username="jane", statements=(Statement(Effect.ALLOW, (action,), (resource,)),))
    (operation,) = table_records.OPERATIONS
    call = Call(None, Request({}, "", {}), InRepository(repository="sea"), None, actor)
    needs = [Permission(need.action, need.resource(call)) for need in operation.permission]
    assert [actor.may(need) for need in needs] == [True, resource == "*"]


def test_records_of_tables_are_listed(api, root, repository):
    record = put(api, root, "_tables/city/trips/table.json")
    put(api, root, "_tables/city/trips/other.json")
    response = api.get(f"{root}/gc/table_records")
    assert response.status_code == 200
    found = {each["repository"]["id"]: each for each in response.json()["results"]}
    assert found[repository]["deleted"] is False
    (listed,) = found[repository]["records"]
    assert (listed["path"], listed["physical_address"]) == (
        "_tables/city/trips/table.json",
        record,
    )
    assert refusal(api.get(f"{root}/gc/table_records", params={"after": "x"})) == (
        400,
        "invalid continuation token",
    )
