"""Pages of listings and differences that hold only what a user may read.

Pages of the whole listing are read and filtered until a page is full, and parts in which nothing is
readable are skipped. A common prefix is part of the page if anything below it is readable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Generic, TypeVar

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.model.names import encode_path

__all__ = ["ReadablePager"]

Item = TypeVar("Item")

_LEAST = 100
_GREATEST = "\udcff"
"""The byte 0xff, which is greater than every character in UTF-8."""


class ReadablePager(ABC, Generic[Item]):
    """Reads pages of a listing, whose items are objects or common prefixes."""

    def __init__(self, readable: ReadablePaths) -> None:
        self._readable = readable
        self._fetched = _LEAST

    @abstractmethod
    def fetch(
        self, prefix: str, after: str, delimiter: str, amount: int
    ) -> tuple[list[Item], bool]:
        """Returns a page of all items, readable or not, and whether more follow."""

    @abstractmethod
    def path(self, item: Item) -> str:
        """Returns the path of an item."""

    @abstractmethod
    def is_prefix(self, item: Item) -> bool:
        """Returns whether an item is a common prefix."""

    @abstractmethod
    def common_prefix(self, path: str) -> Item:
        """Returns the item of a common prefix."""

    def page(
        self, *, prefix: str, after: str, delimiter: str, amount: int
    ) -> tuple[list[Item], bool]:
        """Returns at most `amount` readable items after a path, and whether more follow."""
        self._fetched = max(amount + 1, _LEAST)
        items = list(islice(self._items(prefix, after, delimiter), amount + 1))
        return items[:amount], len(items) > amount

    def _items(self, prefix: str, after: str, delimiter: str) -> Iterator[Item]:
        shown = None
        # a delimiter of several characters could begin at the end of a longer prefix
        roots = [prefix] if len(delimiter) > 1 else self._readable.roots(prefix)
        for root in roots:
            common = _common_prefix(root, prefix, delimiter)
            if common is None:
                yield from self._items_below(root, after, delimiter)
            elif common != shown and encode_path(after) < encode_path(common):
                shown = common
                if self._is_any_readable(common):
                    yield self.common_prefix(common)

    def _items_below(self, root: str, after: str, delimiter: str) -> Iterator[Item]:
        has_more = self._readable.hidden_prefix(root) is None
        while has_more:
            items, has_more = self.fetch(root, after, delimiter, self._fetched)
            for item in items:
                after = self.path(item)
                if self._is_readable(item):
                    yield item
            hidden = self._readable.hidden_prefix(after) if items else None
            if hidden is not None:
                after = hidden + _GREATEST

    def _is_readable(self, item: Item) -> bool:
        path = self.path(item)
        if not self.is_prefix(item):
            return path in self._readable
        return self._readable.contain_all_below(path) or self._is_any_readable(path)

    def _is_any_readable(self, prefix: str) -> bool:
        return any(True for _ in self._items(prefix, "", ""))


def _common_prefix(root: str, prefix: str, delimiter: str) -> str | None:
    """Returns the common prefix of a listing below `prefix` which holds all paths below `root`,
    None if there is none.
    """
    end = root.find(delimiter, len(prefix)) if delimiter else -1
    return None if end < 0 else root[: end + len(delimiter)]
