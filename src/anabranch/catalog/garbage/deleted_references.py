"""The committed objects of deleted repositories that can be restored, for collections of others.

A server lists no commits of repositories that are deleted, so their addresses are listed with those
that are staged.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch import _kernel as kernel
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.retention import load_commit_graph
from anabranch.versioning.records.entries import Value

__all__ = ["committed_entries"]

_PAGE_SIZE = 10_000


def committed_entries(
    core: Core, repository: Repository, prefix: bytes = b""
) -> Iterator[tuple[bytes, Value]]:
    """Yields the keys that begin with a prefix and their entries, of all commits of a repository,
    also of expired ones; those of a range once. Raises Gone and Corrupt for lost and damaged
    tables.
    """
    seen: set[str] = set()
    graph = load_commit_graph(core.commits, repository)
    for tree_id in sorted({node.metarange_id for node in graph.values()} - {""}):
        tree = core.trees.open(repository, tree_id)
        start = b""
        for table in core.trees.read(tree.ranges):
            if table.id not in seen and table.max_key >= prefix:
                yield from _entries(core, tree, max(start, prefix), table.max_key, prefix)
            seen.add(table.id)
            start = table.max_key


def _entries(
    core: Core, tree: kernel.Tree, after: bytes, last: bytes, prefix: bytes
) -> Iterator[tuple[bytes, Value]]:
    while after < last:
        page = tree.listing(after=after, amount=_PAGE_SIZE)
        core.trees.read(page.feed, [], last=True)
        for key, value in page.rows():
            if key > last or not key.startswith(prefix):
                return
            if value is not None:
                yield key, value
            after = key
