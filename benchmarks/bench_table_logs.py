"""Times the strategies `delta` and `iceberg` on tables with many commits on both sides.

    python benchmarks/bench_table_logs.py --commits 1000 --files 100

Each side appends `--commits` times to a table, `--files` files each time. Beside the merge, prints
how long the packages deltalake and pyiceberg take to list the files of the merged table.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import uuid
from pathlib import Path

from deltalake import DeltaTable
from support.formats.delta_tables import append, commit_actions, table_folder, write_commit
from support.formats.iceberg_tables import IcebergBranches, rows_table
from support.merged_trees import branch_folder, merge_folders

from anabranch.versioning.strategies.delta.strategy import delta_strategy


def append_to_log(folder: Path, commits: int, files: int) -> None:
    """Adds commits to the log, without the data files, which a merge does not read."""
    info, *_, added = commit_actions(folder, 0)
    for version in range(1, commits + 1):
        paths = (f"day=mon/part-{uuid.uuid4()}.parquet" for _ in range(files))
        adds = ({"add": {**added["add"], "path": path}} for path in paths)
        write_commit(folder, version, info, *adds)


def bench_delta(folder: Path, commits: int, files: int) -> None:
    base = folder / "base"
    append(base, {1: "mon"})
    source, destination = (branch_folder(base, side) for side in ("source", "destination"))
    for side in (source, destination):
        append_to_log(side, commits, files)
    merged = folder / "merged"
    start = time.perf_counter()
    run = merge_folders(delta_strategy({}), base, source, destination, merged)
    seconds = time.perf_counter() - start
    assert not run.conflicts
    start = time.perf_counter()
    count = len(DeltaTable(table_folder(merged)).file_uris())
    listed = time.perf_counter() - start
    assert count == 1 + 2 * commits * files
    size = sum(len(content or b"") for content in run.files.values())
    print(
        f"delta: {commits} commits of {files} files on each side, {size / 1e6:.0f} MB written: "
        f"merge {seconds:.2f} s; deltalake lists the {count} files in {listed:.2f} s"
    )


def bench_iceberg(folder: Path, commits: int) -> None:
    branches = IcebergBranches(folder)
    for change in (branches.change_source, branches.change_destination):

        def append_often(table: object, first: int = 10) -> None:
            del table
            for number in range(first, first + commits):
                branches.catalog.load().append(rows_table({number: "mon"}))

        change(append_often)
    start = time.perf_counter()
    merged, run = branches.merge()
    seconds = time.perf_counter() - start
    assert not run.conflicts
    table = branches.open(merged)
    start = time.perf_counter()
    count = len(list(table.scan().plan_files()))
    listed = time.perf_counter() - start
    assert count == 3 + 2 * commits
    print(
        f"iceberg: {commits} snapshots on each side: merge {seconds:.2f} s; "
        f"pyiceberg lists the {count} files in {listed:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--files", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bench_delta(Path(name, "delta"), given.commits, given.files)
        bench_iceberg(Path(name, "iceberg"), given.commits)


if __name__ == "__main__":
    main()
