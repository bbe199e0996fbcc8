"""A version of a Delta table: its protocol, metadata and live files.

The last checkpoint up to the version has the files of that time; the commits after it add and
remove some. A file is known by its path and its deletion vector.

Source: the Delta transaction log protocol, section "Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from anabranch.tables.delta.actions import FileAction, TableAction
from anabranch.tables.delta.checkpoints import file_actions, table_actions
from anabranch.tables.delta.commit_info import version_of_commit
from anabranch.tables.delta.log_files import LOG_FOLDER, LogFiles
from anabranch.tables.delta.protocol import require_readable
from anabranch.tables.delta.table_schema import MAPPING_MODE, partition_value, read_columns
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.columns import Column
from anabranch.tables.live_rows.deletion_vectors import decode_z85
from anabranch.tables.live_rows.live_table import (
    MAX_LIVE_FILES,
    LiveFile,
    LiveTable,
    TableVersion,
    VectorPlace,
)
from anabranch.tables.live_rows.refusals import damage_refused, unreadable
from anabranch.tables.live_rows.table_objects import TableObjects

__all__ = ["read_delta_table", "read_delta_versions"]

_FRAME_BYTES = 8
_TO_ACTION = msgspec.json.Decoder(TableAction)


class _Stats(msgspec.Struct, rename="camel"):
    num_records: int | None = None


_TO_STATS = msgspec.json.Decoder(_Stats)


class _State(msgspec.Struct):
    """What the actions up to a version add up to."""

    protocol: Mapping[str, Any] | None = None
    meta_data: Mapping[str, Any] | None = None
    files: dict[tuple[str, str], FileAction] = {}


def read_delta_table(
    objects: TableObjects, place: TablePlace, version: int | None = None
) -> LiveTable:
    """Returns a version of the table at a place, by default the last one. Raises Invalid for what
    is no Delta table, for a damaged one, for one with unknown features, and for a version that the
    log no longer has.
    """
    log = LogFiles(objects, place.folder + LOG_FOLDER)
    state, at = _replay(log, version)
    protocol, meta_data = state.protocol, state.meta_data
    if protocol is None or meta_data is None:
        raise unreadable(f"the log of the table has no protocol or metadata for version {at}")
    with damage_refused():
        require_readable(protocol)
        return _live_table(place, meta_data, state.files.values(), at)


def read_delta_versions(
    objects: TableObjects, place: TablePlace, amount: int
) -> list[TableVersion]:
    """Returns the last versions that the log has commits of, at most `amount`, the newest first."""
    log = LogFiles(objects, place.folder + LOG_FOLDER)
    found: list[TableVersion] = []
    for version in range(log.head, -1, -1):
        if len(found) == amount or not log.has_commit(version):
            break
        found.append(version_of_commit(version, log.commit(version)))
    return found


def _live_table(
    place: TablePlace, meta_data: Mapping[str, Any], actions: Iterable[FileAction], version: int
) -> LiveTable:
    properties = {str(k): str(v) for k, v in (meta_data.get("configuration") or {}).items()}
    mode = properties.get(MAPPING_MODE, "none").lower()
    columns = read_columns(str(meta_data.get("schemaString")), mode)
    by_name = {column.name: column for column in columns}
    names = tuple(map(str, meta_data.get("partitionColumns") or ()))
    for name in names:
        if name not in by_name:
            raise unreadable(f"the table is partitioned by {name!r}, which is no column")
    partition_columns = [by_name[name] for name in names]
    return LiveTable(
        table_format="delta",
        version=version,
        columns=columns,
        partition_columns=names,
        files=[_live_file(place, each, partition_columns) for each in actions],
        by_id=mode == "id",
        values_first=True,
        properties=properties,
        partitioning=names,
    )


def _replay(log: LogFiles, version: int | None) -> tuple[_State, int]:
    checkpoints = log.checkpoints()
    last = max((log.head, *checkpoints))
    if last < 0:
        raise unreadable(f"there is no Delta table: {log.folder} has no commits")
    at = last if version is None else version
    if not 0 <= at <= last:
        raise unreadable(f"the table has no version {at}: the last one is {last}")
    start = max((each for each in checkpoints if each <= at), default=-1)
    state = _State(files={})
    if start >= 0:
        for action in table_actions(log, checkpoints[start]):
            state.protocol = state.protocol or action.get("protocol")
            state.meta_data = state.meta_data or action.get("metaData")
        for added in file_actions(log, checkpoints[start]):
            _add(state, added)
    for number in range(start + 1, at + 1):
        for commit_action in _commit_actions(log, number):
            state.protocol = commit_action.protocol or state.protocol
            state.meta_data = commit_action.meta_data or state.meta_data
            if commit_action.remove is not None:
                state.files.pop(commit_action.remove.identity, None)
            if commit_action.add is not None:
                _add(state, commit_action.add)
    return state, at


def _add(state: _State, added: FileAction) -> None:
    state.files[added.identity] = added
    if len(state.files) > MAX_LIVE_FILES:
        raise unreadable(f"the table has more than {MAX_LIVE_FILES:,} files", "Compact the table.")


def _commit_actions(log: LogFiles, version: int) -> Iterator[TableAction]:
    try:
        for line in log.commit(version).splitlines():
            if line.strip():
                yield _TO_ACTION.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(f"version {version} of the table cannot be read: {error}") from error


def _live_file(place: TablePlace, action: FileAction, partitions: list[Column]) -> LiveFile:
    given = action.partition_values or {}
    texts = {column.name: given.get(column.stored_name) or None for column in partitions}
    return LiveFile(
        path=place.path_of_uri(action.path),
        address=action.path,
        rows=_row_count(action.stats),
        size=action.size if isinstance(action.size, int) else None,
        values={column.name: partition_value(column, texts[column.name]) for column in partitions},
        partition=texts,
        vector=_vector_place(place, action),
        statistics=action.stats or "",
    )


def _row_count(stats: str | None) -> int | None:
    if not stats:
        return None
    try:
        return _TO_STATS.decode(stats).num_records
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None  # statistics are optional


def _vector_place(place: TablePlace, action: FileAction) -> VectorPlace | None:
    vector = action.deletion_vector
    if vector is None:
        return None
    if vector.is_inline:
        inline = decode_z85(vector.path_or_inline_dv)[: vector.size_in_bytes]
        return VectorPlace(inline=inline, rows=vector.cardinality)
    if not vector.address or vector.size_in_bytes < 0 or (vector.offset or 0) < 0:
        raise unreadable(f"the deletion vector of {action.path} has an unknown form")
    return VectorPlace(
        path=place.path(vector.address),
        offset=vector.offset or 0,
        length=vector.size_in_bytes + _FRAME_BYTES,
        rows=vector.cardinality,
    )
