"""The objects of a repository at one reference, as readers of table metadata see them.

A reader has paths only: which reference they belong to, and whether the caller may read them, is
decided by what implements the protocol. All that a table's metadata name is opened through it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Protocol

from anabranch.tables.live_rows.refusals import unreadable

__all__ = [
    "MAX_METADATA_BYTES",
    "StoredObjects",
    "TableObjects",
    "local_location",
    "open_table_file",
    "read_metadata",
]

MAX_METADATA_BYTES = 256 << 20
"""The largest file of metadata that is read whole, also after decompression."""


class StoredObjects(Protocol):
    """The objects at one reference, by their paths, as far as metadata need them."""

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""

    def open(self, path: str) -> BinaryIO:
        """Returns a seekable stream of an object's bytes. Raises FileNotFoundError without one."""


class TableObjects(StoredObjects, Protocol):
    """The objects at one reference, by their paths."""

    def location(self, path: str) -> str:
        """Returns the name by which DuckDB opens an object, and nothing else: DuckDB takes names
        with wildcards for patterns. Raises FileNotFoundError without one.
        """


def local_location(path: str) -> str:
    """Returns the name by which DuckDB opens a file of this machine, and nothing else."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def open_table_file(objects: TableObjects, path: str) -> BinaryIO:
    """Returns a stream of a file that a table has. Raises Invalid if it does not exist."""
    try:
        return objects.open(path)
    except FileNotFoundError as error:
        raise unreadable(f"the table has the file {path}, which does not exist") from error


def read_metadata(objects: StoredObjects, path: str) -> bytes:
    """Returns the bytes of a file of metadata. Raises FileNotFoundError without one, Invalid for
    one that is too large.
    """
    with objects.open(path) as stream:
        content = stream.read(MAX_METADATA_BYTES + 1)
    if len(content) > MAX_METADATA_BYTES:
        raise unreadable(f"{path} is larger than {MAX_METADATA_BYTES >> 20} MiB")
    return content
