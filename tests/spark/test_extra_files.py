"""Tasks of exports that remove what the commit does not have."""

from __future__ import annotations

import pyarrow as pa

import anabranch
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.spark.jobs.change_files import ChangeFiles
from anabranch.spark.jobs.copy_tasks import ExportTasks, partition_extra
from anabranch.spark.jobs.monitor import NO_COUNTS
from anabranch.spark.planning.partition_planning import list_ranges
from anabranch.spark.sources.table_files import FolderTables


def test_tasks_remove_what_no_range_of_the_commit_has(tmp_path):
    rows = 60_000
    names = [f"d{number % 10}/{number:06}" for number in range(rows)]
    listing = pa.table(
        {
            "path": names,
            "physical_address": [f"local://elsewhere/{number}" for number in range(rows)],
            "size": pa.array(range(rows), pa.int64()),
        }
    )
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        commit = lake.import_listing("sea", "main", listing, verify="none").commit
        repository = lake.core.repositories.get("sea")
        tree = lake.core.trees.open(repository, commit.metarange_id)
        tables = FolderTables(lake.core.trees.write_folder(repository))
        out = tmp_path / "out"
        tasks = ExportTasks(
            *(lake.blocks.opener(), tables, repository, str(out)),
            *(ChangeFiles(str(tmp_path)), False, NO_COUNTS),
        )
        parts = partition_extra(list_ranges(tree), 1, frozenset({"STATE", "d3/own"}))
        kept = {*names[:: rows // 50], "STATE", "d3/own"}
        extra = {f"{folder}/x" for folder in ("a", "d0", "d4", "d9", "z")} | {"d5/000005x", "zz"}
        for path in kept | extra:
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_bytes(b"")
        assert len(parts) > 1
        removed = [row["removed"] for part in parts for (row,) in _rows(tasks.remove_extra(part))]
    assert sum(removed) == len(extra)
    assert sum(number > 0 for number in removed) > 1
    assert set(FolderDestination(out).paths()) == kept


def _rows(batches):
    return [batch.to_pylist() for batch in batches]


def test_every_file_is_extra_to_a_commit_without_objects():
    (part,) = partition_extra([], 1, frozenset())
    assert (part.ranges, part.after, part.last) == ((), "", "")
