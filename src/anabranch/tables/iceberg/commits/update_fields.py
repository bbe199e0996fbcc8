"""The fields of the updates of a commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from anabranch.converter import Converter
from anabranch.tables.iceberg.commits.forms import OBJECT
from anabranch.tables.iceberg.commits.refusals import checked, refused

__all__ = ["field_of", "object_of"]

T = TypeVar("T")


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
