"""Copies: what tasks of an export do, and tell.

A task that meets what no second try would mend tells of it in its row, so that the driver raises
the same error as an export in one process; what may go away is raised there, and Spark tries the
task again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from anabranch import errors
from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError, Busy
from anabranch.model.names import path_of
from anabranch.model.repository import Repository
from anabranch.pipelines.exports.changes import Change, changes
from anabranch.pipelines.exports.copying import THREADS, Copied, Copying
from anabranch.pipelines.exports.pages import pages
from anabranch.pipelines.exports.places import place_of
from anabranch.spark.pieces import Cut
from anabranch.spark.stores import Opener, opened_store
from anabranch.spark.table_files import TableFiles, opened

__all__ = ["TOLD", "Copies", "Share", "counted"]

TOLD = (
    "stored BIGINT, bytes BIGINT, unfit BIGINT, shown ARRAY<STRING>, removed BIGINT, error STRING,"
    " message STRING, kind STRING, hint STRING"
)
"""What a task tells, for Spark."""

_TOLD = pa.schema(
    [
        *((name, pa.int64()) for name in ("stored", "bytes", "unfit")),
        ("shown", pa.list_(pa.string())),
        ("removed", pa.int64()),
        *((name, pa.string()) for name in ("error", "message", "kind", "hint")),
    ]
)
_PAGE = 1_000


class Share(NamedTuple):
    """A task's part: of the changes in these ranges, of each tree those that belong together, the
    base first, every `of`th from `number` on, behind a key.
    """

    trees: tuple[Cut, ...]
    after: bytes
    number: int
    of: int


class Copies(NamedTuple):
    """An export, as its tasks know it; it can be pickled."""

    store: Opener
    tables: TableFiles
    repository: Repository
    destination: str
    leave_unfit: bool

    def remove(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Removes what the commit has no more, durably, and tells of it."""
        removed = 0
        with opened_store(self.store) as blocks:
            place = place_of(self.destination, blocks)
            gone = (path_of(key) for key, value in self._changes(share) if value is None)
            for paths in pages(gone, _PAGE):
                place.remove(paths)
                removed += len(paths)
            place.settle()
        yield _row(removed=removed)

    def copy(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Copies what the commit has, durably, and tells of it."""
        with opened_store(self.store) as blocks:
            try:
                done = self._copied(share, blocks)
            except Busy:
                raise
            except AnabranchError as error:
                yield _row(
                    error=type(error).__name__,
                    message=error.message,
                    kind=error.kind,
                    hint=error.hint,
                )
                return
        yield _row(stored=done.stored, bytes=done.bytes, unfit=done.unfit, shown=done.shown)

    def _copied(self, share: Share, blocks: BlockStore) -> Copied:
        place = place_of(self.destination, blocks)
        copying = Copying(place, self.repository, blocks, leave_unfit=self.leave_unfit)
        found = ((key, value) for key, value in self._changes(share) if value is not None)
        done = Copied()
        with ThreadPoolExecutor(THREADS) as pool:
            for page in pages(islice(found, share.number, None, share.of), _PAGE):
                done.add(copying.store(pool, page))
        return done

    def _changes(self, share: Share) -> Iterator[Change]:
        with ExitStack() as stack:
            base, *attempts = [stack.enter_context(opened(self.tables, cut)) for cut in share.trees]
            yield from changes(base, attempts, share.after)


def counted(rows: Iterable[Any]) -> tuple[Copied, int]:
    """Returns what tasks have copied, and how many paths they have removed. Raises the first error
    that one has told of.
    """
    done, removed = Copied(), 0
    for row in rows:
        if row["error"] is not None:
            kind = getattr(errors, row["error"], AnabranchError)
            raise kind(row["message"], kind=row["kind"], hint=row["hint"])
        done.add(Copied(row["stored"], row["bytes"], row["unfit"], list(row["shown"])))
        removed += row["removed"]
    return done, removed


def _row(**told: Any) -> pa.RecordBatch:
    nothing = {"stored": 0, "bytes": 0, "unfit": 0, "shown": [], "removed": 0}
    return pa.RecordBatch.from_pylist([{**nothing, **told}], schema=_TOLD)
