"""What merge strategies write, before it is stored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from anabranch.errors import Conflict, Invalid
from anabranch.model.names import check_path
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE, user_metadata
from anabranch.versioning.merging.conflicts import MergeTrees
from anabranch.versioning.records.entries import Value, entry_from
from anabranch.versioning.strategies.contract import Side

__all__ = ["NewContent", "Outcome", "StrategyOutput"]


class NewContent(msgspec.Struct, frozen=True):
    """Content that is still a file of this machine, with media type and user metadata."""

    file: Path
    content_type: str
    metadata: Mapping[str, str]


Outcome = NewContent | Value | None
"""What a path becomes; None if it is deleted."""


class StrategyOutput:
    """The outcomes of one call of a strategy, by path. New content is written to `folder`."""

    def __init__(self, trees: MergeTrees, folder: Path) -> None:
        self._trees = trees
        self._folder = folder
        self.outcomes: dict[str, Outcome] = {}
        self.table_files: dict[tuple[str, str], Path] = {}
        """New files of tables of the Iceberg catalog, by area and path: files of this machine."""

    @contextmanager
    def create(
        self,
        path: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Iterator[BinaryIO]:
        """Yields a stream for the new content of a path. Raises Conflict for user metadata that are
        too large.
        """
        check_path(path)
        known = self._trees.get("destination", path) or self._trees.get("source", path)
        if known is not None:
            entry = entry_from(known)
            content_type = entry.content_type if content_type is None else content_type
            metadata = entry.metadata if metadata is None else _check(path, metadata)
        elif metadata is not None:
            metadata = _check(path, metadata)
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as stream:
            yield cast(BinaryIO, stream)
        self.outcomes[path] = NewContent(
            Path(stream.name), content_type or DEFAULT_CONTENT_TYPE, metadata or {}
        )

    @contextmanager
    def create_table_file(self, area: str, path: str) -> Iterator[BinaryIO]:
        """Yields a stream for a new file of a table."""
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as stream:
            yield cast(BinaryIO, stream)
        self.table_files[area, path] = Path(stream.name)

    def take(self, path: str, side: Side) -> None:
        """Takes the version of a side."""
        self.outcomes[path] = self._trees.get(side, path)

    def delete(self, path: str) -> None:
        """Deletes a path."""
        self.outcomes[path] = None


def _check(path: str, metadata: Mapping[str, str]) -> dict[str, str]:
    try:
        return user_metadata(metadata)
    except Invalid as error:
        raise Conflict(f"{path}: {error.message}", kind="merge_failed") from None
