"""The metadata files of tables: read through a cache, and written once under new names."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import NamedTuple

from anabranch.catalog.tables.iceberg.areas import Area, TableAreas
from anabranch.errors import Invalid
from anabranch.model.tables.table_record import TableRecord
from anabranch.tables.iceberg.commits.encoded_metadata import MAX_BYTES

__all__ = ["MetadataFile", "MetadataFiles"]

_CACHED_BYTES = 64 << 20
_LARGEST_CACHED = 8 << 20
_NUMBER = re.compile(r"(\d{1,9})-[^/]*|v(\d{1,9})\.[^/]*")


class MetadataFile(NamedTuple):
    """A metadata file: its S3 address and its content."""

    location: str
    content: bytes


class MetadataFiles:
    """Reads and writes metadata files in areas."""

    def __init__(self, areas: TableAreas) -> None:
        self._areas = areas
        self._lock = threading.Lock()
        self._cached: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._bytes = 0

    def read(self, area: Area, record: TableRecord) -> MetadataFile:
        """Returns the metadata that a record names. Raises NotFound if the file is lost."""
        path = record.metadata.removeprefix(f"{area.location}/")
        key = area.repository.partition, record.metadata
        content = self._cached.get(key)
        if content is None:
            content = self._areas.read(area, path, MAX_BYTES)
            self._keep(key, content)
        return MetadataFile(record.metadata, content)

    def write(self, area: Area, content: bytes, before: str, uuid: str) -> MetadataFile:
        """Stores metadata in a new file, numbered after the one at `before`, an address or "";
        `uuid` makes its name unique.
        """
        if len(content) > MAX_BYTES:
            raise Invalid(f"the metadata have more than {MAX_BYTES:,} bytes", kind="file_too_large")
        path = f"metadata/{_number_after(before):05d}-{uuid}.metadata.json"
        self._areas.put(area, path, [content])
        location = f"{area.location}/{path}"
        self._keep((area.repository.partition, location), content)
        return MetadataFile(location, content)

    def discard(self, area: Area, file: MetadataFile) -> None:
        """Removes a file that no record has ever named."""
        self._areas.remove_unused(area, [file.location.removeprefix(f"{area.location}/")])

    def _keep(self, key: tuple[str, str], content: bytes) -> None:
        if len(content) > _LARGEST_CACHED:
            return
        with self._lock:
            if key in self._cached:
                return
            self._cached[key] = content
            self._bytes += len(content)
            while self._bytes > _CACHED_BYTES:
                self._bytes -= len(self._cached.popitem(last=False)[1])


def _number_after(location: str) -> int:
    """Returns the number of the file after one at an address."""
    match = _NUMBER.fullmatch(location.rpartition("/")[2])
    return int(match[1] or match[2]) + 1 if match else 0
