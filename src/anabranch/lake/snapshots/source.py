"""What a snapshot is read from, in a folder or on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, ParamSpec, Protocol, TypeVar

from anabranch import _kernel as kernel
from anabranch.lake.object_file import ObjectFile
from anabranch.model.objects.entry import Entry

__all__ = ["NamedEntry", "SnapshotSource"]

P = ParamSpec("P")
T = TypeVar("T")


class NamedEntry(NamedTuple):
    """An object at its path."""

    path: str
    entry: Entry


class SnapshotSource(Protocol):
    """The tables of a commit, and the bytes of its objects. For any number of threads."""

    @property
    def tree(self) -> kernel.Tree:
        """The objects that may be read."""

    def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls a function that reads tables, and returns its result. A damaged file of a cache is
        fetched again. Raises Gone for lost tables, Corrupt for damaged ones.
        """

    def address(self, entry: Entry) -> str:
        """Returns the full address of an object's bytes."""

    def open(self, path: str, entry: Entry) -> ObjectFile:
        """Returns an object, open for reading."""

    def read_many(self, objects: Sequence[NamedEntry]) -> Iterator[bytes]:
        """Yields the bytes of objects, in order. Raises Gone for lost bytes."""
