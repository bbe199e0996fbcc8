"""Objects that lakeFS received in parts, read by every gateway and command after a restore."""

from __future__ import annotations

import hashlib

import httpx2
import msgspec
import pytest
from support.clients.s3_client import s3_client
from support.recorded.recorded_parts import DUMP, MANIFEST, unpack

from anabranch.cli.main import main
from anabranch.testing.server import running_server

TREE = MANIFEST["branches"]["main"]["tree"]
READ = "/repositories/parts/refs/main/objects"


@pytest.fixture(scope="module")
def restored(tmp_path_factory):
    """A server with the recorded repository, a client of its API, and one of S3."""
    folder = tmp_path_factory.mktemp("restored")
    unpack(folder / "block")
    with (
        running_server(folder) as server,
        httpx2.Client(base_url=server.api, auth=server.auth, timeout=30) as api,
    ):
        body = {"name": "parts", "storage_namespace": "local://parts", "default_branch": "main"}
        assert api.post("/repositories", params={"bare": "true"}, json=body).status_code == 201
        ids = {f"{name}_meta_range_id": tree for name, tree in msgspec.structs.asdict(DUMP).items()}
        assert api.put("/repositories/parts/refs/restore", json=ids).status_code == 200
        yield server, api, s3_client(server)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("path", TREE)
@pytest.mark.sample(3)
def test_objects_are_read_by_both_gateways(restored, path):
    _, api, s3 = restored
    entry, named = TREE[path], {"Bucket": "parts", "Key": f"main/{path}"}
    for _ in range(2):  # the second read knows what the first one found
        assert api.head(READ, params={"path": path}).status_code == 200
        assert s3.head_object(**named)["ContentLength"] == entry["size"]
        answer = api.get(READ, params={"path": path})
        assert (answer.status_code, sha256(answer.content)) == (200, entry["sha256"])
        body = s3.get_object(**named)["Body"].read()
        assert sha256(body) == entry["sha256"]
        if body:
            tail = {"Range": f"bytes={len(body) // 2}-"}
            part = api.get(READ, params={"path": path}, headers=tail)
            assert (part.status_code, part.content) == (206, body[len(body) // 2 :])
            assert s3.get_object(**named, **tail)["Body"].read() == part.content


@pytest.mark.parametrize("path", TREE)
def test_copies_are_read_by_both_gateways(restored, path):
    _, api, s3 = restored
    query = {"dest_path": f"rest/{path}"}
    copies = "/repositories/parts/branches/dev/objects/copy"
    body = {"src_path": path, "src_ref": "main"}
    assert api.post(copies, params=query, json=body).status_code == 201
    source = {"Bucket": "parts", "Key": f"main/{path}"}
    s3.copy_object(Bucket="parts", Key=f"dev/s3/{path}", CopySource=source)
    for copy in (f"rest/{path}", f"s3/{path}"):
        answer = api.get("/repositories/parts/refs/dev/objects", params={"path": copy})
        assert (answer.status_code, sha256(answer.content)) == (200, TREE[path]["sha256"])
        body = s3.get_object(Bucket="parts", Key=f"dev/{copy}")["Body"].read()
        assert sha256(body) == TREE[path]["sha256"]


@pytest.fixture
def ana(restored, monkeypatch, capsys):
    """Runs a command against the server and returns the rows that it writes."""
    server = restored[0]
    monkeypatch.setenv("ANABRANCH_SERVER", server.url)
    monkeypatch.setenv("ANABRANCH_ACCESS_KEY_ID", server.access_key_id)
    monkeypatch.setenv("ANABRANCH_SECRET_ACCESS_KEY", server.secret_access_key)

    def run(*words: object) -> list[list[str]]:
        code = main([str(word) for word in words])
        written = capsys.readouterr()
        assert code == 0, written.err
        return [line.split("\t") for line in written.out.splitlines()]

    return run


def test_image_is_pulled(ana, tmp_path):
    lakefile = tmp_path / "Lakefile"
    lakefile.write_text("FROM lakefs://parts/main\n")
    ana("image", "build", "-t", "parts", "-f", lakefile)
    folder = tmp_path / "pulled"
    states = {row[0]: row[2] for row in ana("image", "pull", "parts", folder)}
    assert states == {
        path: "downloaded" if entry["checksum_is_md5"] else "unverified"
        for path, entry in TREE.items()
    }
    again = {row[0]: row[2] for row in ana("image", "pull", "parts", folder)}
    assert again == {path: state.replace("downloaded", "kept") for path, state in states.items()}
    for path, entry in TREE.items():
        assert sha256((folder / path).read_bytes()) == entry["sha256"]


def test_linked_folder_has_no_local_changes(ana, tmp_path):
    folder = tmp_path / "clone"
    ana("local", "clone", "lakefs://parts/main/", folder)
    for branch in ("dev", "main", "dev"):  # without --yes, it refuses to discard local changes
        ana("local", "checkout", folder, "--ref", branch)
        for path, entry in MANIFEST["branches"][branch]["tree"].items():
            assert sha256((folder / path).read_bytes()) == entry["sha256"]
    (folder / "ordinary/by-s3.txt").write_bytes(b"mine")
    with pytest.raises(AssertionError, match="Discard 1 local changes"):
        ana("local", "checkout", folder, "--ref", "main")
