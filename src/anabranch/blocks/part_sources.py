"""What is copied into a part, for stores that do not copy parts themselves: bytes come by here."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.blocks.object_addresses import Location
from anabranch.blocks.object_errors import gone, too_short
from anabranch.blocks.objects import Objects

__all__ = ["read_source"]


def read_source(
    objects: Objects, source: Location, start: int, length: int | None
) -> Iterator[bytes]:
    """Returns the bytes of a block from `start`, to the end or `length` of them. Raises Gone where
    there is nothing, or less.
    """
    found = objects.head(source)
    if found is None:
        raise gone(source.address)
    end = found.size if length is None else start + length
    if not 0 <= start <= end <= found.size:
        raise too_short(source.address, found.size)
    return objects.open(source, start, end)
