"""What an import reads of a store: what lies there already, whoever put it there.

Blocks are what we have stored; sources are everything else that the store may show us. They are
found by listing alone: nobody reads their bytes before a reader wants them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

__all__ = ["Source", "Sources", "base_length"]


class Source(NamedTuple):
    """Something that may be imported. `name` is the bytes of its address behind the last slash of
    what was asked for, `size` in bytes, `mtime` in nanoseconds since 1970, `checksum` the store's
    own ETag.
    """

    name: bytes
    address: str
    size: int
    mtime: int
    checksum: str


class Sources(Protocol):
    """The sources of a store. Safe for use from many threads.

    Methods raise Invalid for an address that is not this store's, Denied (kind source_forbidden)
    for one that the settings do not let imports read, NotFound (kind source_not_found) where there
    is nothing, and Busy and StoreRefused as the store does.
    """

    def check(self, address: str) -> None:
        """Raises unless what is at an address, or below it, may be imported."""

    def owns(self, address: str) -> bool:
        """Returns whether an address is one that may be read, but lies outside of the blocks."""

    def list(self, prefix: str) -> Iterator[Source]:
        """Yields all whose address begins with `prefix`, in order of their names where the store
        has one.
        """

    def find(self, address: str) -> Source:
        """Returns what is at an address; its name is empty."""


def base_length(prefix: str) -> int:
    """Returns how much of an address that begins with `prefix` is no part of its name: all up to
    the last slash, so that what begins as `logs/2024` is named `2024…`.
    """
    return prefix.rfind("/") + 1
