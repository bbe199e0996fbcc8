"""Copies and moves from another repository have bytes of their own; within one they share them."""

import os
import shutil
import time
from pathlib import Path

import pytest
from support.session.sizes import sized

from anabranch.catalog.objects.byte_copies import Sharing
from anabranch.errors import AnabranchError, Busy, Conflict, Gone
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.objects.entry import AddressType
from anabranch.testing.lake import lake_in
from anabranch.testing.stores import FaultyBlocks

WORDS = {"d/a": b"small", "d/b": b"large" * 30_000, "d/e/c": b""}


def no_fault(*_):
    return None


@pytest.fixture
def faulty(tmp_path, clock):
    """A lake whose store the tests can disturb."""
    with lake_in(tmp_path, clock) as inner:
        blocks = FaultyBlocks(inner.blocks, no_fault)
        with Lake(
            MemoryStore(),
            blocks,
            cache_folder=tmp_path / "cache-2",
            signing_secret=b"a secret of tests",
            clock=clock,
        ) as lake:
            lake.repositories.create("sea", "local://sea")
            lake.repositories.create("lake", "local://lake")
            yield lake


@pytest.fixture
def lakes(lake):
    lake.repositories.create("lake", "local://lake")
    for path, body in WORDS.items():
        lake.objects.upload("sea", "main", path, [body], metadata={"k": "v"})
    return lake


def contents(lake, repository, prefix=""):
    page = lake.objects.listing(repository, "main", prefix=prefix, amount=1000)
    paths = [stat.path for stat in page.items]
    return {path: b"".join(lake.objects.open(repository, "main", path).chunks()) for path in paths}


def entry(lake, repository, path):
    stored = lake.core.repositories.get(repository)
    return lake.core.objects.get(stored, "main", path)


def files_below(lake, namespace):
    return sorted(block.address for block in lake.blocks.list(f"local://{namespace}/data/"))


def remove_source(lake):
    folder = lake.blocks.local_path("local://sea/x").removesuffix("/x")
    lake.repositories.delete("sea", force=True)
    shutil.rmtree(folder)


WAYS = {
    "copy of a prefix": lambda lake: lake.transfers.copy(
        *("lake", "main", "d/", "d/"), source_repository="sea", source_reference="main"
    ),
    "move of a prefix": lambda lake: lake.transfers.move(
        *("lake", "main", "d/", "d/"), source_repository="sea", source_branch="main"
    ),
    "copies of objects": lambda lake: sum(
        lake.transfers.copy(
            *("lake", "main", path, path), source_repository="sea", source_reference="main"
        )
        for path in WORDS
    ),
    "moves of objects": lambda lake: sum(
        lake.transfers.move(
            *("lake", "main", path, path), source_repository="sea", source_branch="main"
        )
        for path in WORDS
    ),
    "CopyObject": lambda lake: len(
        [
            lake.objects.copy(
                *("lake", "main", path),
                source_path=path,
                source_ref="main",
                source_repository="sea",
                sharing=Sharing.OWN_BYTES,
            )
            for path in WORDS
        ]
    ),
}


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_copy_survives_the_other_repository_and_its_folder(lakes, way, committed):
    if committed:
        lakes.commits.commit("sea", "main", message="c", committer="me")
    before = {path: entry(lakes, "sea", path) for path in WORDS}
    assert WAYS[way](lakes) == 3
    for path in WORDS:
        copied, original = entry(lakes, "lake", path), before[path]
        assert copied.address_type == AddressType.RELATIVE
        assert copied.address != original.address
        assert (copied.checksum, copied.size, copied.metadata, copied.system_metadata) == (
            *(original.checksum, original.size, original.metadata, original.system_metadata),
        )
    lakes.commits.commit("lake", "main", message="c", committer="me")
    remove_source(lakes)
    assert contents(lakes, "lake") == WORDS


def test_copy_survives_the_removal_of_each_block_of_the_source(lakes):
    lakes.transfers.copy("lake", "main", "d/", "d/", source_repository="sea")
    lakes.blocks.delete(files_below(lakes, "sea"))
    assert contents(lakes, "lake") == WORDS
    assert len(files_below(lakes, "lake")) == 3


def test_copy_of_an_old_object_is_as_young_as_an_upload(lakes):
    """Garbage collection leaves a new object alone for a day, before anything refers to it: so a
    copy must not have the age of its source, as a hard link has.
    """
    for address in files_below(lakes, "sea"):
        path = lakes.blocks.local_path(address)
        if path is not None:  # in a folder
            os.utime(path, (0, 0))
    before = int(time.time()) - 1  # the clock of files is some milliseconds late
    lakes.transfers.copy("lake", "main", "d/", "d/", source_repository="sea")
    ages = [lakes.blocks.stat(address).mtime for address in files_below(lakes, "lake")]
    assert len(ages) == 3
    assert min(ages) >= before


def test_copy_of_a_copy_and_back(lakes):
    lakes.transfers.copy("lake", "main", "d/", "d/", source_repository="sea")
    lakes.transfers.copy("sea", "main", "d/", "back/", source_repository="lake")
    assert contents(lakes, "sea", "back/") == {f"back{path[1:]}": WORDS[path] for path in WORDS}
    addresses = {entry(lakes, "sea", path).address for path in WORDS}
    assert not addresses & {entry(lakes, "sea", f"back{path[1:]}").address for path in WORDS}


@pytest.mark.parametrize("prefix", [True, False])
def test_shallow_copy_refers_to_the_other_repository(lakes, prefix):
    paths = ("d/", "d/") if prefix else ("d/a", "d/a")
    lakes.transfers.copy("lake", "main", *paths, source_repository="sea", shallow=True)
    copied, original = entry(lakes, "lake", "d/a"), entry(lakes, "sea", "d/a")
    assert copied.address == f"local://sea/{original.address}"
    assert files_below(lakes, "lake") == []


def test_transfers_within_a_repository_share_bytes(lakes):
    before = {path: entry(lakes, "sea", path).address for path in WORDS}
    lakes.branches.create("sea", "side", "main")
    for number, way in enumerate([{}, {"source_reference": "main"}, {"source_repository": "sea"}]):
        lakes.transfers.copy("sea", "main", "d/", f"{number}/", **way)
    lakes.objects.copy("sea", "main", "3/a", source_path="d/a", sharing=Sharing.OWN_BYTES)
    for path in ("0/a", "1/a", "2/a", "3/a"):
        assert entry(lakes, "sea", path).address == before["d/a"]


def test_s3_copy_of_an_imported_object_copies_its_bytes(lakes):
    lakes.blocks.put("local://others/file", [b"imported"])
    lakes.staging.stage(
        *("sea", "main", "imported"),
        address="local://others/file",
        checksum="0" * 32,
        size=8,
        mtime=None,
        metadata={},
        content_type="",
    )
    lakes.objects.copy("sea", "main", "copy", source_path="imported", sharing=Sharing.OWN_BYTES)
    assert entry(lakes, "sea", "copy").address_type == AddressType.RELATIVE
    path = lakes.blocks.local_path("local://others/file")
    with Path(path).open("r+b") as file:
        file.write(b"replaced")  # its owner may write to it
    lakes.blocks.delete(["local://others/file"])
    assert b"".join(lakes.objects.open("sea", "main", "copy").chunks()) == b"imported"


def test_copy_of_an_imported_object_that_was_replaced_is_refused(lakes):
    lakes.blocks.put("local://others/file", [b"imported"])
    lakes.staging.stage(
        *("sea", "main", "imported"),
        address="local://others/file",
        checksum="0" * 32,
        size=8,
        mtime=None,
        metadata={},
        content_type="",
    )
    lakes.blocks.put("local://others/file", [b"longer than before"])
    for path in ("imported", ""):
        with pytest.raises(Gone) as refused:
            lakes.transfers.copy("lake", "main", path, path, source_repository="sea")
        assert refused.value.kind == "source_replaced"
    assert contents(lakes, "lake") == {}
    assert files_below(lakes, "lake") == []


def test_missing_bytes_refuse_the_copy_and_leave_nothing(lakes):
    lakes.blocks.delete([f"local://sea/{entry(lakes, 'sea', 'd/b').address}"])
    for kind in (lakes.transfers.copy, lakes.transfers.move):
        for path in ("d/", "d/b"):
            with pytest.raises(Gone):
                kind("lake", "main", path, path, source_repository="sea")
    assert contents(lakes, "lake") == {}
    assert files_below(lakes, "lake") == []
    assert lakes.transfers.copy("sea", "main", "d/", "x/") == 3, "it refers to them, as before"


def test_garbage_collection_that_wins_the_race_makes_the_copy_fail(faulty):
    """The bytes vanish after the entries were read and before they are copied."""
    for path, body in WORDS.items():
        faulty.objects.upload("sea", "main", path, [body])
    victims = [f"local://sea/{entry(faulty, 'sea', path).address}" for path in WORDS]

    def before(operation, _):
        if operation == "copy":
            faulty.blocks.before = no_fault
            faulty.blocks.store.delete(victims)

    for way in WAYS.values():
        faulty.blocks.before = before
        with pytest.raises(Gone):
            way(faulty)
    faulty.blocks.before = no_fault
    assert contents(faulty, "lake") == {}
    assert files_below(faulty, "lake") == []


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_failure_of_the_store_changes_nothing(faulty, failing):
    for path, body in WORDS.items():
        faulty.objects.upload("sea", "main", path, [body])
    copied = []

    def before(operation, subject):
        if operation == "copy":
            copied.append(subject)
            if len(copied) >= failing:
                raise Busy("the disk is full", kind="disk_full")

    faulty.blocks.before = before
    for kind in ("copy", "move"):
        with pytest.raises(Busy):
            WAYS[f"{kind} of a prefix"](faulty)
    faulty.blocks.before = no_fault
    assert contents(faulty, "lake") == {}
    assert contents(faulty, "sea") == WORDS
    assert files_below(faulty, "lake") == []


def on_first_copy(lake, act):
    def before(operation, _):
        if operation == "copy":
            lake.blocks.before = no_fault
            act()

    lake.blocks.before = before


def test_commit_of_the_destination_meanwhile_does_not_copy_again(faulty):
    for path, body in WORDS.items():
        faulty.objects.upload("sea", "main", path, [body])
    faulty.objects.upload("lake", "main", "own", [b"own"])
    on_first_copy(
        faulty, lambda: faulty.commits.commit("lake", "main", message="c", committer="me")
    )
    assert WAYS["copy of a prefix"](faulty) == 3
    assert contents(faulty, "lake") == {"own": b"own", **WORDS}
    assert len(files_below(faulty, "lake")) == 4


def test_object_written_meanwhile_is_not_overwritten(faulty):
    for path, body in WORDS.items():
        faulty.objects.upload("sea", "main", path, [body])
    on_first_copy(faulty, lambda: faulty.objects.upload("lake", "main", "d/a", [b"other"]))
    with pytest.raises(Conflict) as refused:
        WAYS["copy of a prefix"](faulty)
    assert refused.value.kind == "destination_exists"
    assert contents(faulty, "lake") == {"d/a": b"other"}
    assert len(files_below(faulty, "lake")) == 1


def test_source_that_is_committed_meanwhile_is_copied_and_not_removed(faulty):
    for path, body in WORDS.items():
        faulty.objects.upload("sea", "main", path, [body])
    on_first_copy(faulty, lambda: faulty.commits.commit("sea", "main", message="c", committer="me"))
    with pytest.raises(Conflict) as refused:
        WAYS["move of a prefix"](faulty)
    assert refused.value.kind == "source_changed"
    assert contents(faulty, "lake") == contents(faulty, "sea") == WORDS


def test_destination_deleted_meanwhile_leaves_no_bytes(faulty):
    for path, body in WORDS.items():
        faulty.objects.upload("sea", "main", path, [body])
    for way in ("copy of a prefix", "copies of objects"):
        on_first_copy(faulty, lambda: faulty.repositories.delete("lake", force=True, forget=True))
        with pytest.raises(AnabranchError):
            WAYS[way](faulty)
        assert files_below(faulty, "lake") == []
        faulty.blocks.delete(["local://lake/_lakefs/dummy"])
        faulty.repositories.create("lake", "local://lake")


def test_transfer_that_takes_too_long_fails_before_its_bytes_may_be_collected(faulty, clock):
    for path, body in WORDS.items():
        faulty.objects.upload("sea", "main", path, [body])
    on_first_copy(faulty, lambda: clock.advance(12 * 3600))
    with pytest.raises(Busy) as refused:
        WAYS["copy of a prefix"](faulty)
    assert refused.value.kind == "transfer_too_long"
    assert files_below(faulty, "lake") == []


@pytest.mark.slow
def test_many_objects_are_copied_page_by_page(lake):
    lake.repositories.create("lake", "local://lake")
    total = sized(1_050, weekly=2_050)
    for number in range(total):
        lake.objects.upload("sea", "main", f"d/{number:04}", [b"%d" % number])
    assert lake.transfers.copy("lake", "main", "d/", "", source_repository="sea") == total
    lake.blocks.delete(files_below(lake, "sea"))
    page = lake.objects.listing("lake", "main", amount=1_000, after="0999")
    expected = [f"{number:04}" for number in range(1_000, total)]
    assert [stat.path for stat in page.items] == expected[:1_000]
    last = lake.objects.open("lake", "main", expected[-1])
    assert b"".join(last.chunks()) == b"%d" % (total - 1)
