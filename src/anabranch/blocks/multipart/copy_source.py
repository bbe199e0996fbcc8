"""Source of a part that is copied from another block, for stores that cannot copy parts."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.client import ObjectClient
from anabranch.blocks.cloud.errors import gone_error, range_missing

__all__ = ["read_copy_source"]


def read_copy_source(
    objects: ObjectClient, source: Location, start: int, length: int | None
) -> Iterator[bytes]:
    """Returns an iterator of `length` bytes of a block from `start`, or of all from there. Raises
    Gone if the block does not exist or is shorter.
    """
    info = objects.head(source)
    if info is None:
        raise gone_error(source.address)
    end = info.size if length is None else start + length
    if not 0 <= start <= end <= info.size:
        raise range_missing(source.address, info.size)
    return objects.open(source, start, end)
