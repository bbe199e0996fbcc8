"""The folder of cached tables of a real server: requests succeed without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid

import pytest
from support.clients.no_retry_client import Caller

from anabranch.testing.server import running_server


@pytest.fixture(scope="module")
def served(s3, tmp_path_factory):
    """A server with objects in a bucket, and its data folder."""
    data = tmp_path_factory.mktemp("data")
    with running_server(data, env=s3.settings) as running:
        yield running, data


@pytest.fixture
def call(served):
    return Caller(served[0])


@pytest.fixture
def cache(served):
    return served[1] / "cache"


@pytest.fixture
def repository(call, s3):
    bucket = f"lake-{uuid.uuid4()}"
    s3.make_bucket(bucket)
    name = f"repo-{uuid.uuid4()}"
    body = {"name": name, "storage_namespace": f"s3://{bucket}/{name}"}
    assert call("POST", "/repositories", body).status == 201
    return name


def put(call, repository, branch, path):
    assert call.put(repository, branch, path, path.encode()).status == 201


def paths(call, repository, branch):
    reply = call("GET", f"/repositories/{repository}/refs/{branch}/objects/ls")
    assert reply.status == 200, reply
    return [item["path"] for item in reply.json["results"]]


def tables(cache):
    return [path for path in cache.iterdir() if len(path.name) == 64]


def test_a_removed_folder_is_created_again(call, cache, repository):
    put(call, repository, "main", "a")
    assert call.commit(repository, "main", "one").status == 201
    for path in ("b", "c"):
        shutil.rmtree(cache)
        put(call, repository, "main", path)
        assert call.commit(repository, "main", path).status == 201
    assert tables(cache)
    shutil.rmtree(cache)
    assert paths(call, repository, "main") == ["a", "b", "c"]


def emptied(path):
    os.truncate(path, 0)


def flipped(path):
    """Changes bytes in the block of records, which the footer and index do not tell."""
    content = bytearray(path.read_bytes())
    for at in range(20, min(len(content) // 3, 60)):
        content[at] ^= 0x20
    path.write_bytes(content)


def shortened(path):
    os.truncate(path, path.stat().st_size * 9 // 10)


@pytest.mark.parametrize("damage", [emptied, flipped, shortened])
@pytest.mark.parametrize("opened", [True, False], ids=["in use", "not in use"])
def test_damaged_tables_are_fetched_again(served, cache, repository, damage, opened):
    """Each request meets the damage by itself: all tables are damaged before each."""
    call = Caller(served[0])
    for branch in ("main", "side"):
        if branch == "side":
            call("POST", f"/repositories/{repository}/branches", {"name": "side", "source": "main"})
        put(call, repository, branch, f"{branch}-1")
        assert call.commit(repository, branch, branch).status == 201
    where = f"/repositories/{repository}"
    requests = {
        "stat": lambda: call("GET", f"{where}/refs/main/objects/stat?path=main-1"),
        "list": lambda: call("GET", f"{where}/refs/side/objects/ls"),
        "diff": lambda: call("GET", f"{where}/refs/main/diff/side"),
        "log": lambda: call("GET", f"{where}/refs/side/commits?objects=side-1"),
        "put": lambda: call.put(repository, "side", "side-2", b"2"),
        "uncommitted": lambda: call("GET", f"{where}/branches/side/diff"),
        "commit": lambda: call.commit(repository, "side", "two"),
        "merge": lambda: call("POST", f"{where}/refs/side/merge/main", {}),
        "revert": lambda: call("POST", f"{where}/branches/main/revert", _last(call, where)),
        "read": lambda: call.get(repository, "main", "main-1"),
    }
    if opened:
        assert paths(call, repository, "main") == ["main-1"]
    for name, request in requests.items():
        for path in tables(cache):
            damage(path)
        reply = request()
        assert reply.status in (200, 201, 204), (name, reply)
    assert paths(call, repository, "main") == ["main-1"]
    assert "removed the damaged table" in served[0].log.read_text()


def _last(call, where):
    head = call("GET", f"{where}/branches/main").json["commit_id"]
    return {"ref": head, "parent_number": 1}


def test_a_table_that_is_damaged_in_the_store_is_named(s3, tmp_path):
    bucket = f"lake-{uuid.uuid4()}"
    s3.make_bucket(bucket)
    with running_server(tmp_path, env=s3.settings) as server:
        call = Caller(server)
        body = {"name": "lake", "storage_namespace": f"s3://{bucket}/lake"}
        assert call("POST", "/repositories", body).status == 201
        put(call, "lake", "main", "a")
        commit = call.commit("lake", "main", "one")
        assert commit.status == 201
        address = f"s3://{bucket}/lake/_lakefs/{commit.json['meta_range_id']}"
    s3.blocks().put(address, [b"damaged"])
    shutil.rmtree(tmp_path / "cache")
    with running_server(tmp_path, env=s3.settings) as server:
        reply = Caller(server)("GET", "/repositories/lake/refs/main/objects/ls")
        assert reply.status == 500
        assert address in reply.message


def test_commits_succeed_while_the_cache_disk_is_full(s3, tmp_path):
    """On a small file system, in a namespace of mounts of the server's own."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["unshare", "--user", "--map-root-user", "--mount", "true"]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no namespace of mounts may be made here")
    env = {**s3.settings, "ANABRANCH_COMMITTED_LOCAL_CACHE_DIR": str(small)}
    prefix = f'mount -t tmpfs -o size=16k none {small} && exec "$@"'
    with running_server(
        tmp_path / "data", env=env, within=(*mount[:-1], "sh", "-c", prefix, "sh")
    ) as server:
        call = Caller(server)
        bucket = f"lake-{uuid.uuid4()}"
        s3.make_bucket(bucket)
        body = {"name": "full", "storage_namespace": f"s3://{bucket}/full"}
        assert call("POST", "/repositories", body).status == 201
        for number in range(20):
            put(call, "full", "main", f"{number:02}")
            assert call.commit("full", "main", "more").status == 201
        call("POST", "/repositories/full/branches", {"name": "side", "source": "main~3"})
        put(call, "full", "side", "side")
        assert call.commit("full", "side", "side").status == 201
        assert call("POST", "/repositories/full/refs/side/merge/main", {}).status == 200
        assert len(paths(call, "full", "main")) == 21
        assert "no space for new tables" in server.log.read_text()
