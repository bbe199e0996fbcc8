"""Names of branches and tags have a greatest length; longer ones that exist stay usable."""

from __future__ import annotations

import random

import httpx2
import pytest
from botocore.exceptions import ClientError
from support.clients.s3_client import s3_client

import anabranch
from anabranch.keyvalue.contract import Write
from anabranch.model.names import MAX_REFERENCE_BYTES
from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag
from anabranch.testing.server import running_server
from anabranch.versioning.records import keys, references

LONG_BRANCH, LONG_TAG = "b" * 3_000, "t" * 3_000
TOO_LONG = f"{MAX_REFERENCE_BYTES + 1} is above maximum length (1024)"


def name_of(length, seed=1):
    """Returns a name that no database can compress."""
    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789_", k=length))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server over an installation that has longer names already."""
    data = tmp_path_factory.mktemp("lake")
    with anabranch.open(data) as lake:
        lake.repositories.create("sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
        head = lake.commits.commit("sea", "main", message="m", committer="ann").id
        core = lake.core
        sea = core.repositories.get("sea")
        token = core.identifiers.staging_token("sea", LONG_BRANCH)
        branch = Branch(id=LONG_BRANCH, commit_id=head, staging_token=token)
        tag = references.tag_bytes(Tag(id=LONG_TAG, commit_id=head))
        tag_write = Write(sea.partition, keys.tag(LONG_TAG), tag)
        core.keyvalue.apply([core.branches.write(sea, branch), tag_write])
    with running_server(data) as running:
        yield running


@pytest.fixture
def api(server):
    with httpx2.Client(base_url=f"{server.api}/repositories/sea", auth=server.auth) as client:
        yield client


def ids(api, kind):
    return [item["id"] for item in api.get(f"/{kind}").json()["results"]]


@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        ("branches", {"name": "x" * 1025, "source": "main"}, "invalid_branch_name"),
        ("branches", {"name": "dev:" + "x" * 1021, "source": "main"}, "invalid_branch_name"),
        ("tags", {"id": "x" * 1025, "ref": "main"}, "invalid_tag_name"),
        ("tags", {"id": "é" * 512 + "x", "ref": "main"}, "invalid_tag_name"),
    ],
)
def test_a_longer_name_is_refused_and_changes_nothing(api, kind, body, error):
    before = ids(api, kind)
    refused = api.post(f"/{kind}", json=body)
    assert (refused.status_code, refused.headers["x-anabranch-kind"]) == (400, error)
    assert refused.json()["message"].endswith(TOO_LONG)
    assert ids(api, kind) == before


def test_no_repository_has_a_default_branch_of_a_longer_name(server):
    body = {"name": "new", "storage_namespace": "local://new", "default_branch": "x" * 1025}
    with httpx2.Client(base_url=server.api, auth=server.auth) as api:
        refused = api.post("/repositories", json=body)
        assert refused.json()["message"].endswith(TOO_LONG)
        assert api.get("/repositories/new").status_code == 404


def test_a_dump_whose_default_branch_has_a_longer_name_is_restored(server):
    with httpx2.Client(base_url=f"{server.api}", auth=server.auth) as api:
        dump = api.put("/repositories/sea/refs/dump").json()
        namespace = api.get("/repositories/sea").json()["storage_namespace"]
        body = {"name": "copy", "storage_namespace": namespace, "default_branch": LONG_BRANCH}
        copy = api.post("/repositories?bare=true", json=body)
        assert copy.status_code == 201, copy.text
        assert copy.json()["default_branch"] == LONG_BRANCH
        restored = api.put("/repositories/copy/refs/restore", json=dump)
        assert restored.status_code == 200, restored.text
        path = f"/repositories/copy/refs/{LONG_BRANCH}/objects"
        assert api.get(path, params={"path": "a"}).content == b"1"
        wrong = body | {"name": "wrong", "default_branch": "-wrong"}
        assert api.post("/repositories?bare=true", json=wrong).status_code == 400


@pytest.mark.parametrize(("kind", "name"), [("branches", LONG_BRANCH), ("tags", LONG_TAG)])
def test_what_has_a_longer_name_is_restored_after_its_deletion(api, kind, name):
    assert api.delete(f"/{kind}/{name}").status_code == 204
    assert name not in ids(api, kind)
    assert api.post(f"/{kind}/{name}/restore").status_code == 200
    assert name in ids(api, kind)


@pytest.mark.parametrize("name", ["x" * 1024, "é" * 512])
def test_the_longest_tag_is_made_read_and_deleted(api, name):
    assert api.post("/tags", json={"id": name, "ref": "main"}).status_code == 201
    assert api.get(f"/tags/{name}").json()["id"] == name
    assert api.get(f"/refs/{name}/objects", params={"path": "a"}).content == b"1"
    assert api.delete(f"/tags/{name}").status_code == 204


def write_by_both_gateways(server, api, branch, path):
    s3 = s3_client(server)
    s3.put_object(Bucket=api.base_url.path.rsplit("/", 2)[-2], Key=f"{branch}/s3", Body=b"2")
    assert api.get(f"/refs/{branch}/objects", params={"path": "s3"}).content == b"2"
    files = {"content": b"3"}
    put = api.post(f"/branches/{branch}/objects", params={"path": path}, files=files)
    assert put.status_code == 201, put.text
    commit = api.post(f"/branches/{branch}/commits", json={"message": "m"})
    assert commit.status_code == 201, commit.text
    assert api.get(f"/refs/{branch}@/objects", params={"path": path}).content == b"3"


def test_the_longest_branch_takes_the_longest_path(server, api):
    name = name_of(1024)
    assert api.post("/branches", json={"name": name, "source": "main"}).status_code == 201
    write_by_both_gateways(server, api, name, name_of(1024, seed=2))
    assert api.delete(f"/branches/{name}").status_code == 204


def test_so_it_does_where_postgresql_indexes_the_names(postgres_server):
    body = {"name": "long-names", "storage_namespace": "local://long-names"}
    with httpx2.Client(base_url=postgres_server.api, auth=postgres_server.auth) as api:
        assert api.post("/repositories", json=body).status_code == 201
        api.base_url = f"{postgres_server.api}/repositories/long-names"
        test_the_longest_branch_takes_the_longest_path(postgres_server, api)


def test_longer_names_that_exist_are_listed_read_written_and_deleted(server, api):
    s3 = s3_client(server)
    assert {LONG_BRANCH, "main"} <= set(ids(api, "branches"))
    assert LONG_TAG in ids(api, "tags")
    for name in (LONG_BRANCH, LONG_TAG):
        assert api.get(f"/refs/{name}/objects", params={"path": "a"}).content == b"1"
        assert s3.get_object(Bucket="sea", Key=f"{name}/a")["Body"].read() == b"1"
    write_by_both_gateways(server, api, LONG_BRANCH, "b")
    merged = api.post(f"/refs/{LONG_BRANCH}/merge/main", json={})
    assert merged.status_code == 200, merged.text
    for name in (LONG_BRANCH, LONG_TAG):  # as clients ask that take what exists already
        assert api.post("/branches", json={"name": name, "source": "main"}).status_code == 409
        assert api.post("/tags", json={"id": name, "ref": "main"}).status_code == 409
    assert api.delete(f"/branches/{LONG_BRANCH}").status_code == 204
    assert api.delete(f"/tags/{LONG_TAG}").status_code == 204
    assert LONG_BRANCH not in ids(api, "branches")
    assert LONG_TAG not in ids(api, "tags")
    for place in (f"branches/{LONG_BRANCH}", f"tags/{LONG_TAG}"):  # other tests use them
        assert api.post(f"/{place}/restore").status_code == 200


@pytest.mark.parametrize("method", ["get_object", "put_object", "delete_object"])
def test_a_longer_name_in_a_path_of_s3_is_one_that_does_not_exist(server, method):
    call = getattr(s3_client(server), method)
    answers = []
    for length in (1024, 1025, 4000):
        try:
            call(Bucket="sea", Key=f"{'n' * length}/a")
            answers.append(None)
        except ClientError as error:
            answers.append(error.response["Error"]["Code"])
    assert len(set(answers)) == 1
    assert answers[0] in {None, "NoSuchKey", "NoSuchBucket"}
