"""Protocol of external objects: those in a store that others have stored, and imports refer to.

An import lists them and does not read their data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

__all__ = ["ExternalObject", "ExternalObjects", "base_length"]


class ExternalObject(NamedTuple):
    """An external object. `name` is the part of its address behind the last slash of the listed
    prefix, `size` in bytes, `mtime` in nanoseconds since 1970, `checksum` the store's own ETag.
    """

    name: bytes
    address: str
    size: int
    mtime: int
    checksum: str


class ExternalObjects(Protocol):
    """The external objects of a store. Safe for use from many threads.

    Methods raise Invalid for an address of another store, Denied (kind source_forbidden) for one
    that the settings do not allow, NotFound (kind source_not_found) for one that does not exist,
    and Busy and StoreRefused as the store does.
    """

    def check(self, address: str) -> None:
        """Raises unless an address, and those below it, may be imported."""

    def owns(self, address: str) -> bool:
        """Returns whether an address is readable but not that of a block."""

    def list(self, prefix: str) -> Iterator[ExternalObject]:
        """Yields the objects whose address starts with `prefix`, in order of their names if the
        store has an order.
        """

    def find(self, address: str) -> ExternalObject:
        """Returns the object at an address, with an empty name."""


def base_length(prefix: str) -> int:
    """Returns the length of the part of an address before the name, given the listed prefix: up to
    its last slash, so that objects below `logs/2024` are named `2024…`.
    """
    return prefix.rfind("/") + 1
