"""Protocol of reads that verify blocks against their MD5.

Object stores verify their data themselves. A folder of this machine does not, so data that a disk
or a person has changed would otherwise be served.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

__all__ = ["CheckedReads"]


class CheckedReads(Protocol):
    """Reads of whole blocks, verified against their size in bytes and their hex MD5 at least once
    per process and file. Safe for use from many threads.
    """

    up_to_bytes: int
    """Larger blocks are not verified, so callers use the reads of the store."""

    found_damage: bool
    """Whether a damaged file was found, so that other reads should call `require` first."""

    def get(self, address: str, size: int, md5: str) -> Iterator[bytes]:
        """Yields the bytes in pieces of at most 1 MiB. Raises Gone (kind data_missing) before the
        first piece if the file is missing or shorter, and Gone (kind data_damaged) before the last
        piece if the MD5 differs, or before the first if that is known already.
        """

    def read(self, address: str, size: int, md5: str) -> bytes:
        """Returns the bytes that `get` yields."""

    def read_if_cached(self, address: str, size: int, md5: str) -> bytes | None:
        """Returns the bytes if that requires no disk access; None if it does, and on any error."""

    def require(self, address: str, size: int, md5: str) -> None:
        """Raises Gone, as `get` does, unless the file exists, has this size, and is not known to be
        damaged. Reads no data.
        """
