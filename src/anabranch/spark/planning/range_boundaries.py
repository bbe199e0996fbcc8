"""Range boundaries: turns the ranges that several tasks wrote into those of a single writer.

lakeFS ends a range after certain keys, which are selected by their hashes, and when the range is
too large. A task that begins in the middle of a range writes the correct boundaries from the first
such key on. Only the records up to that key are rewritten, together with the last range of the
previous task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from anabranch import _kernel as kernel
from anabranch.spark.planning.partition_planning import Range
from anabranch.work_folders import WorkFolder

__all__ = ["join_ranges"]


def join_ranges(
    tasks: Iterable[Sequence[Range]], folder: str, locate: Callable[[str], str]
) -> list[Range]:
    """Returns the ranges of one tree, from the ranges of each task, in order. `locate` returns the
    path of a range that a task wrote; rewritten ranges are written to `folder`.
    """
    ranges: list[Range] = []
    open_run: list[Range] = []
    for written in tasks:
        for item in written:
            if open_run:
                open_run.append(item)
                if kernel.ends_range(item.max_key):
                    ranges += _rewrite(open_run, folder, locate)
                    open_run = []
            else:
                ranges.append(item)
        if ranges and not open_run and not kernel.ends_range(ranges[-1].max_key):
            open_run = [ranges.pop()]
    return ranges + list(_rewrite(open_run, folder, locate))


def _rewrite(run: Sequence[Range], folder: str, locate: Callable[[str], str]) -> Iterator[Range]:
    """Yields the ranges that a single writer would write for the records of several ranges."""
    if len(run) <= 1:
        yield from run
        return
    with WorkFolder("spark") as work_folder:
        infos = [kernel.RangeInfo(*item) for item in run]
        metarange_id = kernel.write_metarange(infos, work_folder)

        def path(table_id: str) -> str:
            if table_id == metarange_id:
                return f"{work_folder}/{table_id}"
            written = f"{folder}/{table_id}"
            return written if Path(written).exists() else locate(table_id)

        tree = kernel.Tables().tree(metarange_id, path)
        for info in kernel.write_ranges_arrow(tree.scan(decoded=False), folder):
            yield Range(info.id, info.min_key, info.max_key, info.count, info.estimated_size)
