"""Conflicts of the objects that a user may read."""

from __future__ import annotations

from typing import Protocol

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.read_permissions.readable_pages import ReadablePager
from anabranch.model.commits.conflict import OpenConflict
from anabranch.model.page import Page

__all__ = ["readable_conflicts"]


class ReadConflicts(Protocol):
    """Reads pages of conflicts, readable or not."""

    def __call__(self, *, prefix: str, after: str, amount: int) -> Page[OpenConflict]:
        """Returns a page of conflicts after a path."""


def readable_conflicts(
    read: ReadConflicts,
    readable: ReadablePaths | None,
    *,
    prefix: str,
    after: str,
    amount: int,
) -> Page[OpenConflict]:
    """Returns a page of the conflicts of readable objects; of all objects if `readable` is None."""
    if readable is None:
        return read(prefix=prefix, after=after, amount=amount)
    conflicts, has_more = _ReadableConflicts(read, readable).page(
        prefix=prefix, after=after, delimiter="", amount=amount
    )
    return Page(conflicts, has_more, conflicts[-1].path if has_more else "")


class _ReadableConflicts(ReadablePager[OpenConflict]):
    def __init__(self, read: ReadConflicts, readable: ReadablePaths) -> None:
        super().__init__(readable)
        self._read = read

    def fetch(
        self,
        prefix: str,
        after: str,
        delimiter: str,  # noqa: ARG002  conflicts are not grouped
        amount: int,
    ) -> tuple[list[OpenConflict], bool]:
        page = self._read(prefix=prefix, after=after, amount=amount)
        return list(page.items), page.has_more

    def path(self, item: OpenConflict) -> str:
        return item.path

    def is_prefix(self, item: OpenConflict) -> bool:  # noqa: ARG002
        return False

    def common_prefix(self, path: str) -> OpenConflict:
        raise NotImplementedError(path)
