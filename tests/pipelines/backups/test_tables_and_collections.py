"""Collections of files of tables ahead of steps of a backup take nothing from it."""

from __future__ import annotations

import os
import time

import pytest
from support.verification.used_installation import open_lake

from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.tables.table_record import TableRecord
from anabranch.pipelines.backups import backup as backup_module
from anabranch.pipelines.garbage.collector import Collector

RECORD = "_tables/city/trips/table.json"


@pytest.mark.sample(1)
@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("step", ["_copy_kept_objects", "_copy_areas"])
def test_tables_of_the_moment_of_a_backup_are_in_it(
    folder, back_up, restore, tmp_path, monkeypatch, step, staged
):
    with open_lake(folder) as lake:
        sea = lake.core.repositories.get("sea")
        lake.core.operation_retention.set_undo_days(sea, 0)
        lake.branches.create("sea", "brief", "main")
        areas = TableAreas(lake.core, lake.blocks)
        area = areas.create(sea, RECORD)
        areas.put(area, "metadata/a.metadata.json", [b'{"format-version": 2}'])
        record = TableRecord(
            uuid="1", area=area.id, metadata=f"{area.location}/metadata/a.metadata.json"
        )
        lake.objects.upload("sea", "brief", RECORD, [record.to_bytes()])
        if not staged:
            lake.commits.commit("sea", "brief", message="m", committer="me")
        then = time.time() - 30 * 86_400
        for block in lake.blocks.list(f"{sea.storage_namespace}/tables/"):
            os.utime(lake.blocks.local_path(block.address), (then, then))
    original = getattr(backup_module.Backup, step)
    removed = []

    def collected(self, *arguments):
        if not removed:
            with open_lake(folder) as lake:
                lake.branches.delete("sea", "brief")
                lake.garbage_rules.set("sea", RetentionRules(-1, {"main": -1}))
                collector = Collector(lake.core, lake.blocks, tmp_path / "marks", clock=time.time)
                with collector.mark("sea", window_seconds=-60) as run:
                    run.sweep()
                    removed.append(run.summary.tables)
        return original(self, *arguments)

    monkeypatch.setattr(backup_module.Backup, step, collected)
    back_up()
    assert removed
    assert removed[0].collected
    restore(tmp_path / "new")
    with open_lake(tmp_path / "new") as lake:
        areas = TableAreas(lake.core, lake.blocks)
        found = areas.find(lake.core.repositories.get("sea"), area.id)
        assert areas.read(found, "metadata/a.metadata.json", 100) == b'{"format-version": 2}'
