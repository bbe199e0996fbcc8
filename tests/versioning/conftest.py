"""The core over stores in memory, with objects whose content is one word."""

from __future__ import annotations

import itertools
from hashlib import md5

import pytest

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.memory import MemoryBlocks
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.commits.commit import CommitFields
from anabranch.model.objects.entry import Entry
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyStore
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.core import Core
from anabranch.versioning.merging.content_rights import ALL_CONTENT
from anabranch.versioning.merging.merge import Merge
from anabranch.versioning.merging.rules import MergeRules, check_strategy


class Versions:
    """A repository `sea` with a branch `main`, over stores in memory: new ones, or those that
    another process has open.
    """

    def __init__(self, folder, other=None, webhook_guard=None):
        self.clock = Clock() if other is None else other.clock
        self.own_addresses = other is not None and other.own_addresses
        """Whether each object that is put has an address that no other has, as on a server."""
        self.addresses = itertools.count() if other is None else other.addresses
        store = MemoryStore() if other is None else other.store
        self.blocks = MemoryBlocks(clock=self.clock) if other is None else other.blocks
        self.store = store
        self.keyvalue = FaultyStore(store, lambda _operation, _subject: None)
        tables = TableCache(self.blocks, folder, 1 << 30, verify=kernel.verify_table)
        self.core = Core(self.keyvalue, tables, clock=self.clock, webhook_guard=webhook_guard)
        if other is None:
            self.core.repositories.create("sea", "mem://sea")
        self.repository = self.core.repositories.get("sea")

    def put(self, branch, **contents):
        """Stages an object for each path, whose content is the word."""
        for path, word in contents.items():
            own = f"-{next(self.addresses)}" if self.own_addresses else ""
            entry = Entry(
                address=f"data/{path}-{word}{own}",
                size=len(word),
                mtime=1_700_000_000,
                checksum=md5(word.encode()).hexdigest(),
                metadata={"word": word},
            )
            self.core.changes.put(self.repository, branch, path, entry)

    def remove(self, branch, *paths):
        """Stages the removal of paths."""
        self.core.changes.delete(self.repository, branch, paths)

    def commit(self, branch, message="m", **changes):
        """Commits what is staged, and returns the commit."""
        self.clock.advance(1)
        self.put(branch, **changes)
        return self.commit_staged(branch, message)

    def commit_staged(self, branch, message="m", *, fields=None, **options):
        """Commits what is staged, or the `tree` of the options, and returns the commit."""
        change = self.change(branch, fields or CommitFields("ada", message))
        return self.core.staged_commits.commit(change, **options)

    def change(self, branch, fields=None, **options):
        """Returns a change of a branch, by ada unless `fields` says otherwise."""
        fields = fields or CommitFields("ada")
        return BranchChange(repository=self.repository, branch=branch, fields=fields, **options)

    def merge(self, source, destination, *, strategy="", known=None, fields=None, **options):
        """Merges a reference into a branch, and returns the commit."""
        given = MergeRules(strategy=check_strategy(strategy), rights=ALL_CONTENT)
        options.setdefault("rules", given)
        self.clock.advance(1)
        theirs = self.core.references.commit(self.repository, source)
        merge = Merge(theirs=theirs, source=source, **options)
        return self.core.merger.merge(self.change(destination, fields, known=known), merge)

    def branch(self, name, source="main"):
        """Creates a branch at a reference."""
        commit = self.core.references.commit(self.repository, source)
        self.core.branches.create(self.repository, name, commit.id)

    def head(self, branch):
        """Returns the commit of a branch."""
        return self.core.references.commit(self.repository, branch)

    def contents(self, reference):
        """Returns the words at a reference by path, staged changes of a branch included."""
        entries = self.core.objects.entries(self.repository, reference)
        return {path: entry.metadata["word"] for path, entry in entries}


@pytest.fixture
def versions(tmp_path):
    return Versions(tmp_path)


@pytest.fixture
def other(tmp_path, versions):
    """The repository as another process has it open."""
    return Versions(tmp_path / "other", versions)


@pytest.fixture(scope="module")
def new_versions(tmp_path_factory):
    """Makes repositories, each over stores of its own: for properties with many examples. Their
    tables are in a new folder, or in one that is given.
    """
    return lambda folder=None: Versions(folder or tmp_path_factory.mktemp("sea"))
