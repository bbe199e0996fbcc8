"""The copy tasks of an export and their results.

A permanent error is returned as a row of the task, so that the driver raises the error that an
export in one process raises. A temporary one is raised in the task, and Spark retries the task.
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
from anabranch.model.names import decode_key
from anabranch.model.repository import Repository
from anabranch.pipelines.exports.changes import Change, changes
from anabranch.pipelines.exports.chunked import chunked
from anabranch.pipelines.exports.copier import THREADS, Copied, Copier
from anabranch.pipelines.exports.destination_parsing import parse_destination
from anabranch.spark.planning.partition_planning import Ranges
from anabranch.spark.sources.stores import Opener, open_store
from anabranch.spark.sources.table_files import TableFiles, open_range_tables

__all__ = ["TOLD", "Copies", "Share", "count_rows"]

TOLD = (
    "stored BIGINT, bytes BIGINT, unfit BIGINT, shown ARRAY<STRING>, removed BIGINT, error STRING,"
    " message STRING, kind STRING, hint STRING"
)
"""The result of a task, for Spark."""

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
    """The share of a task: of the changes in these ranges of both trees, the base first, every
    `of`th from `number` on, after a key.
    """

    trees: tuple[Ranges, ...]
    after: bytes
    number: int
    of: int


class Copies(NamedTuple):
    """An export as its tasks see it; it can be pickled."""

    store: Opener
    tables: TableFiles
    repository: Repository
    destination: str
    leave_unfit: bool

    def remove(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Removes the files that the commit no longer has, durably, and returns the result."""
        removed = 0
        with open_store(self.store) as blocks:
            place = parse_destination(self.destination, blocks)
            gone = (decode_key(key) for key, value in self._changes(share) if value is None)
            for paths in chunked(gone, _PAGE):
                place.remove(paths)
                removed += len(paths)
            place.sync()
        yield _row(removed=removed)

    def copy(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Copies the objects of the commit, durably, and returns the result."""
        with open_store(self.store) as blocks:
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
        place = parse_destination(self.destination, blocks)
        copying = Copier(place, self.repository, blocks, leave_unfit=self.leave_unfit)
        found = ((key, value) for key, value in self._changes(share) if value is not None)
        done = Copied()
        with ThreadPoolExecutor(THREADS) as pool:
            for page in chunked(islice(found, share.number, None, share.of), _PAGE):
                done.add(copying.store(pool, page))
        return done

    def _changes(self, share: Share) -> Iterator[Change]:
        with ExitStack() as stack:
            base, *attempts = [
                stack.enter_context(open_range_tables(self.tables, cut)) for cut in share.trees
            ]
            yield from changes(base, attempts, share.after)


def count_rows(rows: Iterable[Any]) -> tuple[Copied, int]:
    """Returns the counts of copied objects and removed paths of all tasks. Raises the first error
    that a task reported.
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
