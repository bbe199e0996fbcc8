"""Stores that tell at little cost that nothing in them has changed.

What was derived from several values stays true until the store has another version. To compare
versions costs less than to look each value up again.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from anabranch.keyvalue.contract import KeyValueStore

__all__ = ["VersionedReads", "versioned_reads"]


@runtime_checkable
class VersionedReads(Protocol):
    """A store with versions."""

    def version(self) -> object | None:
        """Returns the store's version; None while it is not known, as during a commit. What was
        read after a version was returned is current when an equal one is returned again.
        """


def versioned_reads(store: KeyValueStore) -> VersionedReads | None:
    """Returns a store if it has versions, or None."""
    return store if isinstance(store, VersionedReads) else None
