"""Actions of a Delta log that concern data files.

Source: the Delta transaction log protocol, sections "Actions" and "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import msgspec

from anabranch.tables.live_rows.addresses import is_absolute
from anabranch.tables.live_rows.deletion_vectors import decode_z85

__all__ = ["DeletionVector", "FileAction", "TableAction"]

_UUID_CHARS = 20
_IN_FILE, _AT_ADDRESS, _INLINE = "u", "p", "i"


class DeletionVector(msgspec.Struct, frozen=True, rename="camel"):
    """Where the deleted rows of a file are listed."""

    storage_type: str
    path_or_inline_dv: str = msgspec.field(name="pathOrInlineDv")
    offset: int | None = None
    size_in_bytes: int = 0
    cardinality: int = 0

    @property
    def identity(self) -> str:
        """What tells the vector from others."""
        return f"{self.storage_type}{self.path_or_inline_dv}@{self.offset or 0}"

    @property
    def is_inline(self) -> bool:
        """Whether the metadata have the vector itself, in Z85."""
        return self.storage_type == _INLINE

    @property
    def address(self) -> str:
        """The address of the vector's file: a path in the table, or absolute; "" for others."""
        if self.storage_type == _IN_FILE:
            return _vector_file(self.path_or_inline_dv)
        return self.path_or_inline_dv if self.storage_type == _AT_ADDRESS else ""


class FileAction(msgspec.Struct, frozen=True, rename="camel"):
    """An added or removed data file. `path` is a URI, relative to the table or absolute; `size`
    is a number of bytes, if the writer gives one.
    """

    path: str
    partition_values: dict[str, str | None] | None = None
    data_change: bool = True
    deletion_vector: DeletionVector | None = None
    stats: str | None = None
    size: Any = None

    @property
    def file(self) -> str:
        """The path without escapes, which writers apply differently."""
        return unquote(self.path)

    @property
    def identity(self) -> tuple[str, str]:
        """What tells the action's file and its deleted rows from others."""
        return self.file, self.deletion_vector.identity if self.deletion_vector else ""

    def stored_files(self) -> Iterator[str]:
        """Yields the paths in the table of the files that this one consists of. Files elsewhere,
        at absolute addresses, are left out.
        """
        if not is_absolute(self.path):
            yield self.file
        vector = self.deletion_vector
        if vector is not None and vector.storage_type == _IN_FILE:
            yield vector.address


class TableAction(msgspec.Struct, frozen=True, rename="camel"):
    """An action, as far as it says which rows a table has. At most one member is set."""

    add: FileAction | None = None
    remove: FileAction | None = None
    meta_data: dict[str, Any] | None = None
    protocol: dict[str, Any] | None = None
    sidecar: dict[str, Any] | None = None


def _vector_file(name: str) -> str:
    """Returns the path in the table of a file of deletion vectors. Its name is a prefix and a UUID
    in Z85.
    """
    prefix, code = name[:-_UUID_CHARS], name[-_UUID_CHARS:]
    digits = decode_z85(code).hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return f"{prefix}/deletion_vector_{'-'.join(parts)}.bin".lstrip("/")
