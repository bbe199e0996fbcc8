"""Laying trees over each other: of two entries at one path that of the upper tree counts.

An overlay is the kernel's merge of two trees whose common base is the empty tree, in which the
upper one wins: ranges that lie apart are taken by name. Laying over is associative, so neighbours
are laid over each other in pairs, and an image of many layers costs a logarithm of their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt
from anabranch.model.image import Overlap

__all__ = ["Overlay"]

_SHOWN = 10


class Overlay:
    """Lays trees over each other; new tables go to `folder`, `open_tree` opens one by its id."""

    def __init__(self, folder: str, open_tree: Callable[[str], kernel.Tree]) -> None:
        self._folder = folder
        self._open = open_tree
        self._empty = open_tree(kernel.EMPTY_TREE_ID)
        self.shadowed = 0
        self.paths: list[bytes] = []

    @property
    def overlap(self) -> Overlap:
        """What lies under something else."""
        shown = (path.decode("utf-8", "replace") for path in sorted(set(self.paths))[:_SHOWN])
        return Overlap(self.shadowed, tuple(shown))

    def of(self, trees: Sequence[str]) -> str:
        """Returns the id of the tree that has the last of the trees uppermost."""
        row = list(trees) or [kernel.EMPTY_TREE_ID]
        while len(row) > 1:
            pairs = [self._laid(row[at : at + 2]) for at in range(0, len(row), 2)]
            row = pairs
        return row[0]

    def _laid(self, pair: Sequence[str]) -> str:
        if len(pair) == 1 or pair[1] == kernel.EMPTY_TREE_ID:
            return pair[0]
        if pair[0] == kernel.EMPTY_TREE_ID:
            return pair[1]
        lower, upper = map(self._open, pair)
        merged = lower.merge(upper, self._empty, self._folder, strategy="source-wins")
        if merged.written is None:
            raise Corrupt("two layers could not be laid over each other")
        result = merged.written.metarange_id
        shadowed = len(lower) + len(upper) - len(self._open(result))
        if shadowed:
            self.shadowed += shadowed
            self._show(lower, upper)
        return result

    def _show(self, lower: kernel.Tree, upper: kernel.Tree) -> None:
        """Remembers some paths that both have. Those with equal contents are not among them."""
        found = lower.merge(upper, self._empty, self._folder, max_conflicts=_SHOWN)
        self.paths += found.conflicts
