"""What a store does that checks the bytes of its own files.

Object stores on other machines check theirs; a folder of this machine does not, so bytes that a
disk or a person has changed would be served as if they were the object's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

__all__ = ["CheckedReads"]


class CheckedReads(Protocol):
    """Reads of whole blocks, compared with their size in bytes and their hex MD5 at least once for
    each process and file. Safe for use from many threads.
    """

    up_to_bytes: int
    """Larger blocks are not compared, so callers read them otherwise."""

    found_damage: bool
    """Whether any file was found damaged, so that other reads should `require` theirs."""

    def get(self, address: str, size: int, md5: str) -> Iterator[bytes]:
        """Yields the bytes in pieces of at most 1 MiB. Raises Gone (kind data_missing) at once
        where there is no file or a shorter one, and Gone (kind data_damaged) before the last piece
        of a file with other bytes: at once, if that is known already.
        """

    def read(self, address: str, size: int, md5: str) -> bytes:
        """Returns the same as one string."""

    def read_at_once(self, address: str, size: int, md5: str) -> bytes | None:
        """Returns the same if it takes no waiting; None if it does, or goes wrong."""

    def require(self, address: str, size: int, md5: str) -> None:
        """Raises Gone, as `get` does, unless the file is there, has this size, and was not found
        damaged. Reads none of its bytes.
        """
