"""Where an export goes: a place of plain files or objects, each under its own path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from anabranch.blocks.contract import Stored
from anabranch.catalog.objects import OpenObject
from anabranch.errors import Invalid

__all__ = ["UNFIT", "Destination", "unfit"]


UNFIT = "unfit_path"
"""The kind of the error about a path that a place cannot have."""


def unfit(path: str, reason: str) -> Invalid:
    """Returns the error about a path that a place cannot have."""
    return Invalid(
        f"{path!r} cannot be exported there: {reason}",
        kind=UNFIT,
        hint="Rename it, export to a place that can have it, or leave such paths out.",
    )


class Destination(Protocol):
    """A place. Methods raise Busy where it is full or cannot be reached now."""

    address: str

    def store(self, path: str, found: OpenObject) -> Stored:
        """Stores an object's bytes in place of what is there, and returns what they came to.

        Who looks meanwhile sees the one or the other. Raises Invalid (`UNFIT`) for a path that
        cannot be here, and Gone where the bytes are lost.
        """

    def remove(self, paths: Iterable[str]) -> None:
        """Removes what is at paths; those that are not there are passed over."""

    def settle(self) -> None:
        """Returns when all that was stored and removed is durable."""

    def paths(self) -> Iterator[str]:
        """Yields the paths of all that is there, whoever put it there."""

    def read_note(self, name: str) -> bytes | None:
        """Returns what an export wrote down at a name, or None."""

    def write_notes(self, notes: Mapping[str, bytes | None]) -> None:
        """Writes down, durably, in this order, what None stands for is removed."""
