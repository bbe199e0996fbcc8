"""Large objects that clients store in the server's store themselves."""

from __future__ import annotations

import hashlib
import random
import uuid
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.http_servers import answer, serving

import anabranch
from anabranch.errors import NotFound, PreconditionFailed
from anabranch.remote.calls.stored_upload import LARGE_UPLOAD
from anabranch.testing.server import running_server

BIG = random.Random(2).randbytes(LARGE_UPLOAD + 3)
PARTS = [BIG[:5], b"", BIG[5 : 3 << 20], BIG[3 << 20 :]]
SIGNED = {"ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true"}
ENDPOINT = "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_ENDPOINT"


@pytest.fixture
def run(tmp_path):
    """A function that starts a server with settings, and returns it with a lake on it."""
    with ExitStack() as stack:

        def start(settings, namespace=None):
            server = stack.enter_context(running_server(tmp_path / "lake", env=settings))
            lake = stack.enter_context(anabranch.connect(server.url, *server.auth))
            lake.repositories.create("sea", storage_namespace=namespace)
            return server, lake

        yield start


def bytes_read(server):
    return int(Path(f"/proc/{server.pid}/io").read_text().split()[1])


def test_bytes_go_to_the_store_alone(run, s3):
    bucket = f"uploads-{uuid.uuid4()}"
    s3.make_bucket(bucket)
    server, lake = run(s3.settings, f"s3://{bucket}/sea")
    before = bytes_read(server)
    metadata = {"Depth": "10935", "ünï": "ö"}
    made = lake.objects.upload(
        "sea", "main", "a/big", PARTS, content_type="image/x-depth", metadata=metadata
    )
    assert bytes_read(server) - before < 1 << 20
    stat = lake.objects.stat("sea", "main", "a/big")
    for each in (made, stat):
        assert each.entry.checksum == hashlib.md5(BIG).hexdigest()
        assert each.entry.size == len(BIG)
        assert each.entry.metadata == metadata
        assert each.entry.content_type == "image/x-depth"
    assert lake.objects.open("sea", "main", "a/big").read_bytes() == BIG
    with pytest.raises(PreconditionFailed):
        lake.objects.upload("sea", "main", "a/big", PARTS, if_absent=True)
    lake.commits.commit("sea", "main", message="big")


@pytest.mark.sample(1)
@pytest.mark.parametrize("status", [200, 302, 403, 500])
def test_what_the_store_does_not_take_goes_through_the_server_and_the_store_sees_no_key(
    run, status
):
    with serving(answer(status)) as (port, seen):
        _, lake = run({**SIGNED, ENDPOINT: f"http://127.0.0.1:{port}"})
        lake.objects.upload("sea", "main", "big", PARTS)
        assert lake.objects.open("sea", "main", "big").read_bytes() == BIG
        lake.objects.upload("sea", "main", "small", [b"small"])
    assert [(request.method, len(request.body)) for request in seen] == [("PUT", len(BIG))]
    assert not any("authorization" in map(str.lower, request.headers) for request in seen)


def test_a_store_that_cannot_be_reached_from_here(run, unused_tcp_port):
    _, lake = run({**SIGNED, ENDPOINT: f"http://127.0.0.1:{unused_tcp_port}"})
    for path in ("one", "two"):
        lake.objects.upload("sea", "main", path, PARTS)
        assert lake.objects.open("sea", "main", path).read_bytes() == BIG


@pytest.mark.slow
def test_without_addresses(run):
    _, lake = run({})
    for path in ("one", "two"):
        lake.objects.upload("sea", "main", path, PARTS)
        assert lake.objects.open("sea", "main", path).read_bytes() == BIG


@pytest.mark.slow
def test_a_branch_that_is_not_there(run):
    _, lake = run(SIGNED)
    with pytest.raises(NotFound) as caught:
        lake.objects.upload("sea", "nowhere", "big", PARTS)
    assert caught.value.kind == "branch_not_found"
