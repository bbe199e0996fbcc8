"""References and entries of objects that lakeFS received in parts, after a restore."""

from __future__ import annotations

import hashlib

import pytest
from support.recorded_parts import DUMP, MANIFEST, unpack

from anabranch.keyvalue.memory import MemoryStore
from anabranch.testing.lake import lake_in

ORDINARY = [
    (branch, path)
    for branch, recorded in MANIFEST["branches"].items()
    for path, entry in recorded["tree"].items()
    if entry["checksum_is_md5"]
]


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


@pytest.mark.parametrize(("branch", "path"), ORDINARY)
def test_ordinary_objects_are_read(lake, branch, path):
    content = lake.objects.open("parts", branch, path).read_bytes()
    entry = MANIFEST["branches"][branch]["tree"][path]
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
