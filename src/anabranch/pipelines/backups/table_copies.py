"""Copies of tables between an installation's store and a target.

Ranges are copied before the metaranges that list them. So a metarange that is there has all its
ranges, and a later backup reads only new metaranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import table_address
from anabranch.errors import Corrupt, Gone
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.stores.local_looks import LocalLooks
from anabranch.pipelines.verification.stores.ranges import Ranges
from anabranch.pipelines.verification.stores.table_files import stored_table, table_problem

__all__ = ["CopiedTables", "Place", "copy_tables"]

_THREADS = 8
_PIECE_BYTES = 1 << 20


class Place(NamedTuple):
    """A store, and a repository as it is there."""

    blocks: BlockStore
    repository: Repository


class CopiedTables(NamedTuple):
    """The number of copied tables and their bytes, and what could not be copied."""

    tables: int
    size: int
    problems: list[str]


class _Copied(NamedTuple):
    table_id: str
    size: int
    problem: str = ""


def copy_tables(
    source: Place,
    target: Place,
    trees: Mapping[str, str],
    present: set[str],
    progress: Progress,
    *,
    examine_all: bool = False,
) -> CopiedTables:
    """Copies the tables of trees, which are mapped to a commit that has each, that are not
    `present` in the target, each verified. With `examine_all`, also the ranges of metaranges that
    are present are looked for.
    """
    new = {tree: commit for tree, commit in trees.items() if examine_all or tree not in present}
    progress.begin(f"copying the tables of {source.repository.id}", len(new))
    ranges = Ranges(source.repository, LocalLooks(source.blocks))
    problems = {
        finding.subject.rpartition(" ")[2]: f"{finding.subject}: {finding.message}"
        for finding in ranges.read(new, set(), progress)
    }
    copy = partial(_copy, source, target)
    names = [name for name in ranges.listed if name not in present]
    copied = list(parallel_map(copy, names, threads=_THREADS))
    bad = {each.table_id for each in copied if each.problem}
    # no metarange may be there without its ranges
    whole = [
        tree
        for tree in new
        if tree not in present and tree not in problems and not _lists_any(source, tree, bad)
    ]
    copied += parallel_map(copy, whole, threads=_THREADS)
    problems |= {each.table_id: each.problem for each in copied if each.problem}
    done = [each.size for each in copied if not each.problem]
    return CopiedTables(len(done), sum(done), list(problems.values()))


def _lists_any(source: Place, metarange_id: str, ranges: set[str]) -> bool:
    """Returns whether a metarange lists one of some ranges."""
    if not ranges:
        return False
    with stored_table(source.blocks, source.repository, metarange_id) as path:
        tree = kernel.Tables().tree(metarange_id, lambda _: path)
        return any(info.id in ranges for info in tree.ranges())


def _copy(source: Place, target: Place, table_id: str) -> _Copied:
    try:
        with stored_table(source.blocks, source.repository, table_id) as path:
            problem = table_problem(path, table_id)
            if problem:
                return _Copied(table_id, 0, f"{source.repository.id} {table_id}: {problem}")
            address = table_address(target.repository.storage_namespace, table_id)
            stored = target.blocks.put(address, _pieces(Path(path)))
            return _Copied(table_id, stored.size)
    except (Gone, Corrupt) as error:
        return _Copied(table_id, 0, f"{source.repository.id} {table_id}: {error.message}")


def _pieces(path: Path) -> Iterable[bytes]:
    def read() -> Iterator[bytes]:
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece

    return read()
