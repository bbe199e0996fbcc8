"""Contract of merge strategies.

A strategy is asked about one path that both sides of a merge changed differently. It reads the
versions of the object, and other objects of the three trees if it needs them, and either writes
what the path becomes or returns conflicts. A strategy for tables of many files (Delta Lake,
Iceberg) settles all paths of the table that conflict in its first call; it is not asked about those
again.

A strategy is made by a `StrategyFactory` from the options of a merge rule, and may be asked about
several paths, one after another. It must not depend on the time or on chance: a merge that is
repeated gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, Literal, Protocol

from anabranch.model.commits.conflict import ContentConflict

__all__ = [
    "OUT_OF_MEMORY",
    "PROCESS_ENDED",
    "TIMED_OUT",
    "TOO_LARGE",
    "ContentConflict",
    "MergeOutput",
    "MergeStrategy",
    "ObjectVersion",
    "PathConflict",
    "Side",
    "StrategyFactory",
]

TIMED_OUT = "merge_timed_out"
OUT_OF_MEMORY = "merge_out_of_memory"
TOO_LARGE = "merge_too_large"
PROCESS_ENDED = "merge_process_ended"
"""Kinds of errors for tables that take too much time, memory or temporary files, or crash the
process that reads them.
"""

Side = Literal["base", "source", "destination"]


class ObjectVersion(Protocol):
    """An object in one of the three trees."""

    @property
    def size(self) -> int:
        """The size in bytes."""

    @property
    def content_type(self) -> str:
        """The media type that the object was stored with."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """The user metadata."""

    def open(self) -> BinaryIO:
        """Returns a seekable stream of the object's bytes; the caller closes it."""

    def path(self) -> str:
        """Returns the path of a file on this machine with the object's bytes, which must not be
        changed. It is valid until the strategy returns.
        """


class PathConflict(Protocol):
    """A path that both sides changed differently."""

    @property
    def path(self) -> str:
        """The path of the object in the repository."""

    @property
    def repository(self) -> str:
        """The id of the repository."""

    @property
    def commits(self) -> Mapping[Side, str]:
        """The ids of the commits whose trees are merged; "" for a tree without one. A rebase or a
        revert of several commits names commits that are not stored yet.
        """

    @property
    def base(self) -> ObjectVersion | None:
        """The version that both sides started from; None if both added the object."""

    @property
    def source(self) -> ObjectVersion | None:
        """The version that is merged; None if the source deleted the object."""

    @property
    def destination(self) -> ObjectVersion | None:
        """The version on the branch that is merged into; None if it deleted the object."""

    @property
    def work_folder(self) -> str:
        """A folder for temporary files, which is removed after the merge."""

    def read(self, side: Side, path: str) -> ObjectVersion | None:
        """Returns another object of a tree, None if it does not exist."""

    def list(self, side: Side, prefix: str) -> Iterator[str]:
        """Yields the paths of a tree that begin with a prefix, in order of their bytes."""

    def read_table_file(self, area: str, path: str) -> ObjectVersion | None:
        """Returns a file of a table of the Iceberg catalog, by the id of the table's area and its
        path in that; None if it does not exist. Such files are the same in all trees.
        """


class MergeOutput(Protocol):
    """What a merge makes of paths. The last call for a path counts. Nothing is stored before all
    conflicts of the merge are settled.
    """

    def create(
        self,
        path: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> AbstractContextManager[BinaryIO]:
        """Returns a context manager with a writable, seekable stream for the new content of a path.
        If the context ends with an exception, the path keeps its content. The media type and the
        user metadata are those of the destination's version, or else of the source's, unless they
        are given.
        """

    def create_table_file(self, area: str, path: str) -> AbstractContextManager[BinaryIO]:
        """Returns a context manager with a writable, seekable stream for a new file of a table of
        the Iceberg catalog. Such files are written once: one that exists must have the same bytes.
        """

    def take(self, path: str, side: Side) -> None:
        """Takes the version of a side, or deletes the path if the side does not have it."""

    def delete(self, path: str) -> None:
        """Deletes a path."""


class MergeStrategy(Protocol):
    """Merges the content of objects."""

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Writes what becomes of the path into `output` and returns nothing, or returns the
        conflicts, at most 1000; `output` is then ignored.

        Raises Conflict for content that cannot be merged (kind merge_failed: a file that is cut
        off, a missing key column, a key that occurs twice, clashing schemas), with the reason. A
        strategy that gives up waiting raises TIMED_OUT as the kind, and is not asked about other
        paths of the merge.
        """


StrategyFactory = Callable[[Mapping[str, Any]], MergeStrategy]
"""Makes a strategy from the options of a rule. Raises Invalid (kind invalid_merge_options), with
the option's name, for options that are missing, unknown or wrong."""
