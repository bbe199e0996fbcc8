"""Parts of trees for tasks that share a range, each with the keys of its part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.spark.planning.partition_planning import Ranges
from anabranch.spark.planning.tree_parts import TreePart, entries_of
from anabranch.spark.sources.table_files import DivisibleTables, TableFiles, open_range_tables

__all__ = ["TreeKeys", "open_tree_part"]


class TreeKeys(NamedTuple):
    """Trees of which the keys after `after`, up to `until` if it is given, can be read."""

    trees: Sequence[kernel.Tree]
    after: bytes
    until: bytes | None


@contextmanager
def open_tree_part(files: DivisibleTables, part: TreePart) -> Iterator[TreeKeys]:
    """Gives trees that consist of the ranges of a part, and the keys of the part. Raises Gone for a
    missing table, Corrupt for a damaged one, also while the trees are read.
    """
    if part.parts == 1:
        with ExitStack() as stack:
            yield TreeKeys(_open(stack, files, part.trees), b"", None)
        return
    with files.parts() as tables:
        largest = max(part.trees, key=entries_of)
        with open_range_tables(tables, largest) as tree:
            after, until = tree.part(part.number, part.parts)
        for each in (each for ranges in part.trees for each in ranges):
            if each.max_key > after and (until is None or after < until >= each.min_key):
                tables.load(each.id, after, until)
        with ExitStack() as stack:
            yield TreeKeys(_open(stack, tables, part.trees), after, until)


def _open(stack: ExitStack, files: TableFiles, trees: Sequence[Ranges]) -> list[kernel.Tree]:
    return [stack.enter_context(open_range_tables(files, ranges)) for ranges in trees]
