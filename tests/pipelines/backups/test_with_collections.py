"""Garbage collections that remove objects while backups are made take nothing from these."""

from __future__ import annotations

import threading
import time
from itertools import count

from support.verification.used_installation import open_lake

from anabranch.pipelines.backups.backup_verification import verify_backup
from anabranch.pipelines.garbage.collector import Collector

LIVING_BRANCHES = 8
BACKUPS = 4


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
