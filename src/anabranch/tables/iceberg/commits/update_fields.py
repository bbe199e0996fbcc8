"""The fields of the updates of a commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from anabranch.converter import Converter
from anabranch.tables.iceberg.commits.forms import OBJECT, OBJECTS
from anabranch.tables.iceberg.commits.refusals import checked, refused

__all__ = ["apply_all", "field_of", "object_of"]

T = TypeVar("T")
Draft = TypeVar("Draft")


def apply_all(
    draft: Draft,
    updates: Sequence[Mapping[str, Any]],
    changes: Mapping[str, Callable[[Draft, Mapping[str, Any]], None]],
) -> None:
    """Makes the changes that updates name by their actions. Raises Invalid for one that is unknown,
    and what the changes raise.
    """
    for number, update in enumerate(checked(updates, OBJECTS, "updates")):
        action = update.get("action")
        change = changes.get(action) if isinstance(action, str) else None
        if change is None:
            raise refused(f"update {number + 1} has an unknown action: {action!r:.100}")
        change(draft, update)


def field_of(update: Mapping[str, Any], name: str, form: Converter[T]) -> T:
    """Returns a field that an update must have. Raises Invalid without it, and for another form."""
    what = f"{name} of the update {update['action']}"
    if name not in update:
        raise refused(f"{what}: it is missing")
    return checked(update[name], form, what)


def object_of(
    update: Mapping[str, Any], name: str, form: Converter[Any] | None = None
) -> dict[str, Any]:
    """Returns a field that is an object, as it was given. Raises Invalid unless it has a form."""
    given = field_of(update, name, OBJECT)
    if form is not None:
        checked(given, form, f"{name} of the update {update['action']}")
    return given
