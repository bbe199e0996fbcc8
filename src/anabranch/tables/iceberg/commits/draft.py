"""The metadata of a table while the updates of one commit are applied to it.

All versions of the format have the same fields here, those of version 2; `finish()` writes those
that version 1 has besides. Nothing of the metadata that are changed is changed itself: lists and
objects are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.tables.iceberg.commits.partition_specs import check_spec, highest_field_id
from anabranch.tables.iceberg.commits.refusals import checked, refused
from anabranch.tables.iceberg.commits.schemas import Column, read_columns
from anabranch.tables.iceberg.commits.shapes import MetadataShape
from anabranch.tables.iceberg.commits.snapshot_log import completed_log
from anabranch.tables.iceberg.commits.sort_orders import UNSORTED, check_order

__all__ = ["DEFAULT_VERSION", "LAST_VERSION", "LINEAGE_VERSION", "MAIN", "Draft"]

LAST_VERSION = 3
DEFAULT_VERSION = 2
"""The newest format version, and that of tables which ask for none."""

LINEAGE_VERSION = 3
"""The first format version whose rows have ids."""

MAIN = "main"
"""The branch of a table that is its current state."""

_LISTS = ("snapshots", "statistics", "partition-statistics", "snapshot-log", "metadata-log")
_MAX_PREVIOUS_FILES = "write.metadata.previous-versions-max"
_DEFAULT_PREVIOUS_FILES = 100
_INT32 = re.compile(r"-?[0-9]{1,9}")


class Draft:
    """Metadata under change. `now_ms` is the time of the commit, in milliseconds since 1970."""

    def __init__(self, metadata: Mapping[str, Any], now_ms: int) -> None:
        self.now_ms = now_ms
        self.is_changed = False
        self.updated_ms: int | None = None
        self.added_snapshots: set[int] = set()
        self.replaced_snapshots: set[int] = set()
        self.has_removed_snapshots = False
        self.last_schema: int | None = None
        self.last_spec: int | None = None
        self.last_order: int | None = None
        self._last_updated = int(metadata["last-updated-ms"])
        self._now = dict(metadata)

    @classmethod
    def of(cls, metadata: Mapping[str, Any], now_ms: int) -> Draft:
        """Returns a draft of the metadata of a table. Raises Invalid if they are damaged."""
        return cls(normal_metadata(metadata), now_ms)

    @classmethod
    def empty(cls, format_version: int, now_ms: int) -> Draft:
        """Returns a draft of the metadata of a table that does not exist yet."""
        check_version(format_version)
        metadata = {
            "format-version": format_version,
            "last-updated-ms": 0,
            "last-column-id": 0,
            "last-partition-id": highest_field_id(()),
            "schemas": [],
            "partition-specs": [],
            "sort-orders": [],
            "properties": {},
            "refs": {},
            **{name: [] for name in _LISTS},
        }
        if format_version > 1:
            metadata["last-sequence-number"] = 0
        if format_version >= LINEAGE_VERSION:
            metadata["next-row-id"] = 0
        return cls(metadata, now_ms)

    @property
    def version(self) -> int:
        """The format version."""
        return int(self._now["format-version"])

    def get(self, name: str) -> Any:
        """Returns a field, None if it is not there."""
        return self._now.get(name)

    def set(self, **fields: Any) -> None:
        """Sets fields, whose names have underscores for hyphens; None removes one."""
        for name, value in fields.items():
            self._now.pop(name.replace("_", "-"), None)
            if value is not None:
                self._now[name.replace("_", "-")] = value
        self.is_changed = True

    def append(self, name: str, value: Any) -> None:
        """Appends to a list."""
        self.set(**{name.replace("-", "_"): [*self._now[name], value]})

    def snapshot(self, number: int) -> Mapping[str, Any] | None:
        """Returns the snapshot with an id, None without one."""
        found = (each for each in self._now["snapshots"] if each["snapshot-id"] == number)
        return next(found, None)

    def by_id(self, kind: str, name: str, number: int) -> Mapping[str, Any]:
        """Returns the schema, partition spec or sort order with an id, the field `name` of the list
        `kind`. Raises Invalid without one.
        """
        for each in self._now[kind]:
            if each[name] == number:
                found: Mapping[str, Any] = each
                return found
        raise refused(f"the table has no {name} {number}")

    def columns(self) -> dict[int, Column]:
        """Returns the columns of the current schema, or of the last one that was added, by their
        ids.
        """
        number = self._now.get("current-schema-id")
        if number is None:
            number = self.last_schema
        if number is None:
            raise refused("the table has no schema yet")
        return read_columns(self.by_id("schemas", "schema-id", number))

    def time(self) -> int:
        """Returns the time of the commit: that of its snapshot, if it adds one, and never before
        that of the commit before it.
        """
        return max(self._last_updated, self.now_ms if self.updated_ms is None else self.updated_ms)

    def finish(self, previous_file: str | None) -> dict[str, Any]:
        """Returns the new metadata. `previous_file` is the address of the metadata file that they
        replace, if there is one. Raises Invalid if they are not complete.
        """
        for name in ("table-uuid", "location"):
            if not self._now.get(name):
                raise refused(f"no update sets the {name} of the table")
        columns = self.columns()
        for name in ("current-schema-id", "default-spec-id", "default-sort-order-id"):
            if self._now.get(name) is None:
                raise refused(f"no update sets the {name} of the table")
        spec = self.by_id("partition-specs", "spec-id", self._now["default-spec-id"])
        check_spec(spec, columns)
        order_id = self._now["default-sort-order-id"]
        check_order(self.by_id("sort-orders", "order-id", order_id), columns)
        self.set(
            last_updated_ms=self.time(),
            snapshot_log=completed_log(
                self._now["snapshot-log"],
                {each["snapshot-id"] for each in self._now["snapshots"]},
                self.replaced_snapshots - {self._now.get("current-snapshot-id")},
                has_removed=self.has_removed_snapshots,
            ),
        )
        if previous_file is not None:
            entry = {"metadata-file": previous_file, "timestamp-ms": self._last_updated}
            log = [*self._now["metadata-log"], entry]
            self.set(metadata_log=log[-_kept_files(self._now["properties"]) :])
        return self._versioned()

    def _versioned(self) -> dict[str, Any]:
        """Returns the metadata with the fields that their version has."""
        if self.version == 1:  # readers of version 1 know these only
            number = self._now["current-schema-id"]
            spec = self.by_id("partition-specs", "spec-id", self._now["default-spec-id"])
            schema = self.by_id("schemas", "schema-id", number)
            self.set(schema=schema, partition_spec=spec["fields"])
        else:
            self.set(schema=None, partition_spec=None)
        return self._now


def check_version(version: int) -> None:
    """Raises Invalid for a format version that is not known."""
    if not 1 <= version <= LAST_VERSION:
        raise refused(f"there is no format version {version}: 1 to {LAST_VERSION} are known")


def normal_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the metadata of a table with all fields that version 2 has, for whatever version;
    other fields are kept. Raises Invalid if they are damaged.
    """
    shape = checked(metadata, MetadataShape, "table metadata")
    check_version(shape.format_version)
    given = {name: value for name, value in metadata.items() if value is not None}
    normal = {**given, **{name: given.get(name, []) for name in _LISTS}}
    if not normal.get("schemas"):
        if shape.schema is None:
            raise refused("table metadata: there is no schema")
        number = shape.schema.schema_id or 0
        normal["schemas"] = [{**given["schema"], "schema-id": number}]
        normal["current-schema-id"] = number
    if not normal.get("partition-specs"):
        fields = _with_ids(given.get("partition-spec", []))
        normal["partition-specs"] = [{"spec-id": 0, "fields": fields}]
        normal["default-spec-id"] = 0
    if not normal.get("sort-orders"):
        normal["sort-orders"] = [dict(UNSORTED)]
        normal["default-sort-order-id"] = 0
    for name, kind, number_name in (
        ("current-schema-id", "schemas", "schema-id"),
        ("default-spec-id", "partition-specs", "spec-id"),
        ("default-sort-order-id", "sort-orders", "order-id"),
    ):
        normal[name] = given.get(name, normal.get(name, 0))
        if any(each.get(number_name) is None for each in normal[kind]):
            raise refused(f"table metadata: one of the {kind} has no {number_name}")
        if all(each[number_name] != normal[name] for each in normal[kind]):
            raise refused(f"table metadata: there is no {number_name} {normal[name]}")
    known = highest_field_id(normal["partition-specs"])
    normal["last-partition-id"] = given.get("last-partition-id", known)
    normal.setdefault("properties", {})
    _set_current(normal)
    if shape.format_version > 1:
        normal["last-sequence-number"] = shape.last_sequence_number
    if shape.format_version >= LINEAGE_VERSION:
        normal["next-row-id"] = shape.next_row_id or 0
    return normal


def _set_current(normal: dict[str, Any]) -> None:
    """Sets the branch main and the current snapshot, by each other."""
    refs = normal.setdefault("refs", {})
    current = normal.get("current-snapshot-id")
    if current in (None, -1):  # -1 stands for none in files of older libraries
        current = refs[MAIN]["snapshot-id"] if MAIN in refs else None
    elif MAIN not in refs:
        normal["refs"] = {**refs, MAIN: {"snapshot-id": current, "type": "branch"}}
    normal.pop("current-snapshot-id", None)
    if current is not None:
        normal["current-snapshot-id"] = current
    ids = {each["snapshot-id"] for each in normal["snapshots"]}
    for name, ref in normal["refs"].items():
        if ref["snapshot-id"] not in ids:
            raise refused(f"table metadata: there is no snapshot of the reference {name!r}")
    if current is not None and normal["refs"][MAIN]["snapshot-id"] != current:
        raise refused("table metadata: the current snapshot is not that of the branch main")


def _with_ids(fields: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the fields of a spec of version 1, which may have no ids of their own."""
    return [{"field-id": 1000 + number, **field} for number, field in enumerate(fields)]


def _kept_files(properties: Mapping[str, str]) -> int:
    given = properties.get(_MAX_PREVIOUS_FILES, "")
    return max(1, int(given)) if _INT32.fullmatch(given) else _DEFAULT_PREVIOUS_FILES
