"""Who looks at the tables and objects of an installation: threads of this process, or others.

A verification decides what has to be looked at, and what it means; it does not matter to it where
that is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.stores.entries import AreaSource
from anabranch.pipelines.verification.stores.marked_entries import ObjectsSeen
from anabranch.pipelines.verification.stores.table_scans import RangeLook, TreeLook, TreeScan

__all__ = ["Chosen", "Compared", "EntrySources", "RangesScanned", "StoreLooks"]


class EntrySources(NamedTuple):
    """What has entries: staging areas, and ranges, some of which are only read. The store is listed
    below `roots`, prefixes of addresses of which none begins with another, sorted. This process may
    write files below `folder`.
    """

    areas: Sequence[AreaSource]
    ranges: Sequence[RangeLook]
    roots: Sequence[str]
    folder: Path


class RangesScanned(NamedTuple):
    """How many ranges were read, how many entries whose objects must exist these or staging areas
    have, and what is wrong with ranges, each with its repository.
    """

    ranges: int
    entries: int
    findings: Sequence[tuple[Repository, Finding]] = ()


class Chosen(NamedTuple):
    """Which objects are looked at besides those that seem to be missing: the sizes of random
    samples of those that are listed, and of those outside of the roots, all for None; `seed`
    chooses them.
    """

    sample: int | None
    elsewhere: int | None
    seed: int


class Compared(NamedTuple):
    """How many distinct objects entries need, and how many of them are looked at again."""

    objects: int
    marked: int


class StoreLooks(Protocol):
    """Looks at tables and objects, in the order of the methods; results of earlier ones stay in it.
    All raise the errors of a store that cannot be read.
    """

    def trees(self, looks: Sequence[TreeLook]) -> Iterator[TreeScan]:
        """Yields what each metarange has, in their order."""

    def entries(self, sources: EntrySources) -> Iterator[RangesScanned]:
        """Reads ranges, and notes what the entries of all sources need."""

    def compare(self, chosen: Chosen, progress: Progress) -> Compared:
        """Lists the store, compares, and marks an entry of each object to look at."""

    def objects(self) -> Iterator[ObjectsSeen]:
        """Looks at the objects of marked entries, and yields what was seen, in any order. The bytes
        of those that are marked READ are compared, or of all.
        """

    def close(self) -> None:
        """Removes what was noted."""
