"""The metadata of a view while the updates of one commit are applied to it.

Source: the Iceberg view specification. As in the Java library, a version that the view has already
is not added again, a dialect may be left out of a new version only if a property of the view allows
it, and versions beyond the number that another property has are forgotten.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Hashable, Mapping
from typing import Any

import msgspec

from anabranch.tables.iceberg.commits.current_logs import completed_log
from anabranch.tables.iceberg.commits.definitions.definition_sets import DefinitionSet
from anabranch.tables.iceberg.commits.definitions.schemas import check_schema, schema_identity
from anabranch.tables.iceberg.commits.refusals import checked, refused
from anabranch.tables.iceberg.commits.view_shapes import VIEW, VIEW_VERSION

__all__ = ["ViewDraft"]

_VERSION = 1
_TYPES_VERSION = 3
"""The format version of tables whose types views may have."""

_LAST_ADDED = -1
_KEPT_VERSIONS = "version.history.num-entries"
_DEFAULT_KEPT = 10
_MAY_DROP_DIALECT = "replace.drop-dialect.allowed"
_COUNT = re.compile(r"[1-9][0-9]{0,8}")


class ViewDraft:
    """Metadata of a view under change. `now_ms` is the time of the commit, in milliseconds since
    1970.
    """

    def __init__(self, metadata: Mapping[str, Any], now_ms: int) -> None:
        self.properties: dict[str, str] = dict(metadata.get("properties") or {})
        self.is_changed = False
        self._fields = dict(metadata)
        self._now_ms = now_ms
        self._schemas = DefinitionSet(
            metadata["schemas"], "schema-id", schema_identity, chosen=None
        )
        self._versions = DefinitionSet(
            metadata["versions"],
            "version-id",
            _version_identity,
            chosen=metadata.get("current-version-id"),
            first=1,
        )
        self._was = self._versions.chosen
        self._added: set[int] = set()
        self._log: list[Mapping[str, Any]] = list(metadata["version-log"])
        self._entry: dict[str, Any] | None = None

    @classmethod
    def of(cls, metadata: Mapping[str, Any], now_ms: int) -> ViewDraft:
        """Returns a draft of the metadata of a view. Raises Invalid if they are damaged."""
        shape = checked(metadata, VIEW, "view metadata")
        numbers = [each.version_id for each in shape.versions]
        schemas = [each.schema_id for each in shape.schemas]
        if shape.current_version_id not in numbers or None in schemas:
            raise refused("view metadata: the current version, or the id of a schema, is missing")
        return cls(metadata, now_ms)

    @classmethod
    def empty(cls, now_ms: int) -> ViewDraft:
        """Returns a draft of the metadata of a view that does not exist yet."""
        lists: dict[str, Any] = {name: [] for name in ("schemas", "versions", "version-log")}
        return cls({"format-version": _VERSION, **lists}, now_ms)

    @property
    def changes_something(self) -> bool:
        """Whether the metadata are no longer what they were."""
        return self.is_changed or self._schemas.is_changed or self._versions.is_changed

    def assign_uuid(self, given: str) -> None:
        """Sets the UUID of a new view. Raises Invalid for a view that has another."""
        try:
            new = str(uuid.UUID(given))
        except ValueError as error:
            raise refused(f"{given!r:.100} is no UUID") from error
        known = self._fields.get("view-uuid")
        if known is None:
            self._fields["view-uuid"] = new
        elif known.lower() != new:
            raise refused(f"the view has the UUID {known}, which cannot be changed")

    def upgrade(self, version: int) -> None:
        """Raises Invalid unless the format version is the only one that there is."""
        if version != _VERSION:
            raise refused(f"there is no format version {version} of views")

    def set_location(self, location: str) -> None:
        """Sets the address of the view."""
        location = location.rstrip("/")
        if not location:
            raise refused("the location is empty")
        if self._fields.get("location") != location:
            self._fields["location"] = location
            self.is_changed = True

    def set_properties(self, updates: Mapping[str, str]) -> None:
        """Sets properties."""
        for name, value in updates.items():
            if self.properties.get(name) != value:
                self.properties[name] = value
                self.is_changed = True

    def remove_properties(self, names: Collection[str]) -> None:
        """Removes the properties that are there."""
        for name in names:
            if self.properties.pop(name, None) is not None:
                self.is_changed = True

    def add_schema(self, schema: Mapping[str, Any]) -> None:
        """Adds a schema, unless the view has it already."""
        check_schema(schema, _TYPES_VERSION)
        if self._schemas.find(schema) is None:
            self._schemas.add(schema)

    def add_version(self, version: Mapping[str, Any]) -> None:
        """Adds a version, unless the view has it already. Its schema -1 is the one that was added
        last.
        """
        shape = checked(version, VIEW_VERSION, "view version")
        dialects = shape.dialects()
        for dialect in dialects:
            if dialects.count(dialect) > 1:  # in the words of Iceberg's library
                raise refused(
                    f"Invalid view version: Cannot add multiple queries for dialect {dialect}"
                )
        number = shape.schema_id
        if number == _LAST_ADDED:
            if self._schemas.last_added is None:
                raise refused(f"schema-id {_LAST_ADDED}: the commit adds no schema before it")
            number = self._schemas.last_added
        self._schemas.get(number)
        version = {**version, "schema-id": number}
        if self._versions.find(version) is None:
            number = max(shape.version_id, self._versions.next_id)
            self._versions.add(version, number)
            self._added.add(number)

    def choose(self, number: int) -> None:
        """Makes a version the current one; -1 is the one that was added last."""
        before = self._versions.chosen
        self._versions.choose(number)
        chosen = self._versions.chosen
        if chosen is None or chosen == before:
            return
        version = self._versions.get(chosen)
        time = version["timestamp-ms"] if chosen in self._added else self._now_ms
        self._entry = {"timestamp-ms": time, "version-id": chosen}

    def finish(self) -> dict[str, Any]:
        """Returns the new metadata. Raises Invalid if they are not complete."""
        for name in ("view-uuid", "location"):
            if not self._fields.get(name):
                raise refused(f"no update sets the {name} of the view")
        current = self._versions.chosen
        if current is None:
            raise refused("no update sets the current version of the view")
        self._require_dialects(current)
        log = self._log if self._entry is None else [*self._log, self._entry]
        kept = self._kept_versions(current)
        return {
            **self._fields,
            "current-version-id": current,
            "versions": [each for each in self._versions.values() if each["version-id"] in kept],
            "version-log": completed_log(log, kept, "version-id"),
            "schemas": self._schemas.values(),
            "properties": self.properties,
        }

    def _require_dialects(self, current: int) -> None:
        if self._was is None or self.properties.get(_MAY_DROP_DIALECT, "").lower() == "true":
            return
        before, now = (
            set(checked(self._versions.get(number), VIEW_VERSION, "view version").dialects())
            for number in (self._was, current)
        )
        if before - now:
            raise refused(
                f"the new version has no definition in {', '.join(sorted(before - now))}, as the "
                "one before it",
                f"Set the property {_MAY_DROP_DIALECT} of the view to true if that is right.",
            )

    def _kept_versions(self, current: int) -> set[int]:
        given = self.properties.get(_KEPT_VERSIONS, "")
        most = int(given) if _COUNT.fullmatch(given) else _DEFAULT_KEPT
        needed = self._added | {current}
        most = max(most, len(needed))
        numbers = sorted(each["version-id"] for each in self._versions.values())
        kept = set(numbers[-most:])
        if current not in kept:
            kept = {*numbers[-(most - 1) :], current} if most > 1 else {current}
        return kept


def _version_identity(version: Mapping[str, Any]) -> Hashable:
    """Returns what two versions have in common if they differ at most in their ids and times."""
    ignored = {"version-id", "timestamp-ms"}
    kept = {name: value for name, value in version.items() if name not in ignored}
    kept = {name: value for name, value in kept.items() if value is not None}
    return msgspec.json.encode(kept, order="deterministic")
