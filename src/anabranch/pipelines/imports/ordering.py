"""Records in the order of their keys, whatever order they come in, in bounded memory.

What a store lists in order is merged as it comes. Anything else is cut into runs, each sorted in
memory and written as a small tree; the runs are then merged. Where a key comes twice, what came
last counts.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from anabranch import _kernel as kernel
from anabranch.pipelines.imports.entries import Record
from anabranch.versioning.trees import Trees

__all__ = ["RUN_RECORDS", "latest", "records_of", "sorted_by_runs"]

RUN_RECORDS = 100_000
_PAGE = 4_096


def latest(streams: Sequence[Iterable[Record]]) -> Iterator[Record]:
    """Yields the records of sorted streams in one order, of each key that of the last stream."""
    if len(streams) == 1:
        yield from streams[0]
        return

    def ranked(
        rank: int, stream: Iterable[Record]
    ) -> Iterator[tuple[bytes, int, tuple[bytes, bytes]]]:
        return ((key, -rank, value) for key, value in stream)

    before: bytes | None = None
    for key, _, value in heapq.merge(*(ranked(*numbered) for numbered in enumerate(streams))):
        if key != before:
            before = key
            yield key, value


def records_of(tree: kernel.Tree, prefix: bytes = b"") -> Iterator[Record]:
    """Yields a tree's records whose keys begin so, in order, a page of them in memory."""
    after = b""
    more = True
    while more:
        page = tree.listing(prefix=prefix, after=after, amount=_PAGE)
        page.feed([], last=True)
        for key, value in page.rows():
            if value is not None:  # a listing without a delimiter has no common prefixes
                yield key, value
        more = page.has_more
        if more:
            after = page.last_key()


def sorted_by_runs(
    records: Iterable[Record], trees: Trees, folder: str, run_records: int
) -> Iterator[Record]:
    """Yields records in order; runs of so many are written into `folder`."""
    runs = []
    coming = iter(records)
    while run := dict(islice(coming, run_records)):
        written = kernel.write_tree(((key, run[key]) for key in sorted(run)), folder)
        runs.append(trees.open_in(folder, written.metarange_id))
    return latest([records_of(run) for run in runs]) if runs else iter(())
