"""Backups of damaged installations, damaged backups, and work that ends in between."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from support.verification.planted_faults import FAULTS
from support.verification.used_installation import (
    commit,
    open_lake,
    settings_of,
    verification_of,
)

from anabranch.errors import AnabranchError, Busy, Corrupt
from anabranch.pipelines.backups.backup import Backup
from anabranch.pipelines.backups.backup_verification import verify_backup
from anabranch.pipelines.backups.pruning import prune
from anabranch.pipelines.backups.running_work import excluding
from anabranch.pipelines.backups.target import BackupTarget
from anabranch.server.installation.verification import open_verification
from anabranch.testing.stores import FaultyBlocks


class Killed(BaseException):
    """The process was killed here."""


def verify(target, **options):
    with target() as opened:
        return verify_backup(opened, opened.find(), sample=None, **options)


def files(place, kind):
    """Returns the files of a kind in a target, the longest first."""
    found = [path for path in place.rglob("*") if path.is_file() and kind in path.parts]
    return sorted(found, key=lambda path: -path.stat().st_size)


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_sound_backup_has_no_findings(back_up, target):
    back_up()
    report = verify(target)
    assert report.findings == []
    assert (report.objects, report.repositories) == (75, 4)
    assert report.objects_read > 60


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("kind", "spoil", "found"),
    [
        ("_lakefs", flip, "table_damaged"),
        ("_lakefs", lambda path: path.unlink(), "table_missing"),
        ("data", flip, "object_damaged"),
        ("data", lambda path: path.unlink(), "object_missing"),
        ("data", lambda path: path.write_bytes(b""), "object_size"),
        ("backups", flip, "unreadable"),
    ],
)
def test_damage_of_a_backup_is_found_and_never_restored(
    back_up, target, restore, place, tmp_path, kind, spoil, found
):
    back_up()
    spoil(files(place, kind)[0])
    counts = verify(target).counts
    assert found in counts
    if found != "object_damaged":  # bytes are compared when they are copied
        with pytest.raises(AnabranchError):
            restore(tmp_path / "new")
    with pytest.raises(Corrupt):
        restore(tmp_path / "newer")


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["_lakefs", "data"])
def test_what_a_target_has_lost_is_copied_again_after_it_was_found(back_up, target, place, kind):
    back_up()
    for path in files(place, kind):
        if len(path.name) >= 20:
            path.unlink()
            break
    assert verify(target).total
    assert back_up().problems == []
    assert verify(target).findings == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("content", [b"", b"{", b"null", b'{"id": 1}'])
def test_a_damaged_manifest_is_in_the_way_of_its_own_backup_alone(
    back_up, target, restore, place, tmp_path, content
):
    first, second, third = back_up(), back_up(), back_up()
    (manifest,) = place.rglob(f"{second.id}/manifest.json")
    manifest.write_bytes(content)
    with target() as opened:
        assert opened.find() == opened.find(third.id) == third
        assert opened.find(before=first.created_at) == first
        for options in ({"backup": second.id}, {"before": second.created_at}):
            with pytest.raises(Corrupt):
                opened.find(**options)
        readable, damaged = opened.readable()
        assert (list(readable), [*damaged]) == ([first, third], [second.id])
        with pytest.raises(Corrupt):  # it cannot be known what it needs
            prune(opened, 1)
    restore(tmp_path / "new", backup=first.id)
    next(place.rglob(f"{third.id}/manifest.json")).write_bytes(content)
    with target() as opened, pytest.raises(Corrupt):
        opened.find()  # never an older one than was asked for


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["table_damaged", "table_missing", "object_missing"])
def test_a_damaged_installation_is_backed_up_as_far_as_it_can_be(folder, back_up, target, kind):
    FAULTS[kind][0](folder)
    manifest = back_up()
    assert manifest.problems
    assert verify(target).total  # the backup lacks what the installation lacks


@pytest.mark.slow
def test_what_could_not_be_copied_is_copied_when_it_is_there_again(folder, back_up, target):
    tables = folder / "block" / "sea" / "_lakefs"
    before = {path: path.read_bytes() for path in tables.iterdir() if path.is_file()}
    FAULTS["table_missing"][1](folder)
    assert back_up().problems
    for path, content in before.items():
        path.write_bytes(content)
    assert back_up().problems == []
    assert verify(target).findings == []


def backup_with(folder, target, before):
    """Makes a backup of an installation whose store calls `before` ahead of each step."""
    with open_verification(settings_of(folder)) as installation, target() as opened:
        blocks = FaultyBlocks(installation.stores.blocks, before)
        stores = installation.stores._replace(blocks=blocks)
        return Backup(stores, opened, time.time, keys={}).make(objects=True)


def test_an_object_that_is_collected_meanwhile_begins_the_backup_anew(folder, target):
    """As if a collector had removed it just before the pins."""
    with open_lake(folder) as lake:
        lake.branches.create("sea", "gone", "main")
        lake.objects.upload("sea", "gone", "only", [b"of this branch"])
        address = lake.objects.stat("sea", "gone", "only").physical_address
        begun = []

        def before(step, _subject):
            if step == "get" and not begun:
                begun.append(step)
                lake.branches.delete("sea", "gone")
                operation = lake.operations.list("sea", amount=1).items[0]
                repository = lake.core.repositories.get("sea")
                lake.core.operation_retention.give_up(repository, operation.id)
                lake.blocks.delete([address])

        manifest = backup_with(folder, target, before)
    assert manifest.problems == []
    assert verify(target).findings == []


def test_objects_are_pinned_while_they_are_copied_and_not_longer(folder, target):
    pinned = []

    with open_lake(folder) as lake:
        keyvalue = lake.keyvalue

        def before(step, _subject):
            if step == "get":
                pinned.append(
                    (
                        sum(1 for _ in keyvalue.scan("anabranch-pins")),
                        sum(1 for _ in keyvalue.scan("anabranch-restored")),
                    )
                )

        backup_with(folder, target, before)
        pins, protected = pinned[-1]
        assert pins > 0
        assert protected > 0
        assert list(keyvalue.scan("anabranch-pins")) == []
        assert list(keyvalue.scan("anabranch-restored")) == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("step", [1, 2, 5, 15, 40, 60])
def test_a_killed_backup_leaves_a_target_that_can_be_used(folder, back_up, target, step):
    back_up()
    with open_lake(folder) as lake:
        commit(lake, "main", **{f"file-{n}": b"%d" % n for n in range(60)})
    puts = []

    def before(operation, _subject):
        if operation == "put":
            puts.append(operation)
            if len(puts) == step:
                raise Killed

    with open_verification(settings_of(folder)) as installation, target() as opened:
        faulty = BackupTarget(FaultyBlocks(opened.blocks, before), opened.namespace)
        with pytest.raises(Killed):
            Backup(installation.stores, faulty, time.time, keys={}).make(objects=True)
    with target() as opened:
        assert len(opened.backups()) == 1
    assert verify(target).findings == []
    assert back_up().problems == []
    assert verify(target).findings == []


def test_pruning_keeps_the_last_backups_and_what_they_need(folder, back_up, target, place):
    first = back_up()
    with open_lake(folder) as lake:
        commit(lake, "main", brief=b"only in the second backup")
    second = back_up()
    size = len(files(place, "store"))
    with open_lake(folder) as lake:
        lake.branches.hard_reset("sea", "main", "v1")
        lake.repositories.delete("old", force=True)
    third = back_up()
    with target() as opened:
        pruned = prune(opened, 1)
        assert [each.id for each in opened.backups()] == [third.id]
    assert pruned.removed == [first.id, second.id]
    assert pruned.blocks > 0
    assert len(files(place, "store")) < size
    assert verify(target).findings == []


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 2, 3])
def test_after_a_killed_pruning_the_target_can_be_used(folder, back_up, target, step):
    with open_lake(folder) as lake:
        lake.repositories.create("brief", "local://brief")
        for number in range(30):
            lake.objects.upload("brief", "main", f"{number}", [b"%d" % number])
        lake.commits.commit("brief", "main", message="m")
    back_up()
    with open_lake(folder) as lake:
        lake.repositories.delete("brief")
    back_up()
    deletes = []

    def before(operation, subject):
        if operation == "delete" and "/store/" in subject:
            deletes.append(subject)
            if len(deletes) == step:
                raise Killed

    with target() as opened:
        faulty = BackupTarget(FaultyBlocks(opened.blocks, before), opened.namespace)
        with pytest.raises(Killed):
            prune(faulty, 1)
    assert verify(target).findings == []
    assert back_up().problems == []
    with target() as opened:
        assert prune(opened, 1).blocks > 0
    assert verify(target).findings == []


def test_pruning_and_backups_exclude_each_other(back_up, target):
    back_up()
    with target() as opened:
        with excluding(opened, alone=False), excluding(opened, alone=False):
            with pytest.raises(Busy) as raised:
                prune(opened, 1)
            assert raised.value.kind == "backup_under_way"
        with excluding(opened, alone=True), pytest.raises(Busy):
            back_up()
        prune(opened, 1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("skew", [0, -7200, 7200])
def test_a_mark_of_a_killed_process_counts_for_ten_minutes(back_up, target, monkeypatch, skew):
    back_up()
    with target() as opened:
        mark = f"{opened.namespace}/running/shared-x"
        opened.blocks.put(mark, [b""])
        path = Path(opened.blocks.local_path(mark))
        monkeypatch.setattr(time, "time", lambda real=time.time: real() + skew)  # another machine
        now = path.stat().st_mtime
        os.utime(path, (now - 500, now - 500))
        with pytest.raises(Busy):
            prune(opened, 1)
        os.utime(path, (now - 1000, now - 1000))
        prune(opened, 1)
        assert list(opened.blocks.list(f"{opened.namespace}/running/")) == []


@pytest.mark.parametrize("late", [True, False])
def test_work_whose_mark_was_lost_ends(target, late):
    """As if the process had been stopped until others took it for killed."""
    ticks = [0.0]
    with target() as opened, excluding(opened, alone=False, ticks=lambda: ticks[0]) as work:
        work.renew()
        work.require()
        if late:
            ticks[0] += 301
        else:
            opened.blocks.delete([work.address])
        for _ in range(2):
            work.renew()
            with pytest.raises(Busy) as raised:
                work.require()
            assert raised.value.kind == "backup_lost_mark"


@pytest.mark.slow
def test_a_backup_that_was_taken_for_killed_is_not_published(folder, back_up, target):
    back_up()
    with open_lake(folder) as lake:
        commit(lake, "main", more=b"of a later backup")
    stopped = []

    def before(operation, _subject):
        if not stopped:
            stopped.append(operation)
            with target() as other:
                marks = [each.address for each in other.blocks.list(f"{other.namespace}/running/")]
                other.blocks.delete(marks)
                prune(other, 1)

    with open_verification(settings_of(folder)) as installation, target() as opened:
        stores = installation.stores
        blocks = FaultyBlocks(stores.blocks, before)
        with pytest.raises(Busy):
            Backup(stores._replace(blocks=blocks), opened, time.time, keys={}).make(objects=True)
        assert len(opened.backups()) == 1


@pytest.mark.slow
def test_a_killed_restore_can_be_repeated(back_up, restore, tmp_path, monkeypatch):
    from anabranch.pipelines.backups import restore as module

    back_up()
    new = tmp_path / "new"
    original = module.Restore._write_rows

    def killed(self, *arguments, **options):
        monkeypatch.setattr(module, "_BATCH", 50)
        rows = module._all_rows

        def few(inspected):
            for number, row in enumerate(rows(inspected)):
                if number == 120:
                    raise Killed
                yield row

        monkeypatch.setattr(module, "_all_rows", few)
        try:
            return original(self, *arguments, **options)
        finally:
            monkeypatch.setattr(module, "_all_rows", rows)

    monkeypatch.setattr(module.Restore, "_write_rows", killed)
    with pytest.raises(Killed):
        restore(new)
    monkeypatch.setattr(module.Restore, "_write_rows", original)
    restore(new)
    assert verification_of(new, sample=None).findings == []
