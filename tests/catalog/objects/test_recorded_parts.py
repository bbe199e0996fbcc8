"""References, entries and bytes of objects that lakeFS received in parts, after a restore."""

from __future__ import annotations

import hashlib

import pytest
from support.recorded.recorded_parts import DUMP, MANIFEST, unpack

from anabranch.errors import Corrupt, Gone
from anabranch.keyvalue.memory import MemoryStore
from anabranch.pipelines.exports.export import Exporter
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.exports.prefix import PrefixDestination
from anabranch.testing.lake import lake_in

OBJECTS = [
    (branch, path) for branch, recorded in MANIFEST["branches"].items() for path in recorded["tree"]
]
IN_PARTS = "multipart/three-parts.bin"


@pytest.fixture
def namespace(tmp_path):
    """The folder of the recorded storage namespace."""
    return unpack(tmp_path / "blocks")


@pytest.fixture
def lake(tmp_path, namespace, clock):  # noqa: ARG001  the namespace must be there
    """A lake with the recorded repository, restored."""
    with lake_in(tmp_path, clock, MemoryStore()) as lake:
        lake.repositories.create("parts", "local://parts", bare=True)
        lake.refs_dumps.restore("parts", DUMP)
        yield lake


def test_references_are_those_of_lakefs(lake):
    branches = lake.branches.list("parts", amount=10).items
    assert {each.id: each.commit_id for each in branches} == {
        name: recorded["commit_id"] for name, recorded in MANIFEST["branches"].items()
    }
    tags = lake.tags.list("parts", amount=10).items
    assert {each.id: each.commit_id for each in tags} == MANIFEST["tags"]


@pytest.mark.parametrize("branch", MANIFEST["branches"])
def test_entries_keep_the_checksums_of_lakefs(lake, branch):
    repository = lake.core.repositories.get("parts")
    entries = {
        path: {
            "address": entry.address,
            "checksum": entry.checksum,
            "content_type": entry.content_type,
            "metadata": entry.metadata,
            "size": entry.size,
        }
        for path, entry in lake.core.objects.entries(repository, branch)
    }
    recorded = MANIFEST["branches"][branch]["tree"]
    described = {"checksum_is_md5", "md5", "sha256"}
    assert entries == {
        path: {field: value for field, value in entry.items() if field not in described}
        for path, entry in recorded.items()
    }


@pytest.mark.parametrize("branch", MANIFEST["branches"])
def test_manifest_describes_the_files(namespace, branch):
    for entry in MANIFEST["branches"][branch]["tree"].values():
        content = (namespace / entry["address"]).read_bytes()
        md5 = hashlib.md5(content).hexdigest()
        assert (len(content), md5) == (entry["size"], entry["md5"])
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
        assert (entry["checksum"] == md5) == entry["checksum_is_md5"]


def is_recorded(content: bytes, path: str, branch: str = "main") -> bool:
    entry = MANIFEST["branches"][branch]["tree"][path]
    return hashlib.sha256(content).hexdigest() == entry["sha256"]


@pytest.mark.parametrize(("branch", "path"), OBJECTS)
@pytest.mark.sample(6)
def test_objects_are_read(lake, branch, path):
    opened = lake.objects.open("parts", branch, path)
    opened.require_bytes()
    content = opened.read_bytes()
    assert is_recorded(content, path, branch)
    assert b"".join(opened.chunks()) == content
    assert opened.read_if_cached(0, len(content)) in (content, None)
    length = len(content) // 2
    assert opened.read_bytes(length, length) == content[length : 2 * length]
    opened.require_bytes()


@pytest.mark.parametrize("size", [0, 10, 50_000])
def test_lost_bytes_are_noticed(lake, namespace, size):
    (namespace / MANIFEST["branches"]["main"]["tree"][IN_PARTS]["address"]).write_bytes(b"x" * size)
    opened = lake.objects.open("parts", "main", IN_PARTS)
    if size < opened.entry.size:
        with pytest.raises(Gone):
            opened.require_bytes()
        with pytest.raises(Gone):
            opened.read_bytes()
    else:  # a longer file has what the object has as far as is known
        assert opened.read_bytes() == b"x" * opened.entry.size


@pytest.mark.parametrize("path", MANIFEST["branches"]["main"]["tree"])
@pytest.mark.parametrize("shallow", [True, False])
@pytest.mark.sample(6)
def test_copies_are_read(lake, path, shallow):
    lake.repositories.create("other", "local://other")
    for repository in ("parts", "other"):
        source = {"source_path": path, "source_repository": "parts", "source_ref": "main"}
        lake.objects.copy(repository, "main", "copy", **source, shallow=shallow)
        lake.objects.copy(repository, "main", "copy of the copy", source_path="copy")
        for copied in ("copy", "copy of the copy"):
            opened = lake.objects.open(repository, "main", copied)
            opened.require_bytes()
            assert is_recorded(opened.read_bytes(), path)


def test_moved_prefix_is_read(lake):
    lake.transfers.move("parts", "main", "multipart/", "moved/")
    for path in MANIFEST["branches"]["main"]["tree"]:
        if path.startswith("multipart/"):
            moved = path.replace("multipart/", "moved/")
            assert is_recorded(lake.objects.open("parts", "main", moved).read_bytes(), path)


@pytest.mark.parametrize("branch", MANIFEST["branches"])
@pytest.mark.parametrize("up_to_bytes", [0, 64 << 20])
def test_branch_is_exported(lake, branch, up_to_bytes, tmp_path):
    lake.blocks.checked.up_to_bytes = up_to_bytes
    destination = FolderDestination(tmp_path / "exported")
    summary = Exporter(lake.core, lake.blocks).export("parts", branch, destination)
    tree = MANIFEST["branches"][branch]["tree"]
    assert summary.stored == len(tree)
    for path in tree:
        assert is_recorded((tmp_path / "exported" / path).read_bytes(), path, branch)


def test_branch_is_exported_within_the_store(lake):
    destination = PrefixDestination(lake.blocks, "local://exports/parts/")
    Exporter(lake.core, lake.blocks).export("parts", "main", destination)
    for path in MANIFEST["branches"]["main"]["tree"]:
        assert is_recorded(lake.blocks.read(f"local://exports/parts/{path}"), path)


def test_own_object_beside_them_is_still_verified(lake, namespace, tmp_path):
    stat = lake.objects.upload("parts", "main", "own", [b"12345"])
    lake.commits.commit("parts", "main", message="own", committer="c")
    file = namespace / stat.physical_address.partition("/parts/")[2]
    assert lake.objects.open("parts", "main", "own").read_bytes() == b"12345"
    file.chmod(0o644)
    file.write_bytes(b"54321")
    lake.blocks.checked.up_to_bytes = 0
    with pytest.raises(Corrupt, match=r"^own: 5 bytes with the MD5"):
        Exporter(lake.core, lake.blocks).export(
            "parts", "main", FolderDestination(tmp_path / "exported")
        )
    lake.blocks.checked.up_to_bytes = 5
    with pytest.raises(Gone, match="the file is damaged"):
        lake.objects.open("parts", "main", "own").read_bytes()
