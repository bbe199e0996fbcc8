"""The metadata tables of one query, on the side of the server: opened as the query's user, and read
in batches by any number of scans. Their references are resolved when they are opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Self

import pyarrow as pa

from anabranch.catalog.catalog import Catalog
from anabranch.catalog.objects.object_search import ObjectSearch
from anabranch.catalog.snapshots import NamedReference
from anabranch.pipelines.queries.metadata.commit_rows import commit_batches
from anabranch.pipelines.queries.metadata.metadata_rows import metadata_batches
from anabranch.pipelines.queries.metadata.search_conditions import (
    SqlCondition,
    change_conditions,
    search_conditions,
)
from anabranch.pipelines.queries.query_rights import QueryRights
from anabranch.pipelines.queries.reference_views import ReferenceViews

__all__ = ["MetadataTables"]

Scan = Callable[[Sequence[str], Sequence[SqlCondition]], Iterable[pa.RecordBatch]]
"""Yields rows with the named columns. Rows that do not meet all conditions may be left out."""


class _Tables:
    """Opens tables by the names of their functions."""

    def __init__(self, catalog: Catalog, rights: QueryRights, views: ReferenceViews) -> None:
        self._snapshots = catalog.snapshots
        self._rights = rights
        self._views = views

    @contextmanager
    def objects(self, repository: str, reference: str, prefix: str) -> Iterator[Scan]:
        with self._search(repository, reference, prefix) as search:
            yield lambda columns, conditions: search.batches(columns, search_conditions(conditions))

    @contextmanager
    def object_metadata(self, repository: str, reference: str, prefix: str) -> Iterator[Scan]:
        with self._search(repository, reference, prefix) as search:
            yield partial(metadata_batches, search)

    def _search(
        self, repository: str, reference: str, prefix: str
    ) -> AbstractContextManager[ObjectSearch]:
        self._rights.require_listing(repository, reference)
        readable = self._rights.readable_paths(repository, reference, prefix)
        at = self._views.resolve(repository, reference)
        return self._snapshots.objects(repository, at, prefix=prefix, readable=readable)

    @contextmanager
    def changes(self, repository: str, left: str, right: str, prefix: str) -> Iterator[Scan]:
        self._rights.require_listing(repository, "")
        readable = self._rights.readable_paths(repository, "", prefix)
        sides = self._resolve(repository, left), self._resolve(repository, right)
        with self._snapshots.changes(
            repository, *sides, prefix=prefix, readable=readable
        ) as search:
            yield lambda columns, conditions: search.batches(columns, change_conditions(conditions))

    @contextmanager
    def commits(self, repository: str, reference: str) -> Iterator[Scan]:
        self._rights.require_log(repository, reference)
        start = self._resolve(repository, reference)
        self._snapshots.commits(repository, start)
        yield lambda columns, _: commit_batches(self._snapshots.commits(repository, start), columns)

    def _resolve(self, repository: str, reference: str) -> NamedReference:
        return NamedReference(reference, self._views.resolve(repository, reference))


class MetadataTables:
    """The tables that a query has opened, and its scans. Must be closed, as by `with`."""

    def __init__(self, catalog: Catalog, rights: QueryRights, views: ReferenceViews) -> None:
        tables = _Tables(catalog, rights, views)
        self._functions: dict[str, Callable[..., AbstractContextManager[Scan]]] = {
            "objects": tables.objects,
            "object_metadata": tables.object_metadata,
            "changes": tables.changes,
            "commits": tables.commits,
        }
        self._opened = ExitStack()
        self._tables: list[Scan] = []
        self._scans: list[Iterator[pa.RecordBatch]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, function: str, arguments: Sequence[str]) -> int:
        """Returns the number of the table that a function of SQL returns. Raises Denied, NotFound
        and Invalid.
        """
        table = self._functions[function](*arguments)
        self._tables.append(self._opened.enter_context(table))
        return len(self._tables) - 1

    def scan(self, table: int, columns: Sequence[str], conditions: Sequence[SqlCondition]) -> int:
        """Returns the number of a new scan of a table, by its number."""
        self._scans.append(iter(self._tables[table](columns, conditions)))
        return len(self._scans) - 1

    def next(self, scan: int) -> pa.Buffer | None:
        """Returns the next rows of a scan as an Arrow message, None after the last."""
        batch = next(self._scans[scan], None)
        return None if batch is None else batch.serialize()

    def close(self) -> None:
        """Ends all scans."""
        self._scans.clear()
        self._opened.close()
