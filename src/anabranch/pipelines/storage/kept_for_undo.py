"""What is stored only so that operations can be undone: objects of deleted branches and tags, of
branches before they were moved away, and of uncommitted changes that were discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.storage.range_entries import RangeEntries, entries_of
from anabranch.pipelines.storage.report import Totals
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.retention import former_heads, load_commit_graph
from anabranch.versioning.operations.retention import Kept

__all__ = ["kept_totals"]


def kept_totals(
    core: Core,
    repository: Repository,
    kept: Kept,
    heads: Mapping[str, Sequence[kernel.RangeInfo]],
    hashes: Hashes,
    read: Callable[[kernel.RangeInfo], RangeEntries],
    max_entries: int,
) -> tuple[Totals, bool]:
    """Returns the totals of the addresses that operations keep and no head of a branch has, given
    the ranges of all heads and the hashes of their addresses, and whether they are complete: at
    most `max_entries` are read. History that the rules of garbage collection keep is not counted.
    """
    known = {info.id for infos in heads.values() for info in infos}
    found = [RangeEntries(np.empty(0, np.uint64), np.empty(0, np.int64))]
    count, complete = 0, True
    for info in _ranges(core, repository, kept):
        if info.id in known:
            continue
        known.add(info.id)
        if count + info.count > max_entries:
            complete = False
            continue
        count += info.count
        found.append(read(info))
    for branch in kept.branches:
        if not branch.staging_token or core.staging.is_empty(branch.tokens):
            continue
        if count > max_entries:
            complete = False
            break
        found.append(_staged(core, repository, branch))
        count += len(found[-1].hashes)
    addresses, first = np.unique(np.concatenate([each.hashes for each in found]), return_index=True)
    sizes = np.concatenate([each.sizes for each in found])[first]
    only = ~np.isin(addresses, hashes)
    return Totals(int(only.sum()), int(sizes[only].sum())), complete


def _ranges(core: Core, repository: Repository, kept: Kept) -> Iterator[kernel.RangeInfo]:
    """Yields the ranges of the commits that operations keep."""
    graph = load_commit_graph(core.commits, repository)
    former = former_heads(graph, core.branches.all(repository), kept.branches)
    commits = {branch.commit_id for branch in former} | (graph.keys() & kept.tagged)
    for tree in sorted({graph[commit_id].metarange_id for commit_id in commits} - {""}):
        yield from core.trees.open(repository, tree).ranges()


def _staged(core: Core, repository: Repository, branch: Branch) -> RangeEntries:
    """Returns the entries that were staged on a branch, of each of its areas."""
    found: list[RangeEntries] = []
    for token in branch.tokens:
        rows = core.staging.rows([token])
        with core.trees.overlaid(repository, kernel.EMPTY_TREE_ID, rows) as tree:
            found.append(entries_of(pa.RecordBatchReader.from_stream(tree.scan())))
    return RangeEntries(
        np.concatenate([each.hashes for each in found]),
        np.concatenate([each.sizes for each in found]),
    )
