"""Blocks that are removed and restored: by renaming in local folders, by versions in buckets."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.quarantine import Removal
from anabranch.errors import Gone, Invalid, NotSupported

BATCH = "run/part"
FOLDER = ".anabranch-quarantine"


@pytest.fixture(params=["local", "s3"])
def place(request, root):
    """A store with a quarantine, and a namespace in it."""
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
    found = removal(store, stem, name, batch)
    store.quarantine.remove([found])
    return found


def later():
    return time.time() + 7200


def test_a_removed_block_has_no_address_until_it_is_restored(place):
    store, stem = place
    store.quarantine.require(stem)
    store.put(f"{stem}data/a/c", [b"other"])
    found = removed(store, stem)
    assert store.stat(found.address) is None
    assert store.quarantine.size_and_version(found.address) is None
    with pytest.raises(Gone):
        store.read(found.address)
    assert [block.address for block in store.list(stem)] == [f"{stem}data/a/c"]
    assert store.quarantine.restore(found) == "restored"
    assert store.read(found.address) == b"body"
    assert len(list(store.list(stem))) == 2
    assert store.quarantine.restore(found) == "present"
    assert store.quarantine.purge(found, later()) is None
    assert store.read(found.address) == b"body"


def test_many_are_removed_and_restored_at_once(place):
    store, stem = place
    names = [f"data/{number % 3}/{number}" for number in range(40)]
    for name in names:
        store.put(stem + name, [name.encode()])
    all_ = [removal(store, stem, name) for name in names]
    store.quarantine.remove(all_)
    store.quarantine.remove(all_)  # as after a failure
    assert list(store.list(stem)) == []
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(store.quarantine.restore, [*all_, *all_]))
    assert set(outcomes) <= {"restored", "present"}
    assert outcomes.count("restored") >= len(names)
    assert all(store.read(stem + name) == name.encode() for name in names)


def test_what_is_not_there_is_passed_over(place):
    store, stem = place
    assert store.quarantine.size_and_version(f"{stem}data/none") is None
    found = removed(store, stem)
    assert store.quarantine.restore(found) == "restored"
    store.delete([found.address])
    if stem.startswith("local"):
        assert store.quarantine.restore(found) == "gone"
    assert store.quarantine.purge(found._replace(version="none"), later()) is None


def test_one_that_was_recorded_names_and_not_removed_is_left_alone(place):
    store, stem = place
    store.put(f"{stem}data/a/b", [b"body"])
    found = removal(store, stem, "data/a/b")
    assert store.quarantine.restore(found) == "present"
    assert store.quarantine.purge(found, later()) is None
    assert store.read(found.address) == b"body"


def test_a_block_that_has_taken_the_address_stays(place):
    store, stem = place
    found = removed(store, stem)
    store.put(found.address, [b"newer"])
    assert store.quarantine.restore(found) == "replaced"
    assert store.read(found.address) == b"newer"
    assert store.quarantine.purge(found, later()) == 4
    assert store.read(found.address) == b"newer"
    assert store.quarantine.restore(found) in ("replaced", "present")


def test_what_was_purged_is_gone(place):
    store, stem = place
    found, other = removed(store, stem), removed(store, stem, "data/a/c")
    assert store.quarantine.purge(found, later()) == 4
    assert store.quarantine.purge(found, later()) is None
    assert store.quarantine.restore(found) == "gone"
    assert store.stat(found.address) is None
    assert store.quarantine.restore(other) == "restored"


def test_removed_again_after_it_was_restored(place):
    store, stem = place
    first = removed(store, stem)
    store.quarantine.restore(first)
    second = removal(store, stem, first.name, "run2/part")
    store.quarantine.remove([second])
    if stem.startswith("s3"):
        # the same version: what was removed just now is not purged by its first removal
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


def test_what_was_stored_before_versioning_is_restored_too(s3, bucket):
    store, stem = s3.blocks(), f"s3://{bucket}/space/"
    store.put(f"{stem}a", [b"old"])
    s3.set_versioning(bucket)
    found = removal(store, stem, "a")
    assert found.version == "null"
    store.quarantine.remove([found])
    assert store.quarantine.restore(found) == "restored"
    assert store.read(f"{stem}a") == b"old"


def test_nothing_is_left_of_a_purged_key(s3, bucket, client):
    s3.set_versioning(bucket)
    store, stem = s3.blocks(), f"s3://{bucket}/space/"
    found = removed(store, stem)
    store.delete([found.address])  # another marker
    store.quarantine.purge(found, later())
    left = client.list_object_versions(Bucket=bucket)
    assert (left.get("Versions"), left.get("DeleteMarkers")) == (None, None)


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
def test_nothing_in_quarantine_can_be_addressed(local, root, address):
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


def test_a_name_that_leads_out_of_the_quarantine_is_refused(local, root):
    (root / "secret").write_bytes(b"s")
    for found in (
        Removal("local://space/", "a", "../../.."),
        Removal("local://space/", "../secret", BATCH),
        Removal("local://space/", "a", ""),
    ):
        for use in (local.quarantine.restore, lambda each: local.quarantine.purge(each, 0)):
            with pytest.raises(Invalid):
                use(found)
    assert (root / "secret").read_bytes() == b"s"


def test_killed_between_the_two_names(local, root):
    found = removed(local, "local://space/")
    hidden = root / "space" / FOLDER / BATCH / found.name
    (root / "space/data/a").mkdir(parents=True, exist_ok=True)
    os.link(hidden, root / "space" / found.name)
    assert local.quarantine.restore(found) == "restored"
    assert local.read(found.address) == b"body"
    assert not (root / "space" / FOLDER).exists()


def test_one_that_a_journal_has_brought_back_is_present(local, root):
    found = removed(local, "local://space/")
    local.put(found.address, [b"body"])
    assert local.quarantine.restore(found) == "present"
    assert not (root / "space" / FOLDER).exists()


def test_folders_go_with_the_last_of_their_blocks_and_come_again(local, root):
    for _ in range(2):
        found, other = removed(local, "local://space/"), removed(local, "local://space/", "c")
        local.quarantine.purge(found, 0)
        assert (root / "space" / FOLDER).exists()
        local.quarantine.restore(other)
        assert not (root / "space" / FOLDER).exists()
        assert local.read("local://space/c") == b"body"


def test_a_folder_of_the_address_that_was_removed_is_made_again(local, root):
    found = removed(local, "local://space/")
    Path(root / "space/data/a").rmdir()
    assert local.quarantine.restore(found) == "restored"
    assert local.read(found.address) == b"body"
