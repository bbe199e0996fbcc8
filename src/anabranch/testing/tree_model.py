"""A model of trees in plain dictionaries, with which tests compare the kernel's trees.

Values are pairs of identity and data. Two values are equal if their identities are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch._kernel import Value

    Records = dict[bytes, Value]
    Changes = list[tuple[bytes, Value | None]]
    Row = tuple[str, bytes, Value | None, Value | None]
    Item = tuple[bytes, Value | None]

__all__ = ["applied", "common_prefix", "compare", "diff", "listing", "merged", "rolled_up"]


def identity(value: Value | None) -> bytes | None:
    """Returns the identity of a value, which decides whether values are equal."""
    return None if value is None else value[0]


def applied(records: Records, changes: Changes) -> Records:
    """Returns records with changes applied; a change to an equal value keeps the existing one."""
    after = dict(records)
    for key, value in changes:
        if value is None:
            after.pop(key, None)
        elif identity(after.get(key)) != value[0]:
            after[key] = value
    return dict(sorted(after.items()))


def diff(left: Records, right: Records) -> list[Row]:
    """Returns the changes from `left` to `right`."""
    keys = sorted(left.keys() | right.keys())
    return [
        ("added" if key not in left else "changed" if key in right else "removed", key, old, new)
        for key in keys
        for old, new in [(left.get(key), right.get(key))]
        if identity(old) != identity(new)
    ]


def compare(dest: Records, source: Records, base: Records) -> list[Row]:
    """Returns the changes that merging `source` into `dest` would make, given their base."""

    def same(one: Records, other: Records, key: bytes) -> bool:
        return identity(one.get(key)) == identity(other.get(key))

    return [
        (kind if same(dest, base, key) else "conflict", key, ours, theirs)
        for kind, key, ours, theirs in diff(dest, source)
        if not same(source, base, key)
    ]


def merged(
    dest: Records, source: Records, base: Records, strategy: str
) -> tuple[Records, list[bytes]]:
    """Returns the result of a three-way merge, which keeps the values of `dest` at conflicting
    keys, and these keys.
    """
    rows = compare(dest, source, base)
    taken = [
        (key, theirs)
        for kind, key, _, theirs in rows
        if kind != "conflict" or strategy == "source-wins"
    ]
    conflicts = [key for kind, key, _, _ in rows if kind == "conflict" and not strategy]
    return applied(dest, taken), conflicts


def common_prefix(key: bytes, prefix: bytes, delimiter: bytes) -> bytes | None:
    """Returns the common prefix of a key in a listing, None if the key is listed itself."""
    index = key.find(delimiter, len(prefix)) if delimiter else -1
    return None if index < 0 else key[: index + len(delimiter)]


def _page_keys(
    keys: Iterable[bytes], prefix: bytes, after: bytes, delimiter: bytes
) -> Iterator[bytes]:
    """Yields the keys of a page; an `after` that is a common prefix skips its members."""
    is_prefix = after.startswith(prefix) and common_prefix(after, prefix, delimiter) == after
    for key in sorted(keys):
        skipped = key <= after or (is_prefix and key.startswith(after))
        if key.startswith(prefix) and not skipped:
            yield key


def listing(records: Records, prefix: bytes, after: bytes, delimiter: bytes) -> list[Item]:
    """Returns the items of a listing; None in place of a value marks a common prefix."""
    items: dict[bytes, Value | None] = {}
    for key in _page_keys(records, prefix, after, delimiter):
        shared = common_prefix(key, prefix, delimiter)
        items[shared or key] = None if shared else records[key]
    return list(items.items())


def rolled_up(rows: list[Row], prefix: bytes, after: bytes, delimiter: bytes) -> list[Row]:
    """Returns the rows of a page; the rows under a common prefix become one row."""
    by_key = {row[1]: row for row in rows}
    page: dict[bytes, Row] = {}
    for key in _page_keys(by_key, prefix, after, delimiter):
        shared = common_prefix(key, prefix, delimiter)
        page[shared or key] = ("prefix_changed", shared, None, None) if shared else by_key[key]
    return list(page.values())
