"""A database that crashes loses the sealing of a staging area that nothing relies on yet, while the
servers go on: nothing staged may be missing then.
"""

from __future__ import annotations

import pytest
from simulation.postgres import Database, open_store

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.memory import MemoryBlocks
from anabranch.model.commits.commit import CommitFields
from anabranch.model.objects.entry import Entry
from anabranch.testing.lake import Clock
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.core import Core
from anabranch.versioning.objects.sealed_trees import MANY_CHANGES

SEALS = b"'synchronous_commit', 'off'"


class Process:
    """A process with the repository `sea`; `before` is called before each of its transactions."""

    def __init__(self, database, blocks, folder):
        self.before = lambda _statements: None
        self.core = Core(
            open_store(database, self._sent),
            TableCache(blocks, folder, 1 << 30, verify=kernel.verify_table),
            clock=Clock(),
        )

    def _sent(self, statements):
        self.before(statements)
        return "made"

    @property
    def repository(self):
        return self.core.repositories.get("sea")

    def put(self, *paths):
        for path in paths:
            entry = Entry(address=f"data/{path}", size=1, mtime=1, checksum="0" * 32)
            self.core.changes.put(self.repository, "main", path, entry)

    def commit(self):
        fields = CommitFields("ada", "m")
        change = BranchChange(repository=self.repository, branch="main", fields=fields)
        return self.core.staged_commits.commit(change)

    def paths(self, reference="main"):
        return [path for path, _ in self.core.objects.entries(self.repository, reference)]


@pytest.fixture
def database():
    return Database()


@pytest.fixture
def processes(database, tmp_path):
    blocks = MemoryBlocks(clock=Clock())
    one, other = (Process(database, blocks, tmp_path / name) for name in ("one", "other"))
    one.core.repositories.create("sea", "mem://sea")
    return one, other


def is_seal(statements):
    return any(SEALS in sql for sql, _ in statements)


def test_a_commit_whose_seal_is_lost_seals_again(processes, database):
    one, other = processes
    one.put("a")
    one.core.committer.seal(one.repository, "main")
    one.put("b")
    lost = []

    def before(statements):
        if database.is_behind and not is_seal(statements) and len(lost) < 2:
            lost.append(database.is_behind)
            database.crash()
            other.put(f"c{len(lost)}")

    one.before = before
    commit = one.commit()
    assert lost == [True] * 2
    assert one.paths(commit.id) == ["a", "b", "c1", "c2"]


@pytest.mark.parametrize("who", ["itself", "another"])
def test_a_tree_of_a_sealed_area_does_not_outlive_the_seal(processes, database, who):
    one, other = processes
    one.put("a", "b")
    if who == "another":
        other.core.committer.seal(other.repository, "main")
    trees = one.core.sealed_trees
    trees.ask(one.repository, one.core.references.resolve(one.repository, "main"), MANY_CHANGES + 1)
    assert trees.build() == 1
    database.crash()
    other.put("c")
    other.core.committer.seal(other.repository, "main")
    assert one.paths() == other.paths() == ["a", "b", "c"]
