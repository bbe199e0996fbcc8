"""Differences of the objects that a user may read."""

from __future__ import annotations

from typing import Protocol

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.read_permissions.readable_pages import ReadablePager
from anabranch.model.commits.change import Change
from anabranch.model.page import Page

__all__ = ["ReadChanges", "readable_changes"]


class ReadChanges(Protocol):
    """Reads pages of changes, readable or not."""

    def __call__(self, *, prefix: str, after: str, delimiter: str, amount: int) -> Page[Change]:
        """Returns a page of changes after a path."""


def readable_changes(
    read: ReadChanges,
    readable: ReadablePaths | None,
    *,
    prefix: str,
    after: str,
    delimiter: str,
    amount: int,
) -> Page[Change]:
    """Returns a page of the changes of readable objects; of all objects if `readable` is None."""
    if readable is None:
        return read(prefix=prefix, after=after, delimiter=delimiter, amount=amount)
    changes, has_more = _ReadableChanges(read, readable).page(
        prefix=prefix, after=after, delimiter=delimiter, amount=amount
    )
    return Page(changes, has_more, changes[-1].path if has_more else "")


class _ReadableChanges(ReadablePager[Change]):
    def __init__(self, read: ReadChanges, readable: ReadablePaths) -> None:
        super().__init__(readable)
        self._read = read

    def fetch(
        self, prefix: str, after: str, delimiter: str, amount: int
    ) -> tuple[list[Change], bool]:
        page = self._read(prefix=prefix, after=after, delimiter=delimiter, amount=amount)
        return page.items, page.has_more

    def path(self, item: Change) -> str:
        return item.path

    def is_prefix(self, item: Change) -> bool:
        return item.kind == "prefix_changed"

    def common_prefix(self, path: str) -> Change:
        return Change("prefix_changed", path)
