"""Marking: how an engine finds what is dead; the one of this process, and what any other is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from anabranch.pipelines.garbage.listing import Listing, write_listing
from anabranch.pipelines.garbage.living import Living
from anabranch.pipelines.garbage.unmarked import SHARE, unmarked
from anabranch.pipelines.garbage.watching import Watching

__all__ = ["Listed", "LocalMarking", "Marking"]


class Listed(NamedTuple):
    """What a store holds: how many objects, their bytes, and how many of them are too young."""

    objects: int
    size: int
    young: int


class Marking(Protocol):
    """An engine. It is asked to list first: what is stored later is then in no listing."""

    engine: str

    def list(self, folder: Path, before: int, watching: Watching) -> Listed:
        """Lists the store; only what was stored before a time, in seconds since 1970, is looked at
        further. `folder` is for large files.
        """

    def dead(self, living: Living, watching: Watching) -> Iterator[pa.RecordBatch]:
        """Looks at what lives, and yields the listed objects that do not: address, size, mtime and
        the address' hash.
        """


class LocalMarking:
    """The engine of this process: sorted hashes, a share of them at a time."""

    engine = "local"

    def __init__(self, batches: Iterable[pa.RecordBatch], share: int = SHARE) -> None:
        self._batches = batches
        self._share = share
        self._listing: Listing | None = None

    def list(self, folder: Path, before: int, watching: Watching) -> Listed:
        """Lists the store into a file."""
        listing = write_listing(folder / "listing.arrow", self._batches, before, watching)
        self._listing = listing
        return Listed(listing.objects, listing.size, listing.young)

    def dead(self, living: Living, watching: Watching) -> Iterator[pa.RecordBatch]:
        """Looks at what lives, and yields the listed objects that do not."""
        assert self._listing is not None  # noqa: S101  it lists first
        living.look()
        return unmarked(self._listing, living.hashes, watching, self._share)
