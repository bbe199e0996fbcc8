"""Avro files with the schemas and the metadata that Iceberg adds to them.

Fields are known by the ids in the schema; their names differ between versions of the writers.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from anabranch.errors import Invalid, NotSupported
from anabranch.errors.dependency_errors import reason_of
from anabranch.tables.iceberg.avro_blocks import plain_file
from anabranch.tables.iceberg.avro_times import TimeUnit, time_units
from anabranch.tables.live_rows.refusals import unreadable

__all__ = ["AvroFile", "read_avro", "write_avro"]

_SYNC_BYTES = 16


class AvroFile(NamedTuple):
    """The content of a file. `metadata` leaves out what Avro itself adds. Dates and times in the
    records are numbers.
    """

    schema: dict[str, Any]
    metadata: Mapping[str, str]
    records: Sequence[dict[str, Any]]

    def names(self, *path: str) -> dict[int, str]:
        """Returns the names of the fields by their ids, of the record or one that it contains."""
        return {field["field-id"]: field["name"] for field in self._record(*path)["fields"]}

    def times(self, *path: str) -> dict[str, TimeUnit]:
        """Returns the units of the fields that are dates and times, by their names, of the record
        or one that it contains.
        """
        return time_units(self._record(*path))

    def _record(self, *path: str) -> dict[str, Any]:
        schema = self.schema
        for name in path:
            schema = next(field["type"] for field in schema["fields"] if field["name"] == name)
        return schema

    def item_names(self, name: str) -> dict[int, str]:
        """Returns the names of the fields by their ids, of the records in a list of the record."""
        kind = next(field["type"] for field in self.schema["fields"] if field["name"] == name)
        lists = [each for each in (kind if isinstance(kind, list) else [kind]) if each != "null"]
        return {field["field-id"]: field["name"] for field in lists[0]["items"]["fields"]}


def read_avro(name: str, content: bytes) -> AvroFile:
    """Returns the content of a file. Raises Invalid, with `name`, for a damaged one, and for one
    whose content is out of proportion; NotSupported (kind library_missing) without the libraries.
    """
    try:
        import fastavro  # noqa: PLC0415  optional
        import pyarrow  # noqa: F401, ICN001, PLC0415  optional, too: blocks may need it
    except ImportError as error:
        raise NotSupported(
            f"{name} cannot be read without {error.name}",
            kind="library_missing",
            hint="Install it on the server: pip install 'anabranch[gc]'",
        ) from error
    try:
        plain, schema = plain_file(content)
        reader = fastavro.reader(io.BytesIO(plain))
        metadata = dict(reader.metadata)
        given = {key: value for key, value in metadata.items() if not key.startswith("avro.")}
        return AvroFile(schema, given, list(reader))
    except Invalid as error:
        raise unreadable(f"{name} cannot be read: {error.message}") from error
    except Exception as error:
        # fastavro raises errors of any class for bytes that it does not expect
        reason = f"{type(error).__name__}: {reason_of(error)}"
        raise unreadable(f"{name} cannot be read: {reason}") from error


def write_avro(
    schema: Mapping[str, Any], metadata: Mapping[str, str], records: Iterable[Mapping[str, Any]]
) -> bytes:
    """Returns a file, which is the same for the same content."""
    import fastavro  # noqa: PLC0415  optional

    rows = list(records)
    # the marker between blocks is random otherwise
    marker = hashlib.sha256(repr((schema, metadata, rows)).encode()).digest()[:_SYNC_BYTES]
    stream = io.BytesIO()
    fastavro.writer(
        *(stream, json.loads(json.dumps(schema)), rows),
        codec="deflate",
        metadata=dict(metadata),
        sync_marker=marker,
    )
    return stream.getvalue()
