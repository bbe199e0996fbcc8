"""The metadata files of tables: read through a cache, and written once under new names."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from anabranch.catalog.tables.iceberg.areas import Area, TableAreas
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


T = TypeVar("T")


class MetadataFile(NamedTuple):
    """A metadata file: its S3 address and its content."""

    location: str
    content: bytes


class _Cache(Generic[T]):
    """Values by address, of which the least recently used ones are forgotten."""

    def __init__(self, most_bytes: int, largest: int) -> None:
        self._most_bytes, self._largest = most_bytes, largest
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[str, str]) -> T | None:
        """Returns a value, None if it is not known."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: tuple[str, str], value: T, size: int) -> None:
        """Keeps a value of so many bytes, unless it is too large."""
        with self._lock:
            if size > self._largest or key in self._kept:
                return
            self._kept[key] = value, size
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]


class MetadataFiles:
    """Reads and writes metadata files in areas. They are kept as they are, and the last ones as
    they were decoded, which takes ten times as much memory and most of the time of a commit.
    """

    def __init__(self, areas: TableAreas) -> None:
        self._areas = areas
        self._contents: _Cache[bytes] = _Cache(_CACHED_BYTES, _LARGEST_CACHED)
        self._decoded: _Cache[Mapping[str, Any]] = _Cache(_DECODED_BYTES, _DECODED_BYTES // 2)

    def read(self, area: Area, record: TableRecord) -> MetadataFile:
        """Returns the metadata that a record names. Raises NotFound if the file is lost."""
        key = area.repository.partition, record.metadata
        content = self._contents.get(key)
        if content is None:
            path = record.metadata.removeprefix(f"{area.location}/")
            content = self._areas.read(area, path, MAX_BYTES)
            self._contents.put(key, content, len(content))
        return MetadataFile(record.metadata, content)

    def decoded(self, area: Area, record: TableRecord) -> Mapping[str, Any]:
        """Returns the metadata that a record names, which nobody may change. Raises NotFound if the
        file is lost, Invalid if it is damaged.
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
