"""Engines: what lists the store, finds what is dead in it, and removes it; the one of this process,
and what any other is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.garbage.address_hashes import Hashes
from anabranch.pipelines.garbage.listing import Listing, listed, write_listing
from anabranch.pipelines.garbage.living import Living
from anabranch.pipelines.garbage.namespace import Namespace
from anabranch.pipelines.garbage.sweep import Removed, Sweep
from anabranch.pipelines.garbage.unmarked import SHARE, absent, unmarked
from anabranch.pipelines.garbage.watching import Watching

__all__ = ["Engine", "Listed", "LocalEngine", "Place", "Sweeping"]


class Listed(NamedTuple):
    """What a store holds: how many objects, their bytes, and how many of them are too young."""

    objects: int
    size: int
    young: int


class Place(NamedTuple):
    """Where the run `run_id` goes on: a namespace of a store; the beginning of addresses in the
    store, and a folder of this machine, where the run may keep large files.
    """

    blocks: BlockStore
    namespace: Namespace
    stem: str
    folder: Path
    run_id: str


class Sweeping(Protocol):
    """A sweep that is to begin."""

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the objects of batches of candidates that are still dead, and yields what was
        done.
        """


class Engine(Protocol):
    """An engine. It is asked to list first: what is stored later is then in no listing."""

    name: str

    def list(self, place: Place, before: int, watching: Watching) -> Listed:
        """Lists the store; only what was stored before a time, in seconds since 1970, is looked at
        further.
        """

    def dead(self, living: Living, watching: Watching) -> Iterator[pa.RecordBatch]:
        """Looks at what lives, and yields the listed objects that do not: address, size, mtime and
        the address' hash.
        """

    def absent(self, living: Living, watching: Watching) -> Hashes | None:
        """Returns the sorted hashes that live and that no listed object has, after a look; None
        from an engine that does not tell.
        """

    def sweeping(
        self, place: Place, living: Living, watching: Watching, rate: float | None
    ) -> Sweeping:
        """Returns a sweep of at most `rate` objects a second."""


class LocalEngine:
    """The engine of this process: sorted hashes, a share of them at a time. `batches` take the
    place of listing the store.
    """

    name = "local"

    def __init__(self, batches: Iterable[pa.RecordBatch] | None = None, share: int = SHARE) -> None:
        self._batches = batches
        self._share = share
        self._listing: Listing | None = None

    def list(self, place: Place, before: int, watching: Watching) -> Listed:
        """Lists the store into a file."""
        there = listed(place.blocks, place.namespace) if self._batches is None else self._batches
        listing = write_listing(place.folder / "listing.arrow", there, before, watching)
        self._listing = listing
        return Listed(listing.objects, listing.size, listing.young)

    def dead(self, living: Living, watching: Watching) -> Iterator[pa.RecordBatch]:
        """Looks at what lives, and yields the listed objects that do not."""
        assert self._listing is not None  # noqa: S101  it lists first
        living.look()
        return unmarked(self._listing, living.hashes, watching, self._share)

    def absent(self, living: Living, watching: Watching) -> Hashes:
        """Returns the sorted hashes that live and that no listed object has."""
        assert self._listing is not None  # noqa: S101  it lists first
        return absent(self._listing, living.hashes, watching, self._share)

    def sweeping(
        self, place: Place, living: Living, watching: Watching, rate: float | None
    ) -> Sweep:
        """Returns a sweep of this process."""
        return Sweep(place.blocks, place.namespace, living, watching, sweep=place.run_id, rate=rate)
