"""How many changes of each kind a listing has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["count_changes", "summary"]

_KINDS = ("added", "removed", "changed", "prefix_changed", "conflict")


def count_changes(
    changes: Iterable[dict[str, Any]], field: str, counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    """Yields changes, and counts them by the kind in a field."""
    for change in changes:
        counts[change[field]] += 1
        yield change


def summary(counts: Counter[str]) -> str:
    """Returns the number of changes by kind, as text without a full stop."""
    parts = [f"{counts[kind]} {kind}" for kind in _KINDS if counts[kind]]
    return ", ".join(parts) or "No changes"
