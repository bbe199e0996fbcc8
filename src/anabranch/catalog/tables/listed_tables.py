"""Use case of the list of tables: those and the views of the Iceberg catalog, and folders."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.tables.iceberg.registered_folders import RegisteredFolders
from anabranch.catalog.tables.table_walk import FoundTable, TableWalk
from anabranch.model.commits.commit import Commit
from anabranch.model.names import encode_path
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import Origin
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["ListedTable", "ListedTables"]

_MAX_STEPS = 2_000
"""The most folders, or pages of a thousand objects, that one request looks at."""


class ListedTable(NamedTuple):
    """A table or a view, and the last commit that changed it; None if no commit has it yet."""

    table: FoundTable
    commit: Commit | None


class ListedTables:
    """Lists tables."""

    def __init__(self, core: Core, registered: RegisteredFolders) -> None:
        self._core = core
        self._registered = registered

    def page(
        self,
        repository: str,
        reference: str,
        *,
        prefix: str = "",
        search: str = "",
        after: str = "",
        amount: int,
        readable: ReadablePaths | None = None,
        records: ReadablePaths | None = None,
    ) -> Page[ListedTable]:
        """Returns a page of the readable tables and views at a reference whose paths begin with a
        prefix and whose names contain a text, whatever its case. A folder is left out if a table of
        the catalog was registered from it which may be read: by `records`, unless that is None,
        since `readable` may be None for what has the prefix alone. A page ends after so many
        folders, also without a table: it says where the next one begins.
        """
        core = self._core
        stored = core.repositories.get(repository)
        resolved = core.references.resolve(stored, reference)
        steps = TableWalk(core, stored, resolved, readable).steps(prefix, after)
        found: list[FoundTable] = []
        last, wanted, more = after, search.casefold(), True
        registered: Mapping[str, Iterable[Origin]] | None = None
        for step in itertools.islice(steps, _MAX_STEPS):
            table = step.table
            if table is not None and table.format == "iceberg" and not table.in_catalog:
                if registered is None:
                    registered = self._registered.at(
                        stored, resolved, readable if records is None else records
                    )
                origins = registered.get(table.path, ())
                table = None if self._registered.has_any(stored, resolved, origins) else table
            if table is not None and wanted in ".".join((*table.namespace, table.name)).casefold():
                if len(found) == amount:
                    break
                found.append(table)
            last = max(last, step.path, key=encode_path)
        else:
            more = next(steps, None) is not None
        commits = self._commits(stored, resolved, found)
        items = [ListedTable(*each) for each in zip(found, commits, strict=True)]
        return Page(items, more, last if more else "")

    def _commits(
        self, repository: Repository, resolved: Resolved, tables: Sequence[FoundTable]
    ) -> list[Commit | None]:
        """Returns the last commits that changed tables: a record, or what is in a folder."""
        core = self._core
        head = core.commits.get(repository, resolved.commit_id)
        committed = self._committed(repository, resolved, tables)
        records = [each.path for each in committed if each.in_catalog]
        folders = [each.path for each in committed if not each.in_catalog]
        commits = core.last_changes.find(repository, head, records, folders) if committed else []
        by_path = dict(zip([*records, *folders], commits, strict=True))
        return [by_path.get(each.path) for each in tables]

    def _committed(
        self, repository: Repository, resolved: Resolved, tables: Sequence[FoundTable]
    ) -> list[FoundTable]:
        """Returns the tables that the commit of a reference has, without staged changes."""
        if not resolved.tokens:
            return list(tables)
        core = self._core
        tree = core.objects.tree(repository, resolved.commit_id)
        records = [encode_path(each.path) for each in tables if each.in_catalog]
        values = iter(core.trees.read(tree.get_many, records))
        walk = TableWalk(core, repository, Resolved(resolved.commit_id), None)
        return [
            each
            for each in tables
            if (
                next(values) is not None
                if each.in_catalog
                else walk.folder_format(each.path) is not None
            )
        ]
