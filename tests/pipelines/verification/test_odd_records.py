"""Records that no version has written are reported, and end no verification."""

from __future__ import annotations

from contextlib import closing

import msgspec
import pytest
from support.verification.planted_faults import opened_store
from support.verification.used_installation import commit, open_lake, verification_of

from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.snapshot import SQLiteSnapshot
from anabranch.versioning.records import keys, references


@pytest.fixture
def small(tmp_path):
    folder = tmp_path / "lake"
    with open_lake(folder) as lake:
        lake.repositories.create("sea", "local://sea")
        commit(lake, "main", a=b"1")
        lake.objects.upload("sea", "main", "staged", [b"2"])
    return folder


def repository_of(folder):
    with closing(SQLiteSnapshot(folder / "metadata" / "metadata.db")) as snapshot:
        return references.repository_from(snapshot.get(keys.GRAVELER, keys.repository("sea")))


def head_with(folder, **fields):
    """Writes other fields to the record of the last commit."""
    with open_lake(folder) as lake:
        repository = lake.core.repositories.get("sea")
        head = lake.core.commits.get(repository, lake.branches.get("sea", "main").commit_id)
    changed = msgspec.structs.replace(head, **fields)
    row = Write(repository.partition, keys.commit(head.id), references.commit_bytes(changed))
    with opened_store(folder) as store:
        store.apply([row])


@pytest.mark.parametrize("tree", ["zz", "../../../x", "A" * 64])
def test_a_tree_without_the_id_of_a_table_is_reported(small, tree):
    head_with(small, metarange_id=tree)
    assert verification_of(small, sample=None).counts.keys() == {"commit_id", "table_damaged"}


@pytest.mark.parametrize("namespace", ["", "local://", "local://../x", "s3://elsewhere/x"])
def test_a_repository_in_no_namespace_of_the_store_is_reported(small, namespace):
    moved = msgspec.structs.replace(repository_of(small), storage_namespace=namespace)
    row = Write(keys.GRAVELER, keys.repository("sea"), references.repository_bytes(moved))
    with opened_store(small) as store:
        store.apply([row])
    counts = verification_of(small, sample=None).counts
    assert counts.keys() == {"table_damaged", "object_missing"}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("partition", "key"),
    [
        (keys.ACTIONS, b"x"),
        (keys.ACTIONS, b"repos/x"),
        (keys.GRAVELER, keys.repository("bad")),
        ("anabranch-creations", b"x"),
        ("anabranch-namespaces", b"left/x"),
        ("anabranch-namespaces", b"claims"),
        ("anabranch-sweeps", b"sweeps"),
        ("anabranch-pins", b"x"),
        ("multiparts-parts:x", b"\xff"),
        (keys.UPLOADS, b"\xff"),
        (keys.WORKSPACE_KEYS, b"\xff"),
        ("auth", b"users/\xff"),
    ],
)
def test_a_record_that_is_no_record_is_reported(small, partition, key):
    with opened_store(small) as store:
        store.apply([Write(partition, key, b"\xff\xff{")])
    report = verification_of(small, sample=None)
    assert "record_unreadable" in report.counts
    assert "object_missing" not in report.counts
    assert report.objects_read == 2
