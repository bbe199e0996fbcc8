"""Quarantined blocks can be restored: renamed files in local folders, versions in buckets."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from simulation.buckets import SharedBlocks

from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.quarantine import Removal
from anabranch.errors import Gone, Invalid, NotSupported

BATCH = "run/part"
FOLDER = ".anabranch-quarantine"


@pytest.fixture(params=["local", "s3", "modelled s3"])
def store_and_namespace(request, root):
    """A store with a quarantine, and a namespace in it."""
    if request.param == "modelled s3":  # what stands for a bucket in simulations
        return SharedBlocks(clock=time.time), "mem://space/"
    if request.param == "local":
        return LocalBlocks(root), "local://space/"
    service, bucket = request.getfixturevalue("s3"), request.getfixturevalue("bucket")
    service.set_versioning(bucket)
    return service.blocks(), f"s3://{bucket}/space/"


def removal(store, stem, name, batch=BATCH):
    _, version = store.quarantine.size_and_version(stem + name)
    return Removal(stem, name, batch, version)


def removed(store, stem, name="data/a/b", body=b"body", batch=BATCH):
    """Puts and removes a block."""
    store.put(stem + name, [body])
    removed_block = removal(store, stem, name, batch)
    store.quarantine.remove([removed_block])
    return removed_block


def later():
    return time.time() + 7200


def test_a_removed_block_has_no_address_until_it_is_restored(store_and_namespace):
    store, stem = store_and_namespace
    store.quarantine.require(stem)
    store.put(f"{stem}data/a/c", [b"other"])
    removed_block = removed(store, stem)
    assert store.stat(removed_block.address) is None
    assert store.quarantine.size_and_version(removed_block.address) is None
    with pytest.raises(Gone):
        store.read(removed_block.address)
    assert [block.address for block in store.list(stem)] == [f"{stem}data/a/c"]
    assert store.quarantine.restore(removed_block) == "restored"
    assert store.read(removed_block.address) == b"body"
    assert len(list(store.list(stem))) == 2
    assert store.quarantine.restore(removed_block) == "present"
    assert store.quarantine.purge(removed_block, later()) is None
    assert store.read(removed_block.address) == b"body"


def test_many_blocks_are_removed_and_restored_concurrently(store_and_namespace):
    store, stem = store_and_namespace
    names = [f"data/{number % 3}/{number}" for number in range(40)]
    for name in names:
        store.put(stem + name, [name.encode()])
    removals = [removal(store, stem, name) for name in names]
    store.quarantine.remove(removals)
    store.quarantine.remove(removals)  # as after a failure
    assert list(store.list(stem)) == []
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(store.quarantine.restore, [*removals, *removals]))
    assert set(outcomes) <= {"restored", "present"}
    assert outcomes.count("restored") >= len(names)
    assert all(store.read(stem + name) == name.encode() for name in names)


def test_missing_blocks_are_ignored(store_and_namespace):
    store, stem = store_and_namespace
    assert store.quarantine.size_and_version(f"{stem}data/none") is None
    removed_block = removed(store, stem)
    assert store.quarantine.restore(removed_block) == "restored"
    store.delete([removed_block.address])
    if stem.startswith("local"):
        assert store.quarantine.restore(removed_block) == "gone"
    assert store.quarantine.purge(removed_block._replace(version="none"), later()) is None


def test_a_recorded_block_that_was_not_removed_is_present(store_and_namespace):
    store, stem = store_and_namespace
    store.put(f"{stem}data/a/b", [b"body"])
    removed_block = removal(store, stem, "data/a/b")
    assert store.quarantine.restore(removed_block) == "present"
    assert store.quarantine.purge(removed_block, later()) is None
    assert store.read(removed_block.address) == b"body"


def test_a_newer_block_at_the_address_is_kept(store_and_namespace):
    store, stem = store_and_namespace
    removed_block = removed(store, stem)
    store.put(removed_block.address, [b"newer"])
    assert store.quarantine.restore(removed_block) == "replaced"
    assert store.read(removed_block.address) == b"newer"
    assert store.quarantine.purge(removed_block, later()) == 4
    assert store.read(removed_block.address) == b"newer"
    assert store.quarantine.restore(removed_block) in ("replaced", "present")


def test_a_purged_block_is_gone(store_and_namespace):
    store, stem = store_and_namespace
    removed_block, other = removed(store, stem), removed(store, stem, "data/a/c")
    assert store.quarantine.purge(removed_block, later()) == 4
    assert store.quarantine.purge(removed_block, later()) is None
    assert store.quarantine.restore(removed_block) == "gone"
    assert store.stat(removed_block.address) is None
    assert store.quarantine.restore(other) == "restored"


def test_a_restored_block_can_be_removed_again(store_and_namespace):
    store, stem = store_and_namespace
    first = removed(store, stem)
    store.quarantine.restore(first)
    second = removal(store, stem, first.name, "run2/part")
    store.quarantine.remove([second])
    if not stem.startswith("local"):
        # both removals have the same version: purging the first keeps the second
        assert store.quarantine.purge(first, time.time() - 3600) is None
    else:
        assert store.quarantine.purge(first, later()) is None
    assert store.quarantine.restore(second) == "restored"
    assert store.read(first.address) == b"body"


@pytest.mark.parametrize("status", [None, "Suspended"])
def test_a_bucket_without_versions_is_refused(s3, bucket, status):
    store, stem = s3.blocks(), f"s3://{bucket}/space/"
    if status:
        s3.set_versioning(bucket)
        s3.set_versioning(bucket, status)
    store.put(f"{stem}a", [b"a"])
    with pytest.raises(NotSupported, match="cannot be restored") as refused:
        store.quarantine.require(stem)
    assert "Enable versioning" in refused.value.hint
    with pytest.raises(NotSupported):
        store.quarantine.remove([Removal(stem, "a", BATCH, "null")])
    assert store.read(f"{stem}a") == b"a"


def test_a_block_from_before_versioning_is_restored(s3, bucket):
    store, stem = s3.blocks(), f"s3://{bucket}/space/"
    store.put(f"{stem}a", [b"old"])
    s3.set_versioning(bucket)
    removed_block = removal(store, stem, "a")
    assert removed_block.version == "null"
    store.quarantine.remove([removed_block])
    assert store.quarantine.restore(removed_block) == "restored"
    assert store.read(f"{stem}a") == b"old"


def test_purging_removes_all_versions_of_a_key(s3, bucket, client):
    s3.set_versioning(bucket)
    store, stem = s3.blocks(), f"s3://{bucket}/space/"
    removed_block = removed(store, stem)
    store.delete([removed_block.address])  # another marker
    store.quarantine.purge(removed_block, later())
    remaining = client.list_object_versions(Bucket=bucket)
    assert (remaining.get("Versions"), remaining.get("DeleteMarkers")) == (None, None)


def test_stores_without_a_quarantine_have_none(gcs_store, azure_store, memory):
    assert (gcs_store.quarantine, azure_store.quarantine, memory.quarantine) == (None, None, None)


@pytest.mark.parametrize(
    "address",
    [
        f"local://space/{FOLDER}/run/part/data/a/b",
        f"local://space/{FOLDER}",
        f"local://{FOLDER}/a",
        "local://ROOT/space/{FOLDER}/run/part/data/a/b",
    ],
)
def test_addresses_in_quarantine_are_refused(local, root, address):
    removed(local, "local://space/")
    address = address.format(FOLDER=FOLDER).replace("ROOT", str(root))
    assert (root / "space" / FOLDER / "run/part/data/a/b").read_bytes() == b"body"
    uses = [
        lambda: local.read(address),
        lambda: local.stat(address),
        lambda: local.put(address, [b"x"]),
        lambda: local.delete([address]),
        lambda: local.copy(address, "local://space/x"),
        lambda: local.unqualify(address),
        lambda: local.namespace(address),
    ]
    for use in uses:
        with pytest.raises(Invalid, match="reserved for the store"):
            use()
    for prefix in ("local://", "local://space/", "local://space/."):
        assert list(local.list(prefix)) == []


def test_a_name_outside_of_the_quarantine_is_refused(local, root):
    (root / "secret").write_bytes(b"s")
    for removed_block in (
        Removal("local://space/", "a", "../../.."),
        Removal("local://space/", "../secret", BATCH),
        Removal("local://space/", "a", ""),
    ):
        for use in (local.quarantine.restore, lambda each: local.quarantine.purge(each, 0)):
            with pytest.raises(Invalid):
                use(removed_block)
    assert (root / "secret").read_bytes() == b"s"


def test_a_restore_that_was_killed_between_its_steps_is_completed(local, root):
    removed_block = removed(local, "local://space/")
    hidden = root / "space" / FOLDER / BATCH / removed_block.name
    (root / "space/data/a").mkdir(parents=True, exist_ok=True)
    os.link(hidden, root / "space" / removed_block.name)
    assert local.quarantine.restore(removed_block) == "restored"
    assert local.read(removed_block.address) == b"body"
    assert not (root / "space" / FOLDER).exists()


def test_a_block_restored_by_the_journal_is_present(local, root):
    removed_block = removed(local, "local://space/")
    local.put(removed_block.address, [b"body"])
    assert local.quarantine.restore(removed_block) == "present"
    assert not (root / "space" / FOLDER).exists()


def test_folders_are_removed_with_their_last_block_and_created_again(local, root):
    for _ in range(2):
        removed_block, other = (
            removed(local, "local://space/"),
            removed(local, "local://space/", "c"),
        )
        local.quarantine.purge(removed_block, 0)
        assert (root / "space" / FOLDER).exists()
        local.quarantine.restore(other)
        assert not (root / "space" / FOLDER).exists()
        assert local.read("local://space/c") == b"body"


def test_a_missing_folder_of_the_address_is_created_again(local, root):
    removed_block = removed(local, "local://space/")
    Path(root / "space/data/a").rmdir()
    assert local.quarantine.restore(removed_block) == "restored"
    assert local.read(removed_block.address) == b"body"


def test_content_is_durable_before_its_name_in_quarantine_can_be(local, root, monkeypatch):
    """A loss of power between may keep the new name, whose content the journal has for the old."""
    local.put("local://space/a", [b"body"])
    path, synced, renamed = root / "space/a", [], []
    fsync, rename = os.fsync, os.rename

    def fsync_noted(descriptor):
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def rename_noted(source, target):
        renamed.append(Path(source).stat().st_ino in synced)
        rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync_noted)
    monkeypatch.setattr(os, "rename", rename_noted)
    local.quarantine.remove([removal(local, "local://space/", "a")])
    assert renamed == [True]
    assert not path.exists()
