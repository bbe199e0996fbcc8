"""Rejected rows of an import, which tasks write to files in the store, and the driver to one file.

There may be as many as the listing has rows, so the driver reads one file at a time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from anabranch.blocks.table_addresses import tables_address
from anabranch.pipelines.imports.listings.rejected_rows import open_rejected_rows
from anabranch.pipelines.imports.listings.row_validation import LEFT_OUT
from anabranch.spark.jobs.parts import PartReader, remove_parts
from anabranch.spark.sources.stores import Opener, open_store

__all__ = ["RejectedFiles"]


class RejectedFiles:
    """The files of one import, whose addresses begin with `prefix`; it is empty if no `path` is
    given. They are removed when the context ends.
    """

    def __init__(self, store: Opener, storage_namespace: str, path: Path | None) -> None:
        self._store = store
        self._path = path
        folder = tables_address(storage_namespace)
        self.prefix = f"{folder}/rejected/{uuid.uuid4().hex}/" if path is not None else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.prefix:
            with open_store(self._store) as blocks:
                remove_parts(blocks, self.prefix)

    def collect(self, names: Iterable[str]) -> None:
        """Writes the rows of files with these names to the path."""
        read = PartReader(self._store, LEFT_OUT.names)
        with open_rejected_rows(self._path) as write:
            for name in names:
                for batch in read(self.prefix + name):
                    write(batch.cast(LEFT_OUT))
