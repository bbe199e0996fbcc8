"""Pages of records in the order of their names' bytes."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.access.records.layout import PARTITION
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.page import Page, upper_bound

__all__ = ["list_names", "scan_names"]


def list_names(
    store: KeyValueStore,
    key_prefix: bytes,
    prefix: str,
    after: str,
    amount: int,
    *,
    partition: str = PARTITION,
) -> Page[tuple[str, bytes]]:
    """Returns the names and values of at most `amount` records below a prefix of keys: those whose
    names start with `prefix` and are greater than `after`.
    """
    start = key_prefix + prefix.encode()
    end = upper_bound(start)
    if after:
        start = max(start, key_prefix + after.encode() + b"\0")
    rows = []
    if end is None or start < end:
        rows = list(store.scan(partition, start, end, limit=amount + 1))
    items = [(key[len(key_prefix) :].decode(), value) for key, value in rows[:amount]]
    has_more = len(rows) > amount
    return Page(items, has_more=has_more, next_offset=items[-1][0] if has_more else "")


def scan_names(store: KeyValueStore, key_prefix: bytes) -> Iterator[str]:
    """Yields the names of all records below a prefix of keys."""
    for key, _ in store.scan(PARTITION, key_prefix, upper_bound(key_prefix)):
        yield key[len(key_prefix) :].decode()
