"""Small tables that were written into the store's folder, and are not durable yet.

Each sync of a file waits for the disk. A caller that writes several tables, or holds a lock
meanwhile, collects them here, and makes them durable together, by the journal of the store.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.blocks.cache.table_cache import TableCache

__all__ = ["UnsyncedTables"]


class UnsyncedTables:
    """Tables in the folders of storage namespaces. Used by one thread."""

    def __init__(self, tables: TableCache) -> None:
        self._tables = tables
        self._bodies: dict[str, dict[str, bytes]] = {}

    def add(self, storage_namespace: str, tables: Iterable[tuple[str, bytes]]) -> None:
        """Adds tables, as their ids and bytes."""
        self._bodies.setdefault(storage_namespace, {}).update(tables)

    def make_durable(self) -> None:
        """Makes the tables durable. Raises Busy if the store cannot."""
        bodies, self._bodies = self._bodies, {}
        for storage_namespace, tables in bodies.items():
            if tables:
                self._tables.make_durable(storage_namespace, tables)
