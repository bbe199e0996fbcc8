"""Destination of an export: plain files or objects, each at the path of its object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from anabranch.blocks.contract import Stored
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.errors import Invalid

__all__ = ["INVALID_PATH", "Destination", "invalid_path_error"]


INVALID_PATH = "unfit_path"
"""The kind of the error for a path that is invalid at a destination."""


def invalid_path_error(path: str, reason: str) -> Invalid:
    """Returns the error for a path that is invalid at a destination."""
    return Invalid(
        f"{path!r} cannot be exported there: {reason}",
        kind=INVALID_PATH,
        hint="Rename it, export to a destination that accepts it, or skip such paths.",
    )


class Destination(Protocol):
    """A destination of exports. Methods raise Busy if it is full or unreachable."""

    address: str
    has_folders: bool
    """Whether a path can be in the way of another: a file where a folder has to be."""

    def store(self, path: str, source: OpenObject) -> Stored:
        """Stores an object's bytes, replacing an existing object; returns size and checksum.

        The replacement is atomic for readers. Raises Invalid (`INVALID_PATH`) for a path that is
        invalid here, and Gone if the bytes are missing.
        """

    def remove(self, paths: Iterable[str]) -> None:
        """Removes paths; missing ones are ignored."""

    def sync(self) -> None:
        """Makes all writes and removals durable."""

    def paths(self, after: str = "", last: str = "") -> Iterator[str]:
        """Yields all paths at the destination, including those of other programs, that sort after
        `after` and not after `last`, by the bytes of UTF-8. An empty `last` means no end.
        """

    def read_note(self, name: str) -> bytes | None:
        """Returns the contents of a state file or marker of an export, or None."""

    def write_notes(self, notes: Mapping[str, bytes | None]) -> None:
        """Writes state files and markers, durably and in order; None removes a file."""
