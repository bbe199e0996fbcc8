"""Engines: what lists the store, finds what is dead in it, and removes it; the one of this process,
and what any other is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.garbage.addresses.anti_join import SHARE, compare, dead_objects
from anabranch.pipelines.garbage.addresses.listing import Listing, list_objects, write_listing
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.marking.missing import SHOWN_REFERENCES, Missing
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.pipelines.garbage.sweeping.removal import Remover
from anabranch.pipelines.garbage.sweeping.sweep import Removed, Sweep
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["Engine", "Listed", "LocalEngine", "Place", "Sweeping"]


class Listed(NamedTuple):
    """What a store holds: how many objects, their bytes, and how many of them are too young."""

    objects: int
    size: int
    young: int


class Place(NamedTuple):
    """Where the run `run_id` takes place: a namespace of a store, the files of the run there, and a
    folder of this machine, where the run may keep large files.
    """

    blocks: BlockStore
    namespace: Namespace
    files: RunFiles
    folder: Path
    run_id: str

    @property
    def stem(self) -> str:
        """What the addresses of the run's files begin with."""
        return self.files.stem


class Sweeping(Protocol):
    """A sweep that is to begin."""

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the objects of batches of candidates that are still dead, and yields what was
        done.
        """


class Engine(Protocol):
    """An engine. It is asked to list first: what is stored later is then in no listing. One that
    `quarantines` removes by any remover, and knows the hashes of all that lives.
    """

    name: str
    quarantines: bool

    def list(self, place: Place, before: int, progress: Progress) -> Listed:
        """Lists the store; only what was stored before a time, in seconds since 1970, is looked at
        further.
        """

    def look(self, living: Reachability) -> None:
        """Looks at what lives. Raises what a look raises."""

    def dead(self, living: Reachability, progress: Progress) -> Iterator[pa.RecordBatch]:
        """Yields the old listed objects that do not live, after a look: address, size, mtime and
        the address' hash.
        """

    def missing(self, living: Reachability, before: int, progress: Progress) -> Missing:
        """Returns the missing objects that were named before a time, in seconds since 1970, after
        a look, and writes the references to them to the files of the run. Raises what a look
        raises.
        """

    def release(self) -> None:
        """Removes what was kept for the run, except what a sweep needs."""

    def sweeping(
        self,
        place: Place,
        living: Reachability,
        progress: Progress,
        rate: float | None,
        remover: Remover | None = None,
    ) -> Sweeping:
        """Returns a sweep of at most `rate` objects a second, for good without a remover. Raises
        NotSupported for a remover if the engine does not quarantine.
        """


class LocalEngine:
    """The engine of this process: sorted hashes, a share of them at a time. `batches` take the
    place of listing the store.
    """

    name = "local"
    quarantines = True

    def __init__(self, batches: Iterable[pa.RecordBatch] | None = None, share: int = SHARE) -> None:
        self._batches = batches
        self._share = share
        self._listing: Listing | None = None
        self._place: Place | None = None
        self._absent: Hashes | None = None

    def list(self, place: Place, before: int, progress: Progress) -> Listed:
        """Lists the store into a file."""
        there = (
            list_objects(place.blocks, place.namespace) if self._batches is None else self._batches
        )
        listing = write_listing(place.folder / "listing.arrow", there, before, progress)
        self._place, self._listing = place, listing
        return Listed(listing.objects, listing.size, listing.young)

    def look(self, living: Reachability) -> None:
        """Looks at what lives."""
        living.mark()

    def dead(self, living: Reachability, progress: Progress) -> Iterator[pa.RecordBatch]:
        """Yields the old listed objects that do not live."""
        assert self._listing is not None  # noqa: S101  it lists first
        comparison = compare(self._listing, living.hashes, progress, self._share)
        self._absent = comparison.absent
        return dead_objects(self._listing, comparison.dead)

    def missing(self, living: Reachability, before: int, progress: Progress) -> Missing:
        """Returns the missing objects."""
        assert self._listing is not None  # noqa: S101  it lists first
        assert self._place is not None  # noqa: S101
        if self._absent is None:
            comparison = compare(self._listing, living.hashes, progress, self._share)
            self._absent = comparison.absent
        progress.begin("looking for missing objects", 0)
        blocks, stem = self._place.blocks, self._place.namespace.stem
        tracer, found = living.missing(
            self._absent, before, lambda address: blocks.stat(stem + address) is not None
        )
        return Missing(
            checked=tracer.checked,
            objects=len({reference.address for reference in found}),
            references=len(found),
            complete=tracer.complete,
            location=self._place.files.write_missing(found) if found else "",
            shown=found[:SHOWN_REFERENCES],
        )

    def release(self) -> None:
        """Does nothing: the listing is in the folder of the run."""

    def sweeping(
        self,
        place: Place,
        living: Reachability,
        progress: Progress,
        rate: float | None,
        remover: Remover | None = None,
    ) -> Sweep:
        """Returns a sweep of this process."""
        return Sweep(
            place.blocks,
            place.namespace,
            living,
            progress,
            sweep=place.run_id,
            rate=rate,
            remover=remover,
        )
