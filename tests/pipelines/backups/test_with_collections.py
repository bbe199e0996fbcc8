"""Garbage collections that remove objects while backups are made take nothing from these."""

from __future__ import annotations

import threading
import time
from itertools import count

import pytest
from support.session.sizes import sized
from support.verification.used_installation import commit, open_lake, settings_of
from support.wall_clock import wait_a_second

from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.backups.backup import Backup
from anabranch.pipelines.backups.backup_verification import verify_backup
from anabranch.pipelines.garbage.collector import Collector
from anabranch.server.installation.verification import open_verification
from anabranch.testing.stores import FaultyBlocks

LIVING_BRANCHES = 8
BACKUPS = sized(2, weekly=4)


def churn(lake, stop):
    """Makes branches with staged changes, and deletes the older ones."""
    for number in count():
        if stop.is_set():
            return
        lake.branches.create("sea", f"brief-{number}", "main")
        for each in range(5):
            lake.objects.upload("sea", f"brief-{number}", f"{each}", [b"%d" % number])
        if number >= LIVING_BRANCHES:
            lake.branches.delete("sea", f"brief-{number - LIVING_BRANCHES}")


def collect(collector, stop, removed):
    while not stop.is_set() or not sum(removed):
        with collector.mark("sea", grace_seconds=0, window_seconds=0) as run:
            removed.append(run.sweep().swept.objects)


@pytest.mark.slow
def test_collections_take_nothing_from_backups(folder, back_up, target, tmp_path):
    stop, removed, failures = threading.Event(), [], []

    def guarded(work, *arguments):
        try:
            work(*arguments)
        except BaseException as error:
            failures.append(error)
            raise

    with open_lake(folder) as lake:
        sea = lake.core.repositories.get("sea")
        lake.core.operation_retention.set_undo_days(sea, 0)
        collector = Collector(lake.core, lake.blocks, tmp_path / "marks", clock=time.time)
        threads = [
            threading.Thread(target=guarded, args=(churn, lake, stop)),
            threading.Thread(target=guarded, args=(collect, collector, stop, removed)),
        ]
        for thread in threads:
            thread.start()
        try:
            made = [back_up() for _ in range(BACKUPS)]
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert failures == []
    assert sum(removed) > 0
    assert [each.problems for each in made] == [[]] * BACKUPS
    with target() as opened:
        for each in made:
            assert verify_backup(opened, each, sample=None).findings == []


def test_a_collection_while_objects_are_copied_leaves_what_the_backup_needs(
    folder, target, tmp_path
):
    """A branch is deleted when the first object is copied, and a collection runs at once."""
    removed, lock = [], threading.Lock()
    with open_lake(folder) as lake:
        sea = lake.core.repositories.get("sea")
        lake.core.operation_retention.set_undo_days(sea, 0)
        lake.garbage_rules.set("sea", RetentionRules(0, {"main": 1}))
        collector = Collector(lake.core, lake.blocks, tmp_path / "marks", clock=time.time)
        lake.branches.create("sea", "brief", "main")
        commit(lake, "brief", committed=b"only here")
        lake.objects.upload("sea", "brief", "staged", [b"only here, too"])
        wait_a_second()

        def collect():
            with collector.mark("sea", grace_seconds=0, window_seconds=0) as run:
                removed.append(run.sweep().swept.objects)

        def before(step, subject):
            if step != "get" or "/data/" not in subject:
                return
            with lock:  # the other copies wait
                if len(removed) == 1:
                    lake.branches.delete("sea", "brief")
                    collect()

        collect()  # what was garbage before
        with open_verification(settings_of(folder)) as installation, target() as opened:
            blocks = FaultyBlocks(installation.stores.blocks, before)
            stores = installation.stores._replace(blocks=blocks)
            manifest = Backup(stores, opened, time.time, keys={}).make(objects=True)
            assert opened.unfinished() == []  # it was made at the first attempt
        collect()
    assert removed[1:] == [0, 2]
    assert manifest.problems == []
    with target() as opened:
        assert verify_backup(opened, manifest, sample=None).findings == []
