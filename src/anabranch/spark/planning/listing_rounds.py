"""Rounds in which tasks list a store, each a slice of the names below a prefix of addresses.

In each round, a task stops after a number of objects, and the rest of its slice is divided again:
most objects may be in one slice, such as those of a day on which much was written. The number
doubles from round to round, so there are few rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid, NotFound
from anabranch.spark.planning.listing_slices import ALL_NAMES, FirstAfter, Slice, cut_names
from anabranch.spark.planning.timed_slices import cut_listing

__all__ = ["ROUND_OBJECTS", "ListingPart", "ListingRounds", "ListingTask"]

ROUND_OBJECTS = 1 << 20
"""After how many objects tasks of the first round stop."""


class ListingPart(NamedTuple):
    """A slice of the names after `root`, a prefix of addresses. If names begin with a time, as
    those of objects do, they are divided by it, others by their characters. What `may_be_gone` has
    no names if the store does not know it.
    """

    root: str
    slice: Slice = ALL_NAMES
    is_timed: bool = False
    may_be_gone: bool = False


class ListingTask(NamedTuple):
    """The slice of a task, with its number, and the number of objects after which it stops."""

    number: int
    part: ListingPart
    objects: int


class ListingRounds:
    """The rounds of a listing of parts of a store, which the driver has open, in about `slices`
    slices at a time. `tasks` are those of the current round; there are none after the last one.
    """

    def __init__(
        self,
        blocks: BlockStore,
        parts: Sequence[ListingPart],
        slices: int,
        objects: int = ROUND_OBJECTS,
    ) -> None:
        self._blocks = blocks
        self._slices = slices
        self._objects = objects
        self.tasks = self._divide(parts)

    def advance(self, listed: Mapping[int, str | None]) -> None:
        """Begins the next round. `listed` has by the number of each task the name up to which it
        has listed its slice, None if it has listed all of it.
        """
        rests = [
            part._replace(slice=Slice(after, part.slice.last))
            for number, part, _ in self.tasks
            if (after := listed[number]) is not None
        ]
        self._objects *= 2
        self.tasks = self._divide(rests)

    def _divide(self, parts: Sequence[ListingPart]) -> list[ListingTask]:
        """Divides slices into about as many as there shall be in total."""
        each = max(1, self._slices // max(1, len(parts)))
        pieces = [
            part._replace(slice=piece)
            for part in parts
            for piece in (cut_listing if part.is_timed else cut_names)(
                _first_after(self._blocks, part), each, part.slice
            )
        ]
        return [ListingTask(number, part, self._objects) for number, part in enumerate(pieces)]


def _first_after(blocks: BlockStore, part: ListingPart) -> FirstAfter:
    """Returns what finds names of a part."""

    def first_after(name: str) -> str | None:
        after = f"{part.root}{name}" if name else ""
        try:
            block = next(iter(blocks.list(part.root, after)), None)
        except (NotFound, Invalid):
            if not part.may_be_gone:
                raise
            return None
        return None if block is None else block.address.removeprefix(part.root)

    return first_after
