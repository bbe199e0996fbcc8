"""Snapshots whose bytes come from the server's store, by addresses that need no credentials."""

from __future__ import annotations

import os
import pickle
import random
import urllib.error
import urllib.request
import uuid
from base64 import b64encode
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.eventually import eventually
from support.http_servers import answer, serving

import anabranch
from anabranch.client.rest_client import Request
from anabranch.errors import AnabranchError, Denied, Gone
from anabranch.remote.reads import PresignedReads
from anabranch.remote.snapshots.batches import LARGE
from anabranch.testing.server import running_server

BIG = random.Random(1).randbytes(2 * LARGE + 5)
SIGNED = {"ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true"}


@pytest.fixture
def run(tmp_path):
    """A function that starts a server with settings, and returns it with a filled lake on it."""
    with ExitStack() as stack:

        def start(settings, namespace=None):
            server = stack.enter_context(running_server(tmp_path / "lake", env=settings))
            opened = anabranch.connect(
                server.url, *server.auth, cache_folder=tmp_path / "cache", timeout=100
            )
            lake = stack.enter_context(opened)
            lake.repositories.create("sea", storage_namespace=namespace)
            lake.objects.upload("sea", "main", "open/big", [BIG])
            lake.objects.upload("sea", "main", "open/small", [b"waves"])
            lake.objects.upload("sea", "main", "secret/big", [BIG[::-1]])
            lake.commits.commit("sea", "main", message="objects")
            return server, lake

        yield start


def bytes_read(server):
    """How many bytes the server has read from files and sockets so far."""
    return int(Path(f"/proc/{server.pid}/io").read_text().split()[1])


def location(server, path):
    """The presigned address that the server gives now."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    request = urllib.request.Request(
        f"{server.url}/api/v1/repositories/sea/refs/main/objects?path={path}&presign=true",
        headers={"Authorization": f"Basic {b64encode(':'.join(server.auth).encode()).decode()}"},
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.build_opener(Stay).open(request, timeout=100)
    assert caught.value.code == 302
    return caught.value.headers["Location"]


def status(address):
    try:
        with urllib.request.urlopen(address, timeout=100) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def kept_address(snapshot):
    """The address that the snapshot reads a large object by."""
    addresses = snapshot._source._reads._addresses
    (found,) = (address for key, address in addresses.items() if ("path", "open/big") in key)
    return found


def limited_user(lake, policy):
    """A lake of a new user who may read what the policy permits."""
    client, name = lake._client, f"user-{uuid.uuid4().hex}"
    client.send("POST", "auth", "users", body={"id": name})
    client.send("POST", "auth", "policies", body={"id": name, "statement": policy})
    client.send("PUT", "auth", "users", name, "policies", name)
    keys = client.send("POST", "auth", "users", name, "credentials")
    auth = (keys["access_key_id"], keys["secret_access_key"])
    return name, anabranch.connect(client.url, *auth, cache_folder=lake._cache.folder)


def permit(action, resource):
    return {"effect": "allow", "action": [action], "resource": resource}


def test_large_objects_and_tables_come_from_the_store(run, s3):
    bucket = f"presigned-{uuid.uuid4()}"
    s3.make_bucket(bucket)
    server, lake = run(s3.settings, f"s3://{bucket}/sea")
    before = bytes_read(server)
    snapshot = lake.snapshot("sea", "main")
    assert [*snapshot.paths()] == ["open/big", "open/small", "secret/big"]
    assert snapshot.read("open/big") == BIG
    assert [*snapshot.read_many(snapshot.paths())] == [BIG, b"waves", BIG[::-1]]
    with snapshot.open("secret/big", "rb") as file:
        file.seek(LARGE)
        assert file.read(9) == BIG[::-1][LARGE : LARGE + 9]
    assert bytes_read(server) - before < LARGE, "no large object went through the server"
    copy = pickle.loads(pickle.dumps(snapshot))  # noqa: S301  made here
    assert copy.read("open/big") == BIG


@pytest.mark.slow
def test_an_address_that_expires_in_the_middle_is_renewed(run):
    server, lake = run({**SIGNED, "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_EXPIRY": "5s"})
    snapshot = lake.snapshot("sea", "main")
    with snapshot.open("open/big", "rb") as file:
        assert file.read(10) == BIG[:10]
        first = kept_address(snapshot)
        later = location(server, "open/big")
        eventually(lambda: status(later) == 403)
        file.seek(LARGE)
        assert file.read() == BIG[LARGE:]
    assert kept_address(snapshot) != first


def test_the_server_delivers_what_the_store_refuses_without_seeing_credentials(run):
    with serving(answer(403)) as (port, seen):
        endpoint = f"http://127.0.0.1:{port}"
        settings = {**SIGNED, "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_ENDPOINT": endpoint}
        _, lake = run(settings)
        snapshot = lake.snapshot("sea", "main")
        assert snapshot.read("open/big") == BIG
        assert len([*snapshot.paths()]) == 3
    assert seen
    assert not any("authorization" in map(str.lower, request.headers) for request in seen)


LOGIN_PAGE = b"<html>log in to the network"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("status", "content"),
    [(200, BIG + BIG[:1]), (200, LOGIN_PAGE), (206, LOGIN_PAGE), (206, BIG + BIG), (302, b"")],
)
def test_the_server_delivers_what_others_answer_with_other_bytes(run, status, content):
    """As a proxy does that knows no ranges, or wants a login."""
    location = {"Location": "file:///etc/hostname"} if status == 302 else {}
    with serving(answer(status, content, **location)) as (port, seen):
        endpoint = f"http://127.0.0.1:{port}"
        _, lake = run({**SIGNED, "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_ENDPOINT": endpoint})
        snapshot = lake.snapshot("sea", "main")
        assert snapshot.read("open/big") == BIG
        assert (
            snapshot._source.open("open/big", snapshot.stat("open/big").entry).read_bytes(0, 9)
            == (BIG[:9])
        )
        assert len([*snapshot.paths()]) == 3
    assert seen


@pytest.mark.slow
def test_a_store_that_throttles_is_asked_again(run):
    remaining = [503, 429]

    def respond(handler):
        code = remaining.pop() if remaining else 206
        begin, end = handler.headers["Range"].removeprefix("bytes=").split("-")
        content = BIG[int(begin) : int(end) + 1] if code == 206 else b""
        answer(code, content, Retry_After="0")(handler)

    with serving(respond) as (port, seen):
        endpoint = f"http://127.0.0.1:{port}"
        _, lake = run({**SIGNED, "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_ENDPOINT": endpoint})
        entry = lake.objects.open("sea", "main", "open/big").entry
        source = lake.snapshot("sea", "main")._source
        seen.clear()
        remaining[:] = [503, 429]
        assert source.open("open/big", entry).read_bytes() == BIG
        assert len(seen) == 3


def test_a_store_that_cannot_be_reached_from_here(run, unused_tcp_port):
    endpoint = f"http://127.0.0.1:{unused_tcp_port}"
    _, lake = run({**SIGNED, "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_ENDPOINT": endpoint})
    snapshot = lake.snapshot("sea", "main")
    assert [*snapshot.read_many(snapshot.paths())] == [BIG, b"waves", BIG[::-1]]


def test_hidden_paths_get_no_address(run):
    _, lake = run(SIGNED)
    here = "arn:lakefs:fs:::repository/sea"
    name, other = limited_user(
        lake,
        [
            permit("fs:ReadCommit", here),
            permit("fs:ReadRepository", here),
            permit("fs:ListObjects", here),
            permit("fs:ReadObject", f"{here}/object/open/*"),
        ],
    )
    with other:
        snapshot = other.snapshot("sea", "main")
        assert snapshot.read("open/big") == BIG
        assert kept_address(snapshot)
        hidden = lake.objects.open("sea", "main", "secret/big").entry
        with pytest.raises(Denied):
            snapshot._source.open("secret/big", hidden).read_bytes()
        copy = pickle.loads(pickle.dumps(snapshot))  # noqa: S301  without addresses
        lake._client.send("DELETE", "auth", "users", name, "policies", name)
        with pytest.raises(Denied):
            copy.read("open/big")


@pytest.mark.slow
def test_keys_of_a_workspace_get_no_address(run):
    _, lake = run(SIGNED)
    with lake.workspace("sea", readable=["open/**"], writable=["open/**"]) as job:
        snapshot = job.snapshot()
        assert snapshot.read("open/big") == BIG
        assert not isinstance(snapshot._source._reads, PresignedReads)
        job.write("open/new", [BIG, BIG, BIG, BIG])
        assert job.read("open/new") == 4 * BIG
        path = ("repositories", "sea", "refs", snapshot.commit_id, "objects")
        request = Request("GET", path, {"path": "open/big"})
        with PresignedReads(job._lake._client).exchange(request) as response:
            assert response.read() == BIG, "as of a server that says nothing of it"


@pytest.mark.slow
def test_bytes_that_are_lost_are_gone(run, tmp_path):
    _, lake = run(SIGNED)
    snapshot = lake.snapshot("sea", "main")
    assert snapshot.stat("open/big").entry.size == len(BIG)
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.stat().st_size == len(BIG):
            os.truncate(path, 0)
            path.unlink()
    with pytest.raises(Gone):
        snapshot.read("open/big")


@pytest.mark.slow
def test_turned_off_meanwhile(run):
    """As with another server of the lake, which has other settings."""
    _, lake = run({})
    request = Request(
        "GET", ("repositories", "sea", "refs", "main", "objects"), {"path": "open/big"}
    )
    with PresignedReads(lake._client).exchange(request) as response:
        assert response.read() == BIG
    absent = request._replace(params={"path": "nothing"})
    with pytest.raises(AnabranchError, match="not found"):
        PresignedReads(lake._client).exchange(absent)
