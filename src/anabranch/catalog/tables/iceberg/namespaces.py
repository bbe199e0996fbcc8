"""Namespaces: folders of records, which may have properties.

A namespace exists if it has a record, or anything below it: a merge that brings a table brings the
namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.tables.iceberg.changes import RecordChanges, Writing
from anabranch.catalog.tables.iceberg.identifiers import (
    NAMESPACE_FILE,
    TABLE_FILE,
    VIEW_FILE,
    Namespace,
    decode_part,
    encode_part,
    namespace_path,
    namespace_prefix,
)
from anabranch.catalog.tables.iceberg.namespace_records import NamespaceRecord, namespace_from
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.catalog.tables.iceberg.record_store import RecordStore
from anabranch.errors import AlreadyExists, Conflict, Invalid, NotFound
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository

__all__ = ["Namespaces", "PropertyChanges", "namespace_not_found"]

_AFTER_SLASH = "0"
"""The character after `/`: a folder's name with it comes after all that is in the folder."""
_PASSED = 1_000
"""How many records in a folder are read before the rest of it is skipped."""


class PropertyChanges(NamedTuple):
    """The names of properties that were set, removed, and not there to remove."""

    updated: list[str]
    removed: list[str]
    missing: list[str]


class Namespaces:
    """Use cases of namespaces. `readable` are the paths that a caller may read, None for all."""

    def __init__(self, records: RecordStore, changes: RecordChanges) -> None:
        self._records = records
        self._changes = changes

    def children(
        self, place: Place, parent: Namespace, readable: ReadablePaths | None, after: str = ""
    ) -> Iterator[str]:
        """Yields the names of the namespaces in a namespace, after one, in order."""
        prefix = namespace_prefix(parent)
        begin, last, passed = _begin(prefix, after), "", 0
        while begin:
            following = ""
            for path in self._records.paths(place, prefix, begin, readable):
                name, slash, rest = path[len(prefix) :].partition("/")
                if name == last:
                    passed += 1
                    if passed > _PASSED:
                        following = f"{prefix}{name}{_AFTER_SLASH}"
                        break
                elif slash and rest not in {TABLE_FILE, VIEW_FILE}:
                    last, passed = name, 0
                    decoded = decode_part(name)
                    if decoded is not None:
                        yield decoded
            begin = following

    def names(
        self,
        place: Place,
        namespace: Namespace,
        file: str,
        readable: ReadablePaths | None,
        after: str = "",
    ) -> Iterator[str]:
        """Yields the names of the tables or the views in a namespace, after one, in order: those
        whose records are files of this name.
        """
        prefix = namespace_prefix(namespace)
        begin, passed = _begin(prefix, after), 0
        while begin:
            following = ""
            for path in self._records.paths(place, prefix, begin, readable):
                name, _, rest = path[len(prefix) :].partition("/")
                folder, deeper, _ = rest.partition("/")
                decoded = decode_part(name) if rest == file else None
                if decoded is not None:
                    yield decoded
                passed = passed + 1 if deeper else 0
                if passed > _PASSED:  # in a namespace of the name, which may be large
                    following = f"{prefix}{name}/{folder}{_AFTER_SLASH}"
                    break
            begin = following

    def exists(self, place: Place, namespace: Namespace, readable: ReadablePaths | None) -> bool:
        """Returns whether there is a namespace."""
        prefix = namespace_prefix(namespace)
        for path in self._records.paths(place, prefix, "", readable, page=3):
            if path[len(prefix) :] not in {TABLE_FILE, VIEW_FILE}:
                return True
        return False

    def require(
        self, place: Place, namespace: Namespace, readable: ReadablePaths | None = None
    ) -> None:
        """Raises NotFound unless there is a namespace."""
        if not self.exists(place, namespace, readable):
            raise namespace_not_found(namespace)

    def properties(
        self, place: Place, namespace: Namespace, readable: ReadablePaths | None
    ) -> Mapping[str, str]:
        """Returns the properties of a namespace. Raises NotFound."""
        path = namespace_path(namespace)
        if readable is None or path in readable:
            content = self._records.find(place, path)
            if content is not None:
                return namespace_from(content, path).properties
        self.require(place, namespace, readable)
        return {}

    def stored_properties(self, place: Place, namespace: Namespace) -> Mapping[str, str]:
        """Returns the properties in the record of a namespace; none without a record."""
        path = namespace_path(namespace)
        content = self._records.find(place, path)
        return {} if content is None else namespace_from(content, path).properties

    def create(
        self,
        place: Place,
        namespace: Namespace,
        properties: Mapping[str, str],
        writing: Writing,
    ) -> None:
        """Creates a namespace. Raises AlreadyExists, and NotFound for the one it is in."""
        repository, _ = self._changes.require_branch(place)
        path = namespace_path(namespace)
        if namespace[1:]:
            self.require(place, namespace[:-1])
        if self.exists(place, namespace, None):
            raise _namespace_exists(namespace)
        entry = self._records.store(
            repository, NamespaceRecord(properties=dict(properties)).to_bytes()
        )
        self._changes.make(
            place,
            [path],
            _Create(namespace, path, entry),
            f"Iceberg: create namespace {_named(namespace)}",
            writing,
        )

    def drop(self, place: Place, namespace: Namespace, writing: Writing) -> None:
        """Removes a namespace. Raises NotFound, Conflict (kind namespace_not_empty)."""
        self._changes.require_branch(place)
        path, prefix = namespace_path(namespace), namespace_prefix(namespace)
        found = False
        for each in self._records.paths(place, prefix, "", None):
            rest = each[len(prefix) :]
            if rest == NAMESPACE_FILE:
                found = True
            elif rest not in {TABLE_FILE, VIEW_FILE}:
                raise Conflict(
                    f"Namespace {_named(namespace)} is not empty", kind="namespace_not_empty"
                )
        if not found:
            raise namespace_not_found(namespace)
        self._changes.make(
            *(place, [path], _Remove(namespace, path)),
            f"Iceberg: drop namespace {_named(namespace)}",
            writing,
        )

    def change_properties(
        self,
        place: Place,
        namespace: Namespace,
        updates: Mapping[str, str],
        removals: Sequence[str],
        writing: Writing,
    ) -> PropertyChanges:
        """Sets and removes properties. Raises NotFound, and Invalid (kind property_twice) for a
        property that is both set and removed.
        """
        twice = set(updates) & set(removals)
        if twice:
            raise Invalid(
                f"properties are both set and removed: {', '.join(sorted(twice))}",
                kind="property_twice",
            )
        repository, _ = self._changes.require_branch(place)
        path = namespace_path(namespace)
        before = dict(self.properties(place, namespace, None))
        after = {name: text for name, text in before.items() if name not in removals}
        after.update(updates)
        removed = [name for name in removals if name in before]
        changes = PropertyChanges(list(updates), removed, [n for n in removals if n not in before])
        if after == before:
            return changes
        content = self._records.find(place, path)
        entry = self._records.store(repository, NamespaceRecord(properties=after).to_bytes())
        self._changes.make(
            place,
            [path],
            _Replace(self._records, repository, path, content, entry),
            f"Iceberg: change properties of {_named(namespace)}",
            writing,
        )
        return changes


class _Create:
    def __init__(self, namespace: Namespace, path: str, entry: Entry) -> None:
        self._namespace, self._path, self._entry = namespace, path, entry

    def apply(self, current: Mapping[str, Entry | None]) -> Mapping[str, Entry | None]:
        """Returns the new record."""
        if current[self._path] is not None:
            raise _namespace_exists(self._namespace)
        return {self._path: self._entry}


class _Remove:
    def __init__(self, namespace: Namespace, path: str) -> None:
        self._namespace, self._path = namespace, path

    def apply(self, current: Mapping[str, Entry | None]) -> Mapping[str, Entry | None]:
        """Returns no record."""
        if current[self._path] is None:
            raise namespace_not_found(self._namespace)
        return {self._path: None}


class _Replace:
    def __init__(
        self,
        records: RecordStore,
        repository: Repository,
        path: str,
        content: bytes | None,
        entry: Entry,
    ) -> None:
        self._records, self._repository, self._path = records, repository, path
        self._content, self._entry = content, entry

    def apply(self, current: Mapping[str, Entry | None]) -> Mapping[str, Entry | None]:
        """Returns the new record, if the one before is still that which was read."""
        now = current[self._path]
        content = None if now is None else self._records.content(self._repository, now)
        if content != self._content:
            raise Conflict("the namespace has changed meanwhile", kind="namespace_changed")
        return {self._path: self._entry}


def namespace_not_found(namespace: Namespace) -> NotFound:
    """Returns the error for a namespace that does not exist."""
    return NotFound(f"Namespace does not exist: {_named(namespace)}", kind="namespace_not_found")


def _namespace_exists(namespace: Namespace) -> AlreadyExists:
    return AlreadyExists(
        f"Namespace already exists: {_named(namespace)}", kind="namespace_already_exists"
    )


def _begin(prefix: str, after: str) -> str:
    """Returns the path after all that is in the folder of a name."""
    return f"{prefix}{encode_part(after)}{_AFTER_SLASH}" if after else prefix


def _named(namespace: Namespace) -> str:
    return ".".join(namespace)
