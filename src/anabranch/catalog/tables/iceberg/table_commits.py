"""Commits to tables: requirements checked, updates applied, and records that name the result.

A commit is decided on the records at the head of the branch, again whenever the branch has moved:
what was computed for a record that is still the same is used again, so tables do not disturb each
other. Files of attempts that were not needed are removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from anabranch.catalog.tables.iceberg.areas import Area, TableAreas
from anabranch.catalog.tables.iceberg.identifiers import (
    TABLE_FILE,
    VIEW_FILE,
    Identifier,
    other_record_path,
    record_path,
)
from anabranch.catalog.tables.iceberg.locations import check_metadata, check_updates
from anabranch.catalog.tables.iceberg.metadata_files import MetadataFile, MetadataFiles
from anabranch.catalog.tables.iceberg.record_store import RecordStore
from anabranch.errors import AlreadyExists, AnabranchError, Conflict, NotFound
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import area_location
from anabranch.model.tables.table_record import TableRecord, table_from
from anabranch.tables.iceberg.commits.requirements import check_requirements
from anabranch.tables.iceberg.commits.updates import apply_updates
from anabranch.tables.iceberg.commits.views import apply_view_updates, check_view_requirements
from anabranch.versioning.identifiers import Identifiers

__all__ = [
    "ASSERT_CREATE",
    "CommitTables",
    "TableCommit",
    "TableParts",
    "new_record",
    "table_exists",
    "table_not_found",
]

_MILLISECONDS = 1000


ASSERT_CREATE = "assert-create"
"""The requirement of a commit that creates its table."""


class TableCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit to one table, or to a view. `area` is that of the table when the caller was
    authorized, or the area of the table that the commit creates.
    """

    identifier: Identifier
    requirements: Sequence[Mapping[str, Any]]
    updates: Sequence[Mapping[str, Any]]
    area: str
    is_view: bool = False

    @property
    def path(self) -> str:
        """The path of the table's record."""
        return record_path(self.identifier, self._file)

    @property
    def other_path(self) -> str:
        """The path of the record that may not be there when the commit creates its table."""
        return other_record_path(self.identifier, self._file)

    @property
    def _file(self) -> str:
        return VIEW_FILE if self.is_view else TABLE_FILE

    @property
    def creates(self) -> bool:
        """Whether the commit creates its table."""
        return any(
            isinstance(each, Mapping) and each.get("type") == ASSERT_CREATE
            for each in self.requirements
        )


class TableParts(NamedTuple):
    """What commits to tables use. `clock` returns seconds since 1970."""

    records: RecordStore
    areas: TableAreas
    files: MetadataFiles
    identifiers: Identifiers
    clock: Callable[[], float] = time.time

    def now(self) -> int:
        """Returns the time in milliseconds since 1970."""
        return int(self.clock() * _MILLISECONDS)


class _Outcome(NamedTuple):
    area: Area
    file: MetadataFile
    entry: Entry


class CommitTables:
    """The change of the records of tables that several commits to them make."""

    def __init__(
        self, parts: TableParts, repository: Repository, commits: Sequence[TableCommit]
    ) -> None:
        self._parts = parts
        self._repository = repository
        self._commits = {commit.path: commit for commit in commits}
        self._made: dict[tuple[str, str], _Outcome] = {}
        self.files: dict[str, MetadataFile] = {}
        """The metadata files that the records name now, by the paths of the records."""

    @property
    def commits(self) -> list[TableCommit]:
        """The commits."""
        return list(self._commits.values())

    @property
    def paths(self) -> list[str]:
        """The paths of the records, and of those that may not be there."""
        others = [commit.other_path for commit in self._commits.values() if commit.creates]
        return [*self._commits, *others]

    def apply(self, current: Mapping[str, Entry | None]) -> Mapping[str, Entry | None]:
        """Returns the new records. Raises Conflict for a requirement that does not hold, NotFound
        for a table that does not exist, Invalid for what is not a commit.
        """
        changed: dict[str, Entry | None] = {}
        for path, commit in self._commits.items():
            before = current[path]
            if commit.creates and current[commit.other_path] is not None:
                raise view_exists(commit.identifier)
            key = path, "" if before is None else before.address
            if key not in self._made:
                outcome = self._make(commit, before)
                if outcome is None:
                    continue
                self._made[key] = outcome
            self.files[path] = self._made[key].file
            changed[path] = self._made[key].entry
        return changed

    def discard(self, *, all_of_them: bool = False) -> None:
        """Removes what attempts have stored and the records do not name."""
        kept = {file.location for file in self.files.values()} if not all_of_them else set()
        for outcome in self._made.values():
            if outcome.file.location not in kept:
                with suppress(AnabranchError):
                    self._parts.files.discard(outcome.area, outcome.file)
                self._parts.records.discard(self._repository, outcome.entry)

    def _make(self, commit: TableCommit, before: Entry | None) -> _Outcome | None:
        location = area_location(self._repository.id, commit.area)
        check_updates(commit.updates, location)
        if before is None:
            return self._create(commit, location)
        record = table_from(
            self._parts.records.content(self._repository, before),
            self._repository.id,
            commit.path,
        )
        if commit.creates:
            raise AlreadyExists(
                "Requirement failed: table already exists", kind="table_already_exists"
            )
        if record.area != commit.area:
            raise Conflict(f"{commit.identifier} is another table now", kind="table_changed")
        area = self._parts.areas.find(self._repository, record.area)
        metadata = self._parts.files.decoded(area, record)
        changed = self._change(commit, metadata, record.metadata)
        if changed is metadata:
            self.files[commit.path] = self._parts.files.read(area, record)
            return None
        check_metadata(changed, location)
        return self._store(area, changed, record.metadata, registered=record.registered)

    def _change(
        self, commit: TableCommit, metadata: Mapping[str, Any], location: str
    ) -> Mapping[str, Any]:
        if commit.is_view:
            check_view_requirements(metadata, commit.requirements)
            return apply_view_updates(metadata, commit.updates, self._parts.now())
        check_requirements(metadata, commit.requirements)
        return apply_updates(
            metadata, commit.updates, self._parts.now(), metadata_location=location
        )

    def _create(self, commit: TableCommit, location: str) -> _Outcome:
        if not commit.creates:
            raise table_not_found(commit.identifier)
        area = self._parts.areas.find(self._repository, commit.area)
        check_requirements(None, commit.requirements)
        metadata = apply_updates(None, commit.updates, self._parts.now())
        check_metadata(metadata, location)
        return self._store(area, metadata, "", registered=False)

    def _store(
        self, area: Area, metadata: Mapping[str, Any], before: str, *, registered: bool
    ) -> _Outcome:
        uuid = self._parts.identifiers.random_uuid()
        file = self._parts.files.write(area, metadata, before, uuid)
        record = new_record(area, metadata, file, registered=registered)
        return _Outcome(area, file, self._parts.records.store(self._repository, record.to_bytes()))


def new_record(
    area: Area, metadata: Mapping[str, Any], file: MetadataFile, *, registered: bool = False
) -> TableRecord:
    """Returns the record of a table or a view with these metadata."""
    uuid = metadata.get("table-uuid") or metadata.get("view-uuid") or ""
    return TableRecord(uuid=str(uuid), area=area.id, metadata=file.location, registered=registered)


def table_exists(identifier: Identifier) -> AlreadyExists:
    """Returns the error for a table that exists already, in the words of Iceberg's library."""
    return AlreadyExists(f"Table already exists: {identifier}", kind="table_already_exists")


def view_exists(identifier: Identifier) -> AlreadyExists:
    """Returns the error for a view that has the name of a new table."""
    return AlreadyExists(
        f"View with same name already exists: {identifier}", kind="view_already_exists"
    )


def table_not_found(identifier: Identifier) -> NotFound:
    """Returns the error for a table that does not exist."""
    return NotFound(f"Table does not exist: {identifier}", kind="iceberg_table_not_found")
