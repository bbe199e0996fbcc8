"""Many objects by number, and a process that counts what it reads from the store."""

from __future__ import annotations

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.versioning.core import Core
from anabranch.versioning.objects.sealed_trees import MANY_CHANGES

MANY = MANY_CHANGES + 1000
"""So many deletions that a page asks for a tree."""


class CountingStore:
    """Counts the rows that scans of a store return."""

    def __init__(self, store):
        self._store = store
        self.rows = 0

    def __getattr__(self, attribute):
        return getattr(self._store, attribute)

    def scan(self, *args, **options):
        for row in self._store.scan(*args, **options):
            self.rows += 1
            yield row


class Counted:
    """A process that counts what it reads from the store."""

    def __init__(self, versions, folder):
        tables = TableCache(versions.blocks, folder, 1 << 30, verify=kernel.verify_table)
        self.store = CountingStore(versions.store)
        self.core = Core(self.store, tables, clock=versions.clock)
        self.repository = versions.repository

    def page(self, reference="main", amount=10, **window):
        """Returns the paths of a page, and how many rows of the store it read."""
        before = self.store.rows
        listing = self.core.objects.listing(self.repository, reference, amount=amount, **window)
        return [key.decode() for key, _ in listing.rows()], self.store.rows - before


def name(number):
    return f"p{number:06}"
