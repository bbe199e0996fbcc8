"""Borders: ranges that tasks wrote side by side, cut anew where one task ended and the next began.

lakeFS ends a range behind a key whose hash says so, and one that has grown too large. A task that
begins in the middle of a range cuts rightly from the first such key on, whatever came before; only
what lies before that, with the open range of the task before, must be written again. What comes
out is what one writer of all records would have written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from anabranch import _kernel as kernel
from anabranch.spark.pieces import Range

__all__ = ["ends_a_range", "joined"]

_RAGGEDNESS = 50_000
_FNV_START, _FNV_PRIME, _WORD = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def ends_a_range(key: bytes) -> bool:
    """Returns whether every range ends behind this key, by its hash (FNV-1a, 64 bits)."""
    state = _FNV_START
    for byte in key:
        state = ((state ^ byte) * _FNV_PRIME) & _WORD
    return state % _RAGGEDNESS == 0


def joined(
    tasks: Iterable[Sequence[Range]], folder: str, locate: Callable[[str], str]
) -> list[Range]:
    """Returns the ranges of one tree, given those of each task, in order. Those are where `locate`
    says; new ones are written into `folder`.
    """
    ranges: list[Range] = []
    open_run: list[Range] = []
    for written in tasks:
        for found in written:
            if open_run:
                open_run.append(found)
                if ends_a_range(found.max_key):
                    ranges += _cut_anew(open_run, folder, locate)
                    open_run = []
            else:
                ranges.append(found)
        if ranges and not open_run and not ends_a_range(ranges[-1].max_key):
            open_run = [ranges.pop()]
    return ranges + list(_cut_anew(open_run, folder, locate))


def _cut_anew(run: Sequence[Range], folder: str, locate: Callable[[str], str]) -> Iterator[Range]:
    """Yields the ranges that the records of a run of them make when they are written as one."""
    if len(run) <= 1:
        yield from run
        return
    with tempfile.TemporaryDirectory(prefix="anabranch-spark-") as own:
        metarange_id = kernel.write_metarange([kernel.RangeInfo(*found) for found in run], own)

        def path(table_id: str) -> str:
            if table_id == metarange_id:
                return f"{own}/{table_id}"
            new = f"{folder}/{table_id}"
            return new if Path(new).exists() else locate(table_id)

        tree = kernel.Tables().tree(metarange_id, path)
        for made in kernel.write_ranges_arrow(tree.scan(decoded=False), folder):
            yield Range(made.id, made.min_key, made.max_key, made.count, made.estimated_size)
