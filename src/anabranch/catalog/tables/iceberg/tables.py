"""Use cases of tables: find, create, commit, drop, rename and register.

The caller is authorized for the record's path and for the path that the table's area was made for,
which differ after a rename; what is found tells both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anabranch.catalog.objects.objects import Objects
from anabranch.catalog.tables.iceberg.areas import Area
from anabranch.catalog.tables.iceberg.changes import RecordChanges, Writing
from anabranch.catalog.tables.iceberg.identifiers import (
    TABLE_FILE,
    VIEW_FILE,
    Identifier,
    other_record_path,
    record_path,
)
from anabranch.catalog.tables.iceberg.locations import check_metadata
from anabranch.catalog.tables.iceberg.metadata_files import MetadataFile
from anabranch.catalog.tables.iceberg.namespaces import Namespaces
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.catalog.tables.iceberg.table_commits import (
    CommitTables,
    TableCommit,
    TableParts,
    new_record,
    table_exists,
    table_not_found,
)
from anabranch.catalog.tables.iceberg.table_messages import commit_message
from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    Conflict,
    Invalid,
    NotFound,
    OutcomeUnknown,
)
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import Origin
from anabranch.model.tables.table_record import TableRecord, table_from
from anabranch.tables.iceberg.commits.encoded_metadata import (
    MAX_BYTES,
    decode_metadata,
)
from anabranch.tables.iceberg.commits.new_table import new_table_metadata
from anabranch.tables.iceberg.commits.views import new_view_metadata

__all__ = ["FoundTable", "IcebergTables", "NewTable"]


class FoundTable(NamedTuple):
    """A table or a view on a reference: its record and the area that this names."""

    identifier: Identifier
    path: str
    record: TableRecord
    area: Area


class NewTable(NamedTuple):
    """A table or a view that is on no branch yet: its area, its metadata and its record."""

    area: Area
    file: MetadataFile
    record: TableRecord


class IcebergTables:
    """Use cases of tables."""

    def __init__(
        self,
        parts: TableParts,
        namespaces: Namespaces,
        changes: RecordChanges,
        objects: Objects,
    ) -> None:
        self._parts = parts
        self._namespaces = namespaces
        self._changes = changes
        self._objects = objects

    def find_record(
        self, place: Place, identifier: Identifier, file: str = TABLE_FILE
    ) -> FoundTable | None:
        """Returns a table or a view, by the name of the records' files; None if it does not exist.
        Raises Corrupt for a damaged record.
        """
        path = record_path(identifier, file)
        content = self._parts.records.find(place, path)
        if content is None:
            return None
        record = table_from(content, place.repository, path)
        area = self._parts.areas.find_by_address(place.repository, record.area)
        return FoundTable(identifier, path, record, area)

    def get_record(
        self, place: Place, identifier: Identifier, file: str = TABLE_FILE
    ) -> FoundTable:
        """Returns a table or a view, by the name of the records' files. Raises NotFound."""
        found = self.find_record(place, identifier, file)
        if found is not None:
            return found
        if file == VIEW_FILE:
            raise NotFound(f"View does not exist: {identifier}", kind="iceberg_view_not_found")
        raise table_not_found(identifier)

    def metadata(self, found: FoundTable) -> MetadataFile:
        """Returns the metadata of a table."""
        return self._parts.files.read(found.area, found.record)

    def decoded(self, found: FoundTable) -> Mapping[str, Any]:
        """Returns the metadata of a table, decoded; it must not be changed."""
        return self._parts.files.decoded(found.area, found.record)

    def read_metadata(self, area: Area, record: TableRecord) -> MetadataFile:
        """Returns the metadata that a record names in its area."""
        return self._parts.files.read(area, record)

    def new_area(
        self,
        place: Place,
        identifier: Identifier,
        file: str = TABLE_FILE,
        origin: Origin | None = None,
    ) -> Area:
        """Returns an area for a new table of a branch, which may be registered from an object.
        Raises NotFound for its namespace, and AlreadyExists if there is a table or a view of the
        name.
        """
        repository, _ = self._changes.require_branch(place)
        self.require_free(place, identifier, file)
        path = record_path(identifier, file)
        return self._parts.areas.create(repository, path, origin)

    def require_free(
        self, place: Place, identifier: Identifier, file: str = TABLE_FILE, before: str = ""
    ) -> None:
        """Raises NotFound for a namespace that does not exist, AlreadyExists for a name in use; the
        name is for a table or a view, as the file says, which has been called `before`.
        """
        self._namespaces.require(place, identifier.namespace)
        table = self.find_record(place, identifier, TABLE_FILE)
        view = self.find_record(place, identifier, VIEW_FILE)
        if table is None and view is None:
            return
        kind, other = ("View", VIEW_FILE) if table is None else ("Table", TABLE_FILE)
        text = f"{kind}{'' if other == file else ' with same name'} already exists: {identifier}"
        if before:
            text = f"Cannot rename {before} to {identifier}. {kind} already exists"
        if table is None:
            raise AlreadyExists(text, kind="view_already_exists")
        raise AlreadyExists(text, kind="table_already_exists")

    def describe(self, area: Area, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the metadata of the new table that a request describes, in an area. Raises
        Invalid.
        """
        metadata = new_table_metadata(
            request,
            location=area.location,
            uuid=self._parts.identifiers.random_uuid(),
            now_ms=self._parts.now(),
        )
        check_metadata(metadata, area.location)
        return metadata

    def describe_view(self, area: Area, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the metadata of the new view that a request describes. Raises Invalid."""
        return new_view_metadata(
            request,
            location=area.location,
            uuid=self._parts.identifiers.random_uuid(),
            now_ms=self._parts.now(),
        )

    def store(self, area: Area, metadata: Mapping[str, Any], before: str = "") -> MetadataFile:
        """Returns a new file in an area with these metadata, which no record names yet; `before` is
        the address of the metadata that they follow.
        """
        uuid = self._parts.identifiers.random_uuid()
        return self._parts.files.write(area, metadata, before, uuid)

    def new_record(
        self,
        area: Area,
        metadata: Mapping[str, Any],
        file: MetadataFile,
        *,
        registered: bool = False,
    ) -> NewTable:
        """Returns the table with metadata that `store` has stored."""
        return NewTable(area, file, new_record(area, metadata, file, registered=registered))

    def create(
        self,
        place: Place,
        identifier: Identifier,
        new: NewTable,
        writing: Writing,
        *,
        verb: str = "create",
        kind: str = TABLE_FILE,
    ) -> None:
        """Creates a table or a view, as `kind` says. Raises AlreadyExists; the metadata are removed
        then.
        """
        parts, area = self._parts, new.area
        entry = parts.records.store(area.repository, new.record.to_bytes())
        path, other = record_path(identifier, kind), other_record_path(identifier, kind)
        try:
            self._changes.make(
                *(place, [path, other], _Insert(identifier, path, other, entry)),
                f"Iceberg: {verb} {identifier}",
                writing,
            )
        except OutcomeUnknown:
            raise
        except AnabranchError:
            parts.records.discard(area.repository, entry)
            parts.files.discard(area, new.file)
            raise

    def begin(self, place: Place, commits: Sequence[TableCommit]) -> CommitTables:
        """Returns the change that commits to several tables make. Raises Invalid for a table that
        is named twice, and as `RecordChanges.require_branch` does.
        """
        repository, _ = self._changes.require_branch(place)
        change = CommitTables(self._parts, repository, commits)
        if len(change.commits) != len(commits):
            raise Invalid("a table is named twice", kind="table_twice")
        return change

    def commit(self, place: Place, change: CommitTables, writing: Writing) -> None:
        """Commits to several tables, to all or to none; updates that change nothing make no commit
        of the branch. Raises Conflict for requirements that do not hold, NotFound, Invalid. What
        has been stored in vain is removed.
        """
        try:
            self._changes.make(place, change.paths, change, commit_message(change.commits), writing)
        except OutcomeUnknown:
            raise
        except AnabranchError as error:
            change.discard(all_of_them=True)
            if error.kind != "no_changes":
                raise
            return
        change.discard()

    def drop(
        self, place: Place, found: FoundTable, writing: Writing, *, purge: bool = False
    ) -> None:
        """Removes a table from a branch. Its files stay for other references, also with `purge`."""
        self._changes.make(
            *(place, [found.path], _Delete(found, self._parts, found.area.repository)),
            f"Iceberg: {'purge' if purge else 'drop'} {found.identifier}",
            writing,
        )

    def begin_removal(self, found: FoundTable) -> RemoveTable:
        """Returns the change that removes a table and tells which metadata it had then."""
        return RemoveTable(found, self._parts, found.area.repository)

    def unregister(self, place: Place, removal: RemoveTable, writing: Writing) -> None:
        """Removes a table from a branch for another catalog to take it: all commits that were
        acknowledged are in the metadata of `removal.removed`, and later ones fail. All of its files
        stay. Raises NotFound, Conflict.
        """
        found = removal.removed
        message = f"Iceberg: unregister {found.identifier}"
        self._changes.make(place, [found.path], removal, message, writing)

    def rename(
        self, place: Place, found: FoundTable, name: Identifier, file: str, writing: Writing
    ) -> None:
        """Gives a table another name. Raises AlreadyExists, NotFound for the namespace."""
        self.require_free(place, name, file, str(found.identifier))
        path, other = record_path(name, file), other_record_path(name, file)
        moving = _Move(found, name, path, other, self._parts, found.area.repository)
        self._changes.make(
            *(place, [found.path, path, other], moving),
            f"Iceberg: rename {found.identifier} to {name}",
            writing,
        )

    def read_registered(
        self, place: Place, reference: str, path: str
    ) -> tuple[dict[str, Any], Origin]:
        """Returns the metadata in an object at a reference, and which object that is. Raises
        NotFound, Invalid.
        """
        opened = self._objects.open(place.repository, reference, path)
        content = b"".join(opened.chunks(0, min(opened.entry.size, MAX_BYTES + 1)))
        return decode_metadata(content), Origin(path, opened.entry.address)

    def read_area_file(self, area: Area, path: str) -> dict[str, Any]:
        """Returns the metadata in a file of an area. Raises NotFound, Invalid."""
        return decode_metadata(self._parts.areas.read(area, path, MAX_BYTES))


class _Insert:
    def __init__(self, identifier: Identifier, path: str, other: str, entry: Entry) -> None:
        self._identifier, self._path, self._entry = identifier, path, entry
        self._other = other

    def apply(self, current: Mapping[str, Entry | None]) -> Mapping[str, Entry | None]:
        """Returns the new record."""
        if current[self._path] is not None or current[self._other] is not None:
            raise table_exists(self._identifier)
        return {self._path: self._entry}


class _Delete:
    def __init__(self, found: FoundTable, parts: TableParts, repository: Repository) -> None:
        self._found, self._parts, self._repository = found, parts, repository

    def require_same(self, entry: Entry | None) -> Entry:
        """Returns the entry if it is still a record of the table that was found."""
        found = self._found
        if entry is None:
            raise table_not_found(found.identifier)
        content = self._parts.records.content(self._repository, entry)
        record = table_from(content, self._repository.id, found.path)
        if (record.uuid, record.area) != (found.record.uuid, found.record.area):
            raise Conflict(f"{found.identifier} is another table now", kind="table_changed")
        return entry

    def apply(self, current: Mapping[str, Entry | None]) -> Mapping[str, Entry | None]:
        """Returns no record."""
        self.require_same(current[self._found.path])
        return {self._found.path: None}


class RemoveTable(_Delete):
    """Removes a table; `removed` is the table with the record that it had at last."""

    def __init__(self, found: FoundTable, parts: TableParts, repository: Repository) -> None:
        super().__init__(found, parts, repository)
        self.removed = found

    def apply(self, current: Mapping[str, Entry | None]) -> Mapping[str, Entry | None]:
        """Returns no record."""
        entry = self.require_same(current[self._found.path])
        content = self._parts.records.content(self._repository, entry)
        record = table_from(content, self._repository.id, self._found.path)
        self.removed = self._found._replace(record=record)
        return {self._found.path: None}


class _Move(_Delete):
    def __init__(
        self,
        found: FoundTable,
        name: Identifier,
        path: str,
        other: str,
        parts: TableParts,
        repository: Repository,
    ) -> None:
        super().__init__(found, parts, repository)
        self._name, self._path, self._other = name, path, other

    def apply(self, current: Mapping[str, Entry | None]) -> Mapping[str, Entry | None]:
        """Returns the record at its new path."""
        entry = self.require_same(current[self._found.path])
        if current[self._path] is not None or current[self._other] is not None:
            raise table_exists(self._name)
        return {self._found.path: None, self._path: entry}
