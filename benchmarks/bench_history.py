"""Benchmarks walks over a long history: ancestors, pages of the log, merge base, last commits.

    bench_history.py [--commits N]

Makes a history of N commits (100,000 by default) in a temporary folder: the first 1,000 commits
change one object each and nothing changes these objects again; each later one changes one of 1,000
other objects. Each measurement is taken in a newly opened core ("cold", the index is loaded first)
and again in the same core ("warm"): the merge base of the head and a branch with one commit of its
own from the middle of the history, an ancestor by `~`, the last page of the log, the last commit of
an object that was changed at the beginning, and the last commits of those 1,000 objects. "no index"
is the walk that opens each commit's tree, over the last 2,000 commits only.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.library import Lake, open_lake
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.entry import Entry
from anabranch.versioning.core import Core
from anabranch.versioning.history.log import Limits, filter_changed, log
from anabranch.versioning.records.entries import Value, entry_value
from anabranch.versioning.trees.tree_writers import WriteRecords

OBJECTS = 1_000
BATCH = 1_000
NO_LIMITS = Limits(first_parent=False, since=None, stop_at=None, after=None)


def path(number: int, group: str) -> bytes:
    return b"%s/folder-%03d/object-%06d" % (group.encode(), number // 50, number)


def entry(number: int, version: int) -> Entry:
    checksum = f"{number:016x}{version:016x}"
    return Entry(address=f"data/{checksum}", size=number, mtime=1_700_000_000, checksum=checksum)


class Apply(NamedTuple):
    """Writes a tree with changes applied."""

    tree: kernel.Tree
    changes: list[tuple[bytes, Value | None]]

    def write(self, folder: str, *, unsynced: bool = False) -> kernel.Written:  # noqa: ARG002
        """Writes the tree; all tables are synced."""
        return self.tree.apply(self.changes, folder)


class History:
    """A repository with a long history on `main`, and a branch `side` from its middle."""

    def __init__(self, lake: Lake, commits: int) -> None:
        self.lake = lake
        core = lake.core
        self.repository = core.repositories.create("bench", "local://bench")
        self.rows: list[tuple[str, bytes, bytes]] = []
        self.trees: dict[int, tuple[str, bytes]] = {}
        initial = core.references.commit(self.repository, "main")
        objects = {path(number, group): 0 for group in "ab" for number in range(OBJECTS)}
        records = [(key, entry_value(entry(0, 0))) for key in sorted(objects)]
        tree = core.trees.write(self.repository, WriteRecords(records)).metarange_id
        head = initial
        for number in range(commits):
            tree, changed = self._tree(tree, number)
            head = self._commit(tree, changed, head)
            if number == commits // 2:
                side = self._commit(tree, changed, head)
            if len(self.rows) >= 2 * BATCH:
                self._flush()
        self._flush()
        for name, commit in (("main", head), ("side", side)):
            self._point(name, commit)

    def _tree(self, before: str, number: int) -> tuple[str, bytes]:
        """Returns the tree after a change, and the changed paths. The first commits change the
        objects of group a; the later ones write those of group b in two versions in turn, so that
        their trees repeat.
        """
        if number < OBJECTS:
            key, position = path(number, "a"), number - 2 * OBJECTS
        else:
            at = (number - OBJECTS) % (2 * OBJECTS)
            key, position = path(at % OBJECTS, "b"), at
        if position not in self.trees:
            version = 1 if position < OBJECTS else 2
            change = [(key, entry_value(entry(number, version)))]
            opened = self.lake.core.trees.open(self.repository, before)
            written = self.lake.core.trees.write(self.repository, Apply(opened, change))
            self.trees[position] = written.metarange_id, written.changed_paths or b""
        return self.trees[position]

    def _commit(self, tree: str, changed: bytes, parent: Commit) -> Commit:
        core, repository = self.lake.core, self.repository
        commit = core.commits.make(
            committer="bench",
            message=f"commit {parent.generation}",
            metarange_id=tree,
            metadata={},
            parents=[parent],
            date=1_700_000_000 + parent.generation,
        )
        self.rows += [
            core.commits.write(repository, commit),
            core.history_index.write(repository, commit, changed),
        ]
        return commit

    def _flush(self) -> None:
        self.lake.keyvalue.apply(self.rows)
        self.rows.clear()

    def _point(self, name: str, commit: Commit) -> None:
        core = self.lake.core
        if name != "main":
            core.branches.create(self.repository, name, commit.id)
            return
        stored = core.branches.read(self.repository, name)
        moved = msgspec.structs.replace(stored.branch, commit_id=commit.id)
        self.lake.keyvalue.apply([core.branches.write(self.repository, moved)])


def measure(name: str, folder: Path, act: Callable[[Core], object]) -> None:
    measure_lake(name, folder, lambda lake: act(lake.core))


def measure_lake(name: str, folder: Path, act: Callable[[Lake], object]) -> None:
    lake = open_lake(folder)
    times = []
    for _ in range(6):
        begin = time.perf_counter()
        act(lake)
        times.append((time.perf_counter() - begin) * 1e3)
    lake.close()
    print(f"{name:<44} {times[0]:>9.1f} {sorted(times[1:])[2]:>9.1f}")


def last_of_objects(core: Core, count: int) -> None:
    repository = core.repositories.get("bench")
    head = core.references.commit(repository, "main")
    paths = [path(number, "a").decode() for number in range(count)]
    found = core.last_changes.find(repository, head, paths)
    assert [commit.generation for commit in found] == list(range(2, count + 2))


def base(core: Core) -> None:
    repository = core.repositories.get("bench")
    heads = [core.references.commit(repository, name).id for name in ("main", "side")]
    assert core.history_index.merge_base(repository, *heads)


def ancestor(core: Core, count: int) -> None:
    repository = core.repositories.get("bench")
    assert core.references.commit(repository, f"main~{count}").generation > 1


def last_page(lake: Lake, commits: int) -> None:
    """Reads 1,000 commits of the log, shortly before its end."""
    page = lake.commits.log("bench", "main", after=f"main~{commits - 2_000}", amount=1_000)
    assert len(page.items) == 1_000


def first_of_log(core: Core) -> None:
    page = log_of_path(core, path(7, "a").decode())
    assert next(page).generation == 9


def log_of_path(core: Core, name: str) -> Iterator[Commit]:
    repository = core.repositories.get("bench")
    head = core.references.commit(repository, "main")
    changed = core.differ.touched(repository, [name], [])
    return core.path_log.log(repository, head, changed, [name], [], NO_LIMITS)


def without_index(core: Core) -> None:
    repository = core.repositories.get("bench")
    head = core.references.commit(repository, "main")
    read = core.commits.reader(repository)
    changed = core.differ.touched(repository, [path(7, "a").decode()], [])
    commits = islice(log(read, head, **NO_LIMITS), 2_000)
    assert list(filter_changed(read, commits, changed)) == []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commits", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lake = open_lake(folder)
        History(lake, options.commits)
        lake.close()
        print(f"{f'{options.commits:,} commits':<44} {'cold ms':>9} {'warm ms':>9}")
        far = options.commits * 9 // 10
        measure(f"main~{far}", folder, lambda core: ancestor(core, far))
        measure_lake(
            "log: 1,000 commits near its end", folder, lambda lake: last_page(lake, options.commits)
        )
        measure("merge base, half the history away", folder, base)
        measure("log: last commit of an object", folder, first_of_log)
        measure("last commit of an object", folder, lambda core: last_of_objects(core, 1))
        measure(
            "last commits of 1,000 objects", folder, lambda core: last_of_objects(core, OBJECTS)
        )
        measure("no index: 2,000 commits of the log", folder, without_index)


if __name__ == "__main__":
    main()
