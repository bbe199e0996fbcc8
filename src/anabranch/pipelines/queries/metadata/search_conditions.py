"""Conditions of SQL as those of a search among objects.

A search may return more rows than meet the conditions, so those that it cannot check are left out.
It compares bytes, and SQL the shown text, in which U+FFFD replaces bytes that are not UTF-8. Both
have the same order only where they are compared with ASCII, so paths are bounded by it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from anabranch.catalog.objects.change_search import ChangeConditions
from anabranch.catalog.objects.object_search import MetadataCondition, ObjectConditions
from anabranch.model.page import upper_bound

__all__ = ["SqlCondition", "change_conditions", "search_conditions"]

SqlCondition = Sequence[str | int | Sequence[str]]
"""Column, operator (one of = < <= > >=), value, and an empty text; of user metadata the operator is
one of `MetadataCondition`, with its values and its key.
"""

_LEAST, _MOST = -(2**63), 2**63 - 1
_LAST_ASCII = 0x7F
_REPLACEMENT = "\ufffd"


def search_conditions(conditions: Iterable[SqlCondition]) -> ObjectConditions:
    """Returns the conditions of a search."""
    start, ends = b"", list[bytes]()
    bounds = {"size": (_LEAST, _MOST), "last_modified": (_LEAST, _MOST)}
    content_types: tuple[str, ...] = ()
    metadata = []
    for column, operator, value, key in conditions:
        if column in bounds and isinstance(value, int):
            bounds[str(column)] = _narrow(*bounds[str(column)], str(operator), value)
        elif column == "path" and isinstance(value, str):
            if operator in {"=", ">", ">="}:
                start = max(start, _ascii(value))
            if operator in {"=", "<", "<="}:
                limit = _limit(value, included=operator != "<")
                ends += [] if limit is None else [limit]
        elif column == "content_type" and operator == "=" and _REPLACEMENT not in str(value):
            content_types = (str(value),)
        elif column == "metadata" and _REPLACEMENT not in f"{key}{value}":
            values = (value,) if isinstance(value, int | str) else value
            metadata.append(MetadataCondition(str(key), str(operator), tuple(map(str, values))))
    everything = (_LEAST, _MOST)
    return ObjectConditions(
        start=start,
        end=min(ends, default=None),
        sizes=None if bounds["size"] == everything else bounds["size"],
        times=None if bounds["last_modified"] == everything else bounds["last_modified"],
        content_types=content_types,
        metadata=tuple(metadata),
    )


def change_conditions(conditions: Sequence[SqlCondition]) -> ChangeConditions:
    """Returns the conditions of a search among differences."""
    keys = search_conditions(each for each in conditions if each[0] == "path")
    kinds = [str(each[2]) for each in conditions if each[0] == "change" and each[1] == "="]
    return ChangeConditions(start=keys.start, end=keys.end, kinds=tuple(kinds[:1]))


def _narrow(least: int, most: int, operator: str, value: int) -> tuple[int, int]:
    if operator in {"=", ">=", ">"}:
        least = max(least, min(value + (operator == ">"), _MOST))
    if operator in {"=", "<=", "<"}:
        most = min(most, max(value - (operator == "<"), _LEAST))
    return least, most


def _ascii(text: str) -> bytes:
    """Returns the longest beginning of a text that is ASCII."""
    encoded = text.encode("utf-8", "surrogatepass")
    return encoded[: next((at for at, byte in enumerate(encoded) if byte > _LAST_ASCII), None)]


def _limit(text: str, *, included: bool) -> bytes | None:
    """Returns a key above all that are less than a text, or equal if that is `included`; None if
    there is none.
    """
    beginning = _ascii(text)
    if len(beginning) < len(text):
        return upper_bound(beginning)
    return beginning + b"\0" if included else beginning
