"""Checkpoints of a Delta log: of one file, of several, and of version 2 with sidecars.

Source: the Delta transaction log protocol, sections "Checkpoints" and "Sidecar Files".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import msgspec

from anabranch.converter import Converter
from anabranch.errors import AnabranchError
from anabranch.errors.dependency_errors import reason_of
from anabranch.tables.delta.actions import FileAction, TableAction
from anabranch.tables.delta.log_files import LogFiles
from anabranch.tables.delta.parsed_statistics import (
    PARSED_STATISTICS,
    has_only_parsed_statistics,
    with_statistics_as_text,
)
from anabranch.tables.live_rows.refusals import unreadable

__all__ = ["file_actions", "table_actions", "whole_actions"]

_BATCH_ROWS = 4096
_SIDECARS = "_sidecars/"
_FILE_COLUMNS = (
    *("add.path", "add.partitionValues", "add.stats", "add.size"),
    *("add.deletionVector.storageType", "add.deletionVector.pathOrInlineDv"),
    *("add.deletionVector.offset", "add.deletionVector.sizeInBytes"),
    "add.deletionVector.cardinality",
)
_TO_FILE_ACTION = Converter(FileAction)
_TO_ACTION = msgspec.json.Decoder(TableAction)


def table_actions(log: LogFiles, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yields the actions `protocol` and `metaData` of a checkpoint."""
    for name in names:
        if name.endswith(".json"):
            for action in _json_actions(log, name):
                if action.protocol is not None:
                    yield {"protocol": action.protocol}
                if action.meta_data is not None:
                    yield {"metaData": action.meta_data}
            continue
        for column in ("protocol", "metaData"):
            yield from _rows(log, name, (column,))


def file_actions(log: LogFiles, names: Sequence[str]) -> Iterator[FileAction]:
    """Yields the live files of a checkpoint, also those in its sidecars."""
    sidecars = []
    for name in names:
        if name.endswith(".json"):
            for action in _json_actions(log, name):
                if action.add is not None:
                    yield action.add
                if action.sidecar is not None:
                    sidecars.append(action.sidecar)
            continue
        yield from _additions(log, name)
        sidecars += [row["sidecar"] for row in _rows(log, name, ("sidecar.path",))]
    for sidecar in sidecars:
        yield from _additions(log, _sidecar_name(sidecar))


def whole_actions(log: LogFiles, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields the actions of a checkpoint, and of its sidecars, with all that they say: one member
    each, without nulls, and without columns that repeat others parsed.
    """
    for name in names:
        for action in _whole_actions(log, name):
            if "sidecar" in action:
                yield from _whole_actions(log, _sidecar_name(action["sidecar"]))
            elif "checkpointMetadata" not in action:
                yield action


def _whole_actions(log: LogFiles, name: str) -> Iterator[dict[str, Any]]:
    try:
        if name.endswith(".json"):
            lines = (log.read(name) or b"").splitlines()
            yield from (msgspec.json.decode(line) for line in lines if line.strip())
            return
        with log.open(name) as stream:
            for row in _parquet_rows(stream, ()):
                yield {kind: _present(action) for kind, action in row.items() if action is not None}
    except AnabranchError:
        raise
    except Exception as error:
        raise unreadable(f"the checkpoint {name} cannot be read: {reason_of(error)}") from error


def _present(action: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in action.items()
        if value is not None and not name.endswith("_parsed")
    }


def _sidecar_name(sidecar: Mapping[str, Any]) -> str:
    path = str(sidecar.get("path", ""))
    if not path or "/" in path:
        raise unreadable(f"a checkpoint refers to {path!r}, which is no sidecar of its log")
    return _SIDECARS + path


def _additions(log: LogFiles, name: str) -> Iterator[FileAction]:
    for row in _rows(log, name, _FILE_COLUMNS):
        action = row["add"]
        vector = action.get("deletionVector")
        if vector is not None and vector.get("storageType") is None:
            action["deletionVector"] = None  # the parts of a struct that is null are null
        yield _TO_FILE_ACTION.convert(action)


def _rows(log: LogFiles, name: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields the actions of a Parquet file that have one of some columns. Raises Invalid, with the
    name, for a damaged file.
    """
    try:
        with log.open(name) as stream:
            yield from _parquet_rows(stream, columns)
    except AnabranchError:
        raise
    except Exception as error:
        # Arrow raises errors of many classes for bytes and types that it does not expect
        raise unreadable(f"the checkpoint {name} cannot be read: {reason_of(error)}") from error


def _parquet_rows(stream: BinaryIO, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields the rows that have the action of these columns; without columns, all rows whole."""
    import pyarrow.compute as pc  # noqa: PLC0415  optional, slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    with pq.ParquetFile(stream) as file:
        if not columns:
            for batch in file.iter_batches(_BATCH_ROWS):
                yield from batch.to_pylist(maps_as_pydicts="strict")
            return
        action = columns[0].partition(".")[0]
        if action not in file.schema_arrow.names:
            return
        is_parsed = action == "add" and has_only_parsed_statistics(file.schema_arrow)
        read = [*columns, f"add.{PARSED_STATISTICS}"] if is_parsed else list(columns)
        for batch in file.iter_batches(_BATCH_ROWS, columns=read):
            rows = batch.filter(pc.field(action).is_valid())
            if is_parsed:
                rows = with_statistics_as_text(rows)
            yield from rows.to_pylist(maps_as_pydicts="strict")


def _json_actions(log: LogFiles, name: str) -> Iterator[TableAction]:
    content = log.read(name) or b""
    try:
        for line in content.splitlines():
            if line.strip():
                yield _TO_ACTION.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(f"the checkpoint {name} cannot be read: {error}") from error
