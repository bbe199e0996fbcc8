"""What a Delta table's protocol and metadata say about merges.

Source: the Delta transaction log protocol, sections "Protocol Evolution", "Change Metadata",
"Checkpoints" and "Column Mapping".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import msgspec

from anabranch.errors.dependency_errors import reason_of
from anabranch.tables.delta.actions import FileAction
from anabranch.tables.delta.checkpoints import table_actions
from anabranch.tables.delta.log_files import LogFiles
from anabranch.versioning.strategies.delta.commit import LogCommit, parse_commit
from anabranch.versioning.strategies.side_objects import refusal

__all__ = ["IsolationLevel", "Partition", "TableState", "read_state"]

IsolationLevel = Literal["serializable", "write-serializable", "snapshot"]

_READER_VERSION = 3
_WRITER_VERSION = 7
_FEATURES = frozenset(
    (
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "clustering",
        "columnMapping",
        "deletionVectors",
        "domainMetadata",
        "generatedColumns",
        "identityColumns",  # inserts change the metadata, which conflicts
        "inCommitTimestamp",
        "invariants",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    )
)
"""Features that a commit can be rebased with. Others, like rowTracking, number rows or commits."""

_COMPARABLE = frozenset(("string", "date", "boolean", "byte", "short", "integer", "long"))
"""Types of partition columns whose values all writers spell in the same way."""

Partition = frozenset[tuple[str, str | None]]


class TableState(msgspec.Struct, frozen=True, kw_only=True):
    """Protocol and metadata of a table at a version."""

    protocol: Mapping[str, Any]
    meta_data: Mapping[str, Any]
    partition_columns: list[str]
    data_columns: list[str]
    is_comparable: bool
    """Whether partitions are the same if and only if their values are spelled in the same way."""

    @property
    def isolation_level(self) -> IsolationLevel:
        """The level that the table requires: Serializable, Delta's default, or WriteSerializable,
        the only other level that a table can have.
        """
        level = self._property("delta.isolationLevel").lower()
        return "write-serializable" if level == "writeserializable" else "serializable"

    @property
    def has_commit_timestamps(self) -> bool:
        """Whether commits hold their time, which grows with the version."""
        return self._property("delta.enableInCommitTimestamps").lower() == "true"

    def changes(self, commit: LogCommit) -> Iterator[str]:
        """Yields what a commit changes: `protocol`, `metaData`."""
        if any(_protocol(each) != self.protocol for each in commit.protocols):
            yield "protocol"
        if any(_meta_data(each) != self.meta_data for each in commit.meta_data):
            yield "metaData"

    def partition(self, action: FileAction) -> Partition | None:
        """Returns the partition of a file, None if it is not known."""
        values = action.partition_values
        if values is None or not self.is_comparable:
            return None
        return frozenset((name, value or None) for name, value in values.items())

    def _property(self, name: str) -> str:
        return str((self.meta_data["configuration"] or {}).get(name, ""))


def read_state(log: LogFiles, version: int) -> TableState:
    """Returns the state of a table at a version. Raises Conflict for tables that cannot be merged,
    and for logs that are damaged.
    """
    protocol: dict[str, Any] | None = None
    meta_data: dict[str, Any] | None = None
    checkpoints = log.checkpoints()
    for earlier in range(version, -1, -1):
        if not log.has_commit(earlier) and earlier not in checkpoints:
            break
        if log.has_commit(earlier):
            commit = parse_commit(log.owner, earlier, log.commit(earlier))
            protocol = protocol or next(reversed(commit.protocols), None)
            meta_data = meta_data or next(reversed(commit.meta_data), None)
        if earlier in checkpoints and (protocol is None or meta_data is None):
            for action in table_actions(log, checkpoints[earlier]):
                protocol = protocol or action.get("protocol")
                meta_data = meta_data or action.get("metaData")
            break
        if protocol is not None and meta_data is not None:
            break
    if protocol is None or meta_data is None:
        raise refusal(f"the log of the {log.owner} has no protocol or metadata for {version}")
    with _damage_refused():
        _require_known_features(protocol)
        return _state(protocol, meta_data)


@contextmanager
def _damage_refused() -> Iterator[None]:
    """Raises Conflict for what metadata of an unexpected form make Python raise."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise refusal(f"the table's metadata cannot be read: {reason_of(error)}") from error


def _state(protocol: dict[str, Any], meta_data: dict[str, Any]) -> TableState:
    described = _meta_data(meta_data)
    fields = described["schema"]["fields"]
    partition_columns = described["partitionColumns"]
    types = {field["name"]: field["type"] for field in fields}
    return TableState(
        protocol=_protocol(protocol),
        meta_data=described,
        partition_columns=partition_columns,
        data_columns=[name for name in types if name not in partition_columns],
        is_comparable=all(
            isinstance(types.get(name), str) and types[name] in _COMPARABLE
            for name in partition_columns
        ),
    )


def _protocol(action: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a protocol action in a form that can be compared."""
    features = ("readerFeatures", "writerFeatures")
    with _damage_refused():
        return {
            "minReaderVersion": action.get("minReaderVersion"),
            "minWriterVersion": action.get("minWriterVersion"),
        } | {name: sorted(action.get(name) or ()) for name in features}


def _meta_data(action: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a metadata action in a form that can be compared."""
    with _damage_refused():
        return {
            "id": action["id"],
            "name": action.get("name"),
            "description": action.get("description"),
            "schema": json.loads(action["schemaString"]),
            "partitionColumns": list(action.get("partitionColumns") or ()),
            "configuration": dict(action.get("configuration") or {}),
        }


def _require_known_features(protocol: Mapping[str, Any]) -> None:
    described = _protocol(protocol)
    features = {*described["readerFeatures"], *described["writerFeatures"]}
    unknown = sorted(features - _FEATURES)
    if unknown:
        raise refusal(f"the table has the feature {unknown[0]}, with which logs are not merged")
    versions = described["minReaderVersion"], described["minWriterVersion"]
    if not all(isinstance(version, int) for version in versions):
        raise refusal("the table's protocol has no versions")
    if versions[0] > _READER_VERSION or versions[1] > _WRITER_VERSION:
        raise refusal(
            f"the table's protocol is unknown: reader {versions[0]}, writer {versions[1]}"
        )
