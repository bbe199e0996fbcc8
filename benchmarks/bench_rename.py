"""Benchmarks the rename of a prefix with many objects, and its commit.

    bench_rename.py [--objects N]

Commits N objects (1,000,000 by default) under one prefix, in a temporary folder with a SQLite
store, then moves the prefix and commits the move. Prints the seconds and the
processor time of both steps.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator

from anabranch.library import Lake, open_lake
from anabranch.model.commits.commit import CommitFields
from anabranch.model.objects.entry import Entry
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.commits.staged_commits import ClientTree
from anabranch.versioning.records.entries import Value, entry_value
from anabranch.versioning.trees.tree_writers import WriteRecords


def path(number: int) -> str:
    """Returns the path of an object; 1,000 are in a folder."""
    return f"table/part={number // 1000:04d}/file-{number:07d}.parquet"


def rows(objects: int) -> Iterator[tuple[bytes, Value]]:
    """Yields the keys and values of the objects, in order."""
    for number in range(objects):
        entry = Entry(
            address=f"data/cl9v2042qqvflg56033g/{number:020d}",
            size=number,
            mtime=1_700_000_000,
            checksum=f"{number:032x}",
        )
        yield path(number).encode(), entry_value(entry)


def fill(lake: Lake, objects: int) -> None:
    """Commits the objects to the branch `main` of a new repository `bench`."""
    core = lake.core
    repository = core.repositories.create("bench", "local://bench")
    tree = core.trees.write(repository, WriteRecords(list(rows(objects))))
    change = BranchChange(
        repository=repository, branch="main", fields=CommitFields("bench", "fill")
    )
    core.staged_commits.commit(change, tree=ClientTree(tree.metarange_id))


def main() -> None:
    """Runs the benchmark and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_lake(folder) as lake:
        fill(lake, options.objects)
        times = [(time.perf_counter(), time.process_time())]
        moved = lake.transfers.move("bench", "main", "table/", "renamed/")
        times.append((time.perf_counter(), time.process_time()))
        lake.commits.commit("bench", "main", committer="bench", message="rename")
        times.append((time.perf_counter(), time.process_time()))
        if moved != options.objects:
            raise RuntimeError(f"{moved} objects were moved, not {options.objects}")
    for step, before, after in (("move", 0, 1), ("commit", 1, 2), ("both", 0, 2)):
        seconds, processor = (times[after][at] - times[before][at] for at in (0, 1))
        print(f"{step:8}{seconds:8.2f} s{processor:8.2f} s of processor time")


if __name__ == "__main__":
    main()
