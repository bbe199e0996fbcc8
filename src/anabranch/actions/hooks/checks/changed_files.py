"""The files that an event changes, among those that match a pattern of paths."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from anabranch.actions.hooks.contract import HookContext
from anabranch.model.objects.stat import Stat
from anabranch.model.page import MAX_AMOUNT
from anabranch.patterns.path_patterns import path_pattern

__all__ = ["ChangedFile", "changed_files", "files_at", "literal_prefix"]


class ChangedFile(msgspec.Struct, frozen=True):
    """A file as it is after the event; `size` is in bytes, None if the event removes it."""

    path: str
    size: int | None


def changed_files(context: HookContext, pattern: str) -> Iterator[ChangedFile]:
    """Yields the files that the event adds, changes or removes, in order of paths; all files if the
    event is not about changes (a tag, a new branch).
    """
    if context.base is None:
        yield from files_at(context, context.reference, pattern)
        return
    matches = path_pattern(pattern).matches
    prefix, after = literal_prefix(pattern), ""
    while True:
        page = context.lake.diff(
            context.base, context.reference, prefix=prefix, after=after, amount=MAX_AMOUNT
        )
        for change in page.items:
            if matches(change.path):
                yield ChangedFile(change.path, None if change.right is None else change.right.size)
        if not page.has_more:
            return
        after = page.next_offset


def files_at(context: HookContext, reference: str, pattern: str) -> Iterator[ChangedFile]:
    """Yields all files of a reference that match, in order of paths."""
    matches = path_pattern(pattern).matches
    prefix, after = literal_prefix(pattern), ""
    while True:
        page = context.lake.list(reference, prefix=prefix, after=after, amount=MAX_AMOUNT)
        for item in page.items:
            if isinstance(item, Stat) and matches(item.path):
                yield ChangedFile(item.path, item.entry.size)
        if not page.has_more:
            return
        after = page.next_offset


def literal_prefix(pattern: str) -> str:
    """Returns the beginning that all matching paths have."""
    ends = [at for at in (pattern.find("*"), pattern.find("?")) if at >= 0]
    return pattern[: min(ends)] if ends else pattern
