"""External merge sort of records by key, in bounded memory.

Sorted streams are merged directly. Unsorted records are divided into runs, each sorted in memory
and written as a small tree, and the runs are merged. If records have the same key, the last one is
kept.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from anabranch import _kernel as kernel
from anabranch.pipelines.imports.entries import Record
from anabranch.versioning.trees.trees import Trees

__all__ = ["RUN_RECORDS", "decode_records", "merge_latest", "merge_sorted_runs"]

RUN_RECORDS = 100_000
_PAGE = 4_096


def merge_latest(streams: Sequence[Iterable[Record]]) -> Iterator[Record]:
    """Merges sorted streams. If records have the same key, yields that of the last stream."""
    if len(streams) == 1:
        yield from streams[0]
        return

    def ranked(
        rank: int, stream: Iterable[Record]
    ) -> Iterator[tuple[bytes, int, tuple[bytes, bytes]]]:
        return ((key, -rank, value) for key, value in stream)

    previous: bytes | None = None
    for key, _, value in heapq.merge(*(ranked(*numbered) for numbered in enumerate(streams))):
        if key != previous:
            previous = key
            yield key, value


def decode_records(tree: kernel.Tree, prefix: bytes = b"") -> Iterator[Record]:
    """Yields a tree's records whose keys have the prefix, in order, with one page in memory."""
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


def merge_sorted_runs(
    records: Iterable[Record], trees: Trees, folder: str, run_records: int
) -> Iterator[Record]:
    """Yields records sorted by key; runs of `run_records` are written into `folder`."""
    runs = []
    remaining = iter(records)
    while run := dict(islice(remaining, run_records)):
        written = kernel.write_tree(((key, run[key]) for key in sorted(run)), folder)
        runs.append(trees.open_in(folder, written.metarange_id))
    return merge_latest([decode_records(run) for run in runs]) if runs else iter(())
