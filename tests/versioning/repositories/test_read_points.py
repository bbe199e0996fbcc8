"""Read points: what is kept of a reference is never older than the latest write of any process."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from support.session.sizes import sized

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import AnabranchError, Gone, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyStore
from anabranch.versioning.core import Core
from anabranch.versioning.records import keys
from tests.versioning.conftest import Versions

PATHS = ("a", "b", "c")
MANY = 20
"""More reads than it takes until it is found out whether anything is staged."""


class CountedStore(SQLiteStore):
    """Counts the values that are asked for."""

    asked = 0

    def get(self, partition, key):
        self.asked += 1
        return super().get(partition, key)


class Process(Versions):
    """The repository as a process has it open over SQLite, and another core over the same store,
    which keeps no read points.
    """

    def __init__(self, folder, number, clock, blocks):
        self.clock, self.blocks, self.own_addresses = clock, blocks, True
        self.addresses = itertools.count(number * 1_000_000)
        self.store = CountedStore(folder / "db")
        self.statements = 0
        tables = TableCache(blocks, folder / f"{number}", 1 << 30, verify=kernel.verify_table)
        self.core = Core(self.store, tables, clock=clock)
        self.plain = Core(FaultyStore(self.store, lambda *_: None), tables, clock=clock)
        if not number:
            self.core.repositories.create("sea", "mem://sea")
        self.repository = self.core.repositories.get("sea")

    def read(self, reference, path):
        return outcome(lambda: self.core.read_points.entry("sea", reference, path))

    def read_plainly(self, reference, path):
        return outcome(lambda: self.plain.read_points.entry("sea", reference, path))


def outcome(read):
    try:
        repository, entry = read()
    except AnabranchError as error:
        return error.kind
    return repository, entry


@pytest.fixture
def processes(tmp_path):
    clock = Clock()
    blocks = MemoryBlocks(clock=clock)
    opened = [Process(tmp_path, number, clock, blocks) for number in range(2)]
    yield opened
    for process in opened:
        process.store.close()


@pytest.fixture
def here(processes):
    return processes[0]


def change(random, process, branches):
    """Makes a change that may be refused."""
    branch, path = random.choice(branches), random.choice(PATHS)
    word = f"{random.random()}"
    kind = random.choice(("put", "put", "remove", "commit", "commit", "branch", "delete", "seal"))
    try:
        if kind == "put":
            process.put(branch, **{path: word})
        elif kind == "remove":
            process.remove(branch, path)
        elif kind == "commit":
            process.commit(branch, **{path: word})
        elif kind == "branch":
            process.branch(branch, random.choice(branches))
        elif kind == "delete" and branch != "main":
            process.core.branches.delete(process.repository, branch)
        else:
            process.core.tags.create(process.repository, f"tag-{word}", process.head(branch).id)
    except AnabranchError:
        pass


@pytest.mark.parametrize("seed", range(sized(2, weekly=20)))
def test_reads_find_what_plain_reads_find_after_each_change_of_any_process(processes, seed):
    random = Random(seed)
    commits = []
    for _ in range(sized(60, weekly=200)):
        change(random, random.choice(processes), ("main", "side", "other"))
        commits.append(processes[0].head("main").id)
        references = ("main", "side", "other", "main@", "main~1", random.choice(commits), "none")
        for process in processes:
            for reference in random.sample(references, 3):
                for path in random.choices((*PATHS, ""), k=random.choice((1, MANY))):
                    assert process.read(reference, path) == process.read_plainly(reference, path)


def test_a_deleted_repository_is_not_found_any_more(processes):
    here, there = processes
    head = here.commit("main", a="one").id
    for reference in ("main", head):
        for _ in range(MANY):
            here.read(reference, "a")
    there.core.repositories.delete("sea")
    for reference in ("main", head):
        with pytest.raises((NotFound, Gone)):
            here.core.read_points.entry("sea", reference, "a")


def test_many_reads_of_a_branch_without_staged_changes_do_not_ask_the_store(here):
    here.commit("main", **{f"path{number}": "word" for number in range(MANY)})
    for _ in range(MANY):
        here.read("main", "path0")
    asked = here.store.asked
    for number in range(MANY):
        _, entry = here.core.read_points.entry("sea", "main", f"path{number}")
        assert entry.metadata == {"word": "word"}
    assert here.store.asked == asked


def test_a_commit_that_is_only_examined_is_found_by_its_own_thread_alone(here):
    made = here.commit("main", a="one")
    examined = here.core.commits.make(
        committer="ada",
        message="examined",
        metarange_id=made.metarange_id,
        metadata={},
        parents=[made],
    )
    with here.core.commits.assuming(here.repository, [examined]):
        for _ in range(MANY):
            _, entry = here.core.read_points.entry("sea", examined.id, "a")
            assert entry.metadata == {"word": "one"}
    with pytest.raises(NotFound):
        here.core.read_points.entry("sea", examined.id, "a")


def test_what_is_staged_is_found_where_the_commit_of_the_branch_is_lost(processes):
    here, there = processes
    head = here.commit("main", a="one")
    here.put("main", b="two")
    lost = Write(here.repository.partition, keys.commit(head.id), None)
    there.store.apply([lost])
    for path in ("b", "a", ""):
        for _ in range(MANY):
            assert there.read("main", path) == there.read_plainly("main", path)
    _, entry = there.core.read_points.entry("sea", "main", "b")
    assert entry.metadata == {"word": "two"}
