"""Repositories whose objects have bytes, so that merge strategies can read them."""

import hashlib

import pytest

from anabranch.model.objects.entry import Entry, physical_address
from anabranch.versioning.merging.content_rights import ALL_CONTENT
from anabranch.versioning.merging.rules import MergeRules, Rule, check_strategy


class Contents:
    """A repository with branches `main` and `dev`, whose objects are byte strings."""

    def __init__(self, versions):
        self.versions = versions
        self.core = versions.core
        self.repository = versions.repository
        self._entries = {}

    def put(self, branch, changes):
        """Stages bytes at paths; None removes a path."""
        for path, content in changes.items():
            if content is None:
                self.versions.remove(branch, path)
                continue
            entry = self._entry(content)
            self.core.changes.put(self.repository, branch, path, entry)

    def _entry(self, content):
        """Returns the entry of bytes: the same for equal ones, so that they do not conflict."""
        if content not in self._entries:
            address = self.core.identifiers.data_address()
            stored = self.versions.blocks.put(self.address(address), [content])
            self._entries[content] = Entry(
                address=address,
                size=stored.size,
                mtime=1,
                checksum=stored.checksum,
                content_type="text/plain",
                metadata={"of": "test"},
            )
        return self._entries[content]

    def address(self, address):
        return physical_address(self.repository.storage_namespace, address, 1)

    def commit(self, branch, changes):
        self.put(branch, changes)
        return self.versions.commit(branch)

    def diverge(self, base, source, destination):
        """Commits a base to main, and then changes to the branches dev and main."""
        self.commit("main", {"other": b"o", **base})
        self.versions.branch("dev")
        self.commit("dev", {"of dev": b"d", **source})
        self.commit("main", {"of main": b"m", **destination})

    def merge(self, *rules, strategy="", rights=ALL_CONTENT):
        """Merges dev into main by rules of (path, strategy, options)."""
        given = merge_rules(*rules, strategy=strategy, rights=rights)
        return self.versions.merge("dev", "main", rules=given)

    def preview(self, *rules, strategy="", rights=ALL_CONTENT):
        core = self.core
        theirs, head = (core.references.commit(self.repository, ref) for ref in ("dev", "main"))
        given = merge_rules(*rules, strategy=strategy, rights=rights)
        return core.merger.preview(self.repository, theirs, head, given)

    def read(self, branch, path):
        """Returns the bytes at a path, None if there is no object."""
        resolved = self.core.references.resolve(self.repository, branch)
        entry = self.core.objects.entry_at(self.repository, resolved, path)
        if entry is None:
            return None
        content = self.versions.blocks.read(self.address(entry.address))
        assert hashlib.md5(content).hexdigest() == entry.checksum
        return content

    def tree(self, branch):
        """Returns the bytes at all paths of a branch."""
        entries = self.core.objects.entries(self.repository, branch)
        return {
            path: self.versions.blocks.read(self.address(entry.address)) for path, entry in entries
        }

    def blocks(self):
        """Returns the addresses of all stored objects, without tables."""
        return {block.address for block in self.versions.blocks.list("mem://sea/data/")}


def merge_rules(*rules, strategy="", rights=ALL_CONTENT):
    return MergeRules(
        tuple(Rule.of(path, name, *(options or [{}])) for path, name, *options in rules),
        check_strategy(strategy),
        rights,
    )


@pytest.fixture
def lake(versions):
    return Contents(versions)
