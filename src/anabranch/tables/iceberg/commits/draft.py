"""The metadata of a table while the updates of one commit are applied to it.

All versions of the format have the same fields here, those of version 2; `finish()` writes those
that version 1 has besides. Whatever a commit does takes time by what it changes, not by what the
table has: commits may have very many updates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from anabranch.tables.iceberg.commits.current_logs import completed_log
from anabranch.tables.iceberg.commits.definitions.definition_sets import DefinitionSet
from anabranch.tables.iceberg.commits.definitions.partition_specs import (
    check_columns,
    field_ids,
    spec_identity,
)
from anabranch.tables.iceberg.commits.definitions.schemas import (
    Columns,
    read_columns,
    schema_identity,
)
from anabranch.tables.iceberg.commits.definitions.sort_orders import (
    FIRST_ORDER_ID,
    check_order,
    order_identity,
)
from anabranch.tables.iceberg.commits.normal_metadata import (
    MAIN,
    empty_metadata,
    normal_metadata,
)
from anabranch.tables.iceberg.commits.refusals import refused

__all__ = ["Draft", "check_definitions"]

_MAX_PREVIOUS_FILES = "write.metadata.previous-versions-max"
_DEFAULT_PREVIOUS_FILES = 100
_INT32 = re.compile(r"-?[0-9]{1,9}")

_STATISTICS = ("statistics", "partition-statistics")


class Draft:
    """Metadata under change. `now_ms` is the time of the commit, in milliseconds since 1970.

    `properties` and `refs` by their names, `snapshots` and `encryption_keys` by their ids and
    `statistics` of each kind by the ids of their snapshots may be changed; a change sets
    `is_changed`.
    """

    def __init__(self, metadata: Mapping[str, Any], now_ms: int) -> None:
        self.is_changed = False
        self.updated_ms: int | None = None
        self.added_snapshots: set[int] = set()
        self.has_removed_snapshots = False
        self.properties: dict[str, str] = dict(metadata["properties"])
        self.refs: dict[str, Mapping[str, Any]] = dict(metadata["refs"])
        self.snapshots: dict[int, Mapping[str, Any]] = {
            each["snapshot-id"]: each for each in metadata["snapshots"]
        }
        self.statistics: dict[str, dict[int, Mapping[str, Any]]] = {
            name: {each["snapshot-id"]: each for each in metadata[name]} for name in _STATISTICS
        }
        self.encryption_keys: dict[str, Mapping[str, Any]] = {
            each["key-id"]: each for each in metadata.get("encryption-keys", ())
        }
        self.snapshot_log: list[Mapping[str, Any]] = list(metadata["snapshot-log"])
        self.schemas = DefinitionSet(
            metadata["schemas"],
            "schema-id",
            schema_identity,
            chosen=metadata.get("current-schema-id"),
        )
        self.specs = DefinitionSet(
            metadata["partition-specs"],
            "spec-id",
            spec_identity,
            chosen=metadata.get("default-spec-id"),
        )
        self.orders = DefinitionSet(
            metadata["sort-orders"],
            "order-id",
            order_identity,
            chosen=metadata.get("default-sort-order-id"),
            first=FIRST_ORDER_ID,
        )
        self._last_updated = int(metadata["last-updated-ms"])
        self._now_ms = now_ms
        self._fields = dict(metadata)
        self._columns: dict[int, Columns] = {}
        self._partition_field_ids: dict[tuple[int, str], int] | None = None

    @classmethod
    def of(cls, metadata: Mapping[str, Any], now_ms: int) -> Draft:
        """Returns a draft of the metadata of a table. Raises Invalid if they are damaged."""
        return cls(normal_metadata(metadata), now_ms)

    @classmethod
    def empty(cls, format_version: int, now_ms: int) -> Draft:
        """Returns a draft of the metadata of a table that does not exist yet."""
        return cls(empty_metadata(format_version), now_ms)

    @property
    def version(self) -> int:
        """The format version."""
        return int(self._fields["format-version"])

    @property
    def changes_something(self) -> bool:
        """Whether the metadata are no longer what they were."""
        sets = self.schemas, self.specs, self.orders
        return self.is_changed or any(each.is_changed for each in sets)

    def get(self, name: str) -> Any:
        """Returns one of the other fields, None if it is not there."""
        return self._fields.get(name)

    def set(self, **fields: Any) -> None:
        """Sets other fields, whose names have underscores for hyphens."""
        self._fields.update((name.replace("_", "-"), value) for name, value in fields.items())
        self.is_changed = True

    def columns(self) -> Columns:
        """Returns the columns of the current schema, or of the one that was added last."""
        number = self.schemas.chosen
        if number is None:
            number = self.schemas.last_added
        if number is None:
            raise refused("the table has no schema yet")
        if number not in self._columns:
            self._columns[number] = read_columns(self.schemas.get(number))
        return self._columns[number]

    def partition_field_ids(self) -> dict[tuple[int, str], int]:
        """Returns the ids of the fields of all partition specs, by their columns and transforms."""
        if self._partition_field_ids is None:
            self._partition_field_ids = field_ids(self.specs.values())
        return self._partition_field_ids

    def time(self) -> int:
        """Returns the time of the commit: that of its snapshot, if it adds one, and never before
        that of the commit before it.
        """
        return max(self._last_updated, self._now_ms if self.updated_ms is None else self.updated_ms)

    def finish(self, previous_file: str | None) -> dict[str, Any]:
        """Returns the new metadata. `previous_file` is the address of the metadata file that they
        replace, if there is one. Raises Invalid if they are not complete.
        """
        for name in ("table-uuid", "location"):
            if not self._fields.get(name):
                raise refused(f"no update sets the {name} of the table")
        columns = self.columns()
        schema_id, spec_id = self.schemas.chosen, self.specs.chosen
        order_id = self.orders.chosen
        if schema_id is None or spec_id is None or order_id is None:
            raise refused("no update sets the schema, the partition spec or the sort order")
        spec = self.specs.get(spec_id)
        check_columns(spec, columns)
        check_order(self.orders.get(order_id), columns)
        if self.has_removed_snapshots:
            self.refs = {
                name: ref for name, ref in self.refs.items() if ref["snapshot-id"] in self.snapshots
            }
        metadata_log = list(self._fields["metadata-log"])
        if previous_file is not None:
            entry = {"metadata-file": previous_file, "timestamp-ms": self._last_updated}
            metadata_log = [*metadata_log, entry][-_kept_files(self.properties) :]
        new = {
            **self._fields,
            "last-updated-ms": self.time(),
            "schemas": self.schemas.values(),
            "current-schema-id": schema_id,
            "partition-specs": self.specs.values(),
            "default-spec-id": spec_id,
            "sort-orders": self.orders.values(),
            "default-sort-order-id": order_id,
            "properties": self.properties,
            "refs": self.refs,
            "snapshots": list(self.snapshots.values()),
            **{name: list(each.values()) for name, each in self.statistics.items()},
            "metadata-log": metadata_log,
        }
        for name in ("current-snapshot-id", "schema", "partition-spec", "encryption-keys"):
            new.pop(name, None)
        if self.encryption_keys:
            new["encryption-keys"] = list(self.encryption_keys.values())
        current = self.refs[MAIN]["snapshot-id"] if MAIN in self.refs else None
        if current is not None:
            new["current-snapshot-id"] = current
        new["snapshot-log"] = self._snapshot_log(current)
        if self.version == 1:  # readers of version 1 know these only
            new |= {"schema": self.schemas.get(schema_id), "partition-spec": spec["fields"]}
        return new

    def _snapshot_log(self, current: int | None) -> list[Mapping[str, Any]]:
        # what was current only between two updates of the commit was never visible
        between = self.added_snapshots - {current}
        log = [each for each in self.snapshot_log if each["snapshot-id"] not in between]
        return (
            completed_log(log, self.snapshots.keys(), "snapshot-id")
            if self.has_removed_snapshots
            else log
        )


def check_definitions(metadata: Mapping[str, Any]) -> None:
    """Raises Invalid for the metadata of a table whose partition spec and sort order do not fit its
    schema, and for damaged metadata.
    """
    Draft.of(metadata, 0).finish(None)


def _kept_files(properties: Mapping[str, str]) -> int:
    given = properties.get(_MAX_PREVIOUS_FILES, "")
    return max(1, int(given)) if _INT32.fullmatch(given) else _DEFAULT_PREVIOUS_FILES
