"""Results of tools, shortened to their limit: listings end earlier, long texts are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from anabranch.mcp.limits import MAX_RESULT_BYTES

__all__ = ["MAX_CELL", "MAX_MEMBERS", "Result", "encode", "listing", "page", "shorten"]

MAX_CELL = 500
"""Characters of a text within a result, such as a value of a row."""

MAX_MEMBERS = 100
"""Members of a list or an object within a result, such as columns of a row."""

_ROOM = MAX_RESULT_BYTES - 4096
"""The bytes of the items of a listing: its other fields have the rest."""


class Result(NamedTuple):
    """What a tool returns: a JSON object, and the text of an object, if the tool reads one."""

    data: Mapping[str, Any]
    text: str | None = None


def encode(value: Any) -> str:
    """Returns a value as compact JSON."""
    return msgspec.json.encode(value).decode()


def page(response: Mapping[str, Any], items: Sequence[Any], cursor: str) -> dict[str, Any]:
    """Returns a page of a listing: as many items as fit, and `next`, the value of `after` that
    continues behind them, if there are more. The field `cursor` of an item names its position; a
    listing without such a field cannot be continued where it was cut, and says so.
    """
    kept = listing(items)
    pagination = response["pagination"]
    if len(kept) < len(items):
        if cursor:
            return {"results": kept, "has_more": True, "next": kept[-1][cursor]}
        return {"results": kept, "has_more": True, "cut": "Too long: ask for fewer by `amount`."}
    if not pagination["has_more"]:
        return {"results": kept, "has_more": False}
    return {"results": kept, "has_more": True, "next": pagination["next_offset"]}


def listing(items: Sequence[Any]) -> list[Any]:
    """Returns the first items, at least one, that fit into a result."""
    kept: list[Any] = []
    room = _ROOM
    for item in items:
        room -= len(msgspec.json.encode(item)) + 1
        if room < 0 and kept:
            break
        kept.append(item)
    return kept


def shorten(value: Any, most: int = MAX_CELL) -> Any:
    """Returns a JSON value whose texts have at most so many characters, and say that they are cut,
    and whose lists and objects have at most MAX_MEMBERS members.
    """
    if isinstance(value, str):
        if len(value) <= most:
            return value
        return f"{value[:most]}… (cut)"
    if isinstance(value, list):
        return [shorten(each, most) for each in value[:MAX_MEMBERS]]
    if isinstance(value, dict):
        first = list(value.items())[:MAX_MEMBERS]
        return {shorten(name, most): shorten(each, most) for name, each in first}
    return value
