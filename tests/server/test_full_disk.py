"""A full disk under a real server: a clear answer, nothing half done, and on it goes with room.

The disk is full by the kernel's own limit on the size of files, set and lifted while the server
runs: writes beyond it fail as on a disk that has no room for them.
"""

from __future__ import annotations

import resource
from contextlib import contextmanager

import pytest
from support.clients.no_retry_client import Caller
from support.stored_files import stored_files

import anabranch
from anabranch import _kernel as kernel
from anabranch.testing.server import running_server

REPOSITORY = "full"
BIG = b"x" * 600_000


@contextmanager
def files_up_to(server, size):
    """Lets no file of the server grow beyond a size, in bytes, as long as it is entered."""
    before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, before)


@pytest.fixture
def served(tmp_path):
    """A server over a folder with a repository of 3,000 objects, and a caller."""
    with anabranch.open(tmp_path) as lake:
        repository = lake.repositories.create(REPOSITORY, f"local://{REPOSITORY}")
        entries = [
            (
                b"%06d" % number,
                kernel.encode_entry(f"data/{number}", 1, 0, 0, 1, f"{number:032x}", {}, "a/b"),
            )
            for number in range(3000)
        ]
        written = kernel.write_tree(entries, lake.core.trees.write_folder(repository))
        lake.commits.commit(
            REPOSITORY,
            "main",
            message="Many",
            committer="test",
            source_metarange=written.metarange_id,
        )
    with running_server(tmp_path) as server:
        yield server, Caller(server), tmp_path


def check_full(reply):
    assert reply.status in (503, 507), reply
    assert "disk is full" in reply.message or "too large" in reply.message.lower(), reply


def files(root):
    return stored_files(root / "block")


def test_an_upload_is_refused_and_leaves_nothing(served):
    server, call, root = served
    assert call.put(REPOSITORY, "main", "a", b"before").status == 201
    before = files(root)
    with files_up_to(server, 500_000):
        check_full(call.put(REPOSITORY, "main", "a", BIG))
        check_full(call.put(REPOSITORY, "main", "b", BIG))
        assert call.get(REPOSITORY, "main", "a").body == b"before"
        assert call.get(REPOSITORY, "main", "b").status == 404
        assert files(root) == before
        # there is room for small ones
        assert call.put(REPOSITORY, "main", "c", b"small").status == 201
    assert call.put(REPOSITORY, "main", "a", BIG).status == 201
    assert call.get(REPOSITORY, "main", "a").body == BIG
    assert call.commit(REPOSITORY, "main", "Room again").status == 201


def test_a_commit_is_refused_and_made_when_there_is_room(served):
    server, call, root = served
    assert call.put(REPOSITORY, "main", "000100-new", b"new").status == 201
    head = call("GET", f"/repositories/{REPOSITORY}/branches/main").json["commit_id"]
    before = files(root)
    with files_up_to(server, 100_000):
        check_full(call.commit(REPOSITORY, "main", "No room"))
        assert call("GET", f"/repositories/{REPOSITORY}/branches/main").json["commit_id"] == head
        assert call.get(REPOSITORY, "main", "000100-new").body == b"new"
        assert files(root) == before
        assert call("GET", f"/repositories/{REPOSITORY}/branches/main/diff").json["results"]
    assert call.commit(REPOSITORY, "main", "Room").status == 201
    assert call.get(REPOSITORY, "main@", "000100-new").body == b"new"
    listed = call("GET", f"/repositories/{REPOSITORY}/refs/main/objects/ls?amount=1000")
    assert listed.json["results"][101]["path"] == "000100-new"


def test_references_are_refused_and_nothing_changes(served):
    server, call, _ = served
    where = f"/repositories/{REPOSITORY}"
    assert call.put(REPOSITORY, "main", "staged", b"1").status == 201
    with files_up_to(server, 100):
        check_full(call.put(REPOSITORY, "main", "a", b"1"))
        check_full(call("POST", f"{where}/branches", {"name": "side", "source": "main"}))
        check_full(call("POST", f"{where}/tags", {"id": "v1", "ref": "main"}))
        check_full(call("DELETE", f"{where}/branches/main/objects?path=staged"))
        check_full(call.commit(REPOSITORY, "main", "No room"))
        body = {"name": "other", "storage_namespace": "local://other"}
        check_full(call("POST", "/repositories", body))
        # reads still succeed
        assert call.get(REPOSITORY, "main", "staged").body == b"1"
        assert call("GET", f"{where}/refs/main/objects/stat?path=000100").status == 200
    assert [each["id"] for each in call("GET", f"{where}/branches").json["results"]] == ["main"]
    assert call("GET", f"{where}/tags").json["results"] == []
    assert call.get(REPOSITORY, "main", "a").status == 404
    assert call("POST", "/repositories", body).status == 201
    assert call("POST", f"{where}/branches", {"name": "side", "source": "main"}).status == 201
    assert call.commit(REPOSITORY, "main", "Room").status == 201
