"""The metadata files of tables: read through a cache, and written once under new names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from anabranch.catalog.tables.iceberg.areas import Area, TableAreas
from anabranch.catalog.tables.iceberg.locations import check_stored
from anabranch.catalog.tables.iceberg.recent_values import RecentValues
from anabranch.model.tables.table_record import TableRecord
from anabranch.tables.iceberg.commits.encoded_metadata import (
    MAX_BYTES,
    decode_metadata,
    encode_metadata,
)

__all__ = ["MetadataFile", "MetadataFiles"]

_CACHED_BYTES = 64 << 20
_LARGEST_CACHED = 8 << 20
_DECODED_BYTES = 8 << 20
_NUMBER = re.compile(r"(\d{1,9})-[^/]*|v(\d{1,9})\.[^/]*")


class MetadataFile(NamedTuple):
    """A metadata file: its S3 address and its content."""

    location: str
    content: bytes


class MetadataFiles:
    """Reads and writes metadata files in areas. They are kept as they are, and the last ones as
    they were decoded, which takes ten times as much memory and most of the time of a commit.
    """

    def __init__(self, areas: TableAreas) -> None:
        self._areas = areas
        self._contents: RecentValues[bytes] = RecentValues(_CACHED_BYTES, _LARGEST_CACHED)
        self._decoded: RecentValues[Mapping[str, Any]] = RecentValues(
            _DECODED_BYTES, _DECODED_BYTES // 2
        )

    def read(self, area: Area, record: TableRecord) -> MetadataFile:
        """Returns the metadata that a record names. Raises NotFound if the file is lost, Corrupt
        unless it is an object of JSON that places new files in the area: everybody who may write
        to the table can store other bytes there, and clients get the bytes as they are.
        """
        key = area.repository.partition, record.metadata
        content = self._contents.get(key)
        if content is None:
            path = record.metadata.removeprefix(f"{area.location}/")
            content = self._areas.read(area, path, MAX_BYTES)
            check_stored(content, area.location)
            self._contents.put(key, content, len(content))
        return MetadataFile(record.metadata, content)

    def decoded(self, area: Area, record: TableRecord) -> Mapping[str, Any]:
        """Returns the metadata that a record names, which must not be changed. Raises NotFound if
        the file is lost, Invalid if it is damaged.
        """
        key = area.repository.partition, record.metadata
        metadata = self._decoded.get(key)
        if metadata is None:
            content = self.read(area, record).content
            metadata = decode_metadata(content)
            self._decoded.put(key, metadata, len(content))
        return metadata

    def write(
        self, area: Area, metadata: Mapping[str, Any], before: str, uuid: str
    ) -> MetadataFile:
        """Stores metadata in a new file, numbered after the one at `before`, an address or "";
        `uuid` makes its name unique. Raises Invalid for metadata that are too large.
        """
        content = encode_metadata(metadata)
        path = f"metadata/{_number_after(before):05d}-{uuid}.metadata.json"
        self._areas.put_new(area, path, content)
        location = f"{area.location}/{path}"
        key = area.repository.partition, location
        self._contents.put(key, content, len(content))
        self._decoded.put(key, metadata, len(content))
        return MetadataFile(location, content)

    def discard(self, area: Area, file: MetadataFile) -> None:
        """Removes a file that no record has ever named."""
        self._areas.remove_unused(area, [file.location.removeprefix(f"{area.location}/")])


def _number_after(location: str) -> int:
    """Returns the number of the file after one at an address."""
    match = _NUMBER.fullmatch(location.rpartition("/")[2])
    return int(match[1] or match[2]) + 1 if match else 0
