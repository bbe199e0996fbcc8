"""JSON as merges read and write it: numbers keep their spelling, members their order."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, NoReturn

import msgspec

from anabranch.errors import Conflict
from anabranch.tables.json_values import to_json

__all__ = [
    "MAX_DEPTH",
    "MISSING",
    "canonical_json",
    "member_order",
    "parse_json",
    "plain_json",
    "refuse",
    "same_json",
    "write_json",
]

MAX_DEPTH = 200
_MAX_DIGITS = 38
"""Digits of numbers that are shown without an exponent."""

_INDENT = re.compile(r"[\[{]\r?\n([ \t]{1,64})")
"""The indentation of a document. More of it would be repeated before each member at each level."""

_HALF_PAIR = re.compile("[\ud800-\udfff]")


class _Number(msgspec.Struct, frozen=True):
    """A number as it is spelled."""

    text: str


_number = lru_cache(maxsize=4096)(_Number)
"""Makes a number; short ones, of which a document may have many, share their memory."""


class _Missing(msgspec.Struct, frozen=True):
    """What a document has in place of a member that it lacks."""


MISSING = _Missing()
"""The value of a member that an object lacks."""


def parse_json(side: str, text: str) -> Any:
    """Returns the value of a JSON text. Raises Conflict (kind merge_failed), which names the side,
    for what is no JSON, for objects with a name twice, and beyond MAX_DEPTH.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            twice = next(name for name, count in counts.items() if count > 1)
            refuse(side, f"has the member {twice!r} twice in one object")
        return found

    def constant(name: str) -> NoReturn:
        refuse(side, f"has {name}, which is no JSON")

    try:
        value = json.loads(
            text.removeprefix("\ufeff"),
            parse_float=_number,
            parse_int=_number,
            parse_constant=constant,
            object_pairs_hook=members,
        )
    except json.JSONDecodeError as error:
        refuse(side, f"is no JSON: line {error.lineno}, column {error.colno}: {error.msg}")
    except RecursionError:
        refuse(side, f"is nested more than {MAX_DEPTH} levels deep")
    _require_shallow(side, value)
    return value


def _require_shallow(side: str, value: Any) -> None:
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            refuse(side, f"is nested more than {MAX_DEPTH} levels deep")
        parts: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                parts += each.values()
            elif isinstance(each, list):
                parts += each
        level, depth = parts, depth + 1


def write_json(value: Any, like: str) -> str:
    """Returns a document that is indented, and ends, like another."""
    found = _INDENT.search(like)
    indent = found[1] if found else None
    end = like[len(like.rstrip()) :]
    mark = "\ufeff" if like.startswith("\ufeff") else ""
    line_end = "\r\n" if found and "\r\n" in found[0] else "\n"
    compact = indent is None and ": " not in like and ", " not in like
    is_ascii = like.isascii()
    comma, colon = (",", ":") if compact else (", ", ": ")

    parts = [mark]

    def text(value: Any) -> str:
        # half a pair of UTF-16 is no character: only its escape can be written
        is_escaped = is_ascii or (isinstance(value, str) and _HALF_PAIR.search(value) is not None)
        return json.dumps(value, ensure_ascii=is_escaped)

    def write(value: Any, margin: str) -> None:
        if isinstance(value, _Number):
            parts.append(value.text)
            return
        if not isinstance(value, dict | list) or not value:
            parts.append(text(value))
            return
        inner = margin + (indent or "")
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        before = opening if indent is None else f"{opening}{line_end}{inner}"
        between = comma if indent is None else f",{line_end}{inner}"
        for item in value:
            parts.append(before)
            before = between
            if isinstance(value, dict):
                parts.append(text(item) + colon)
                write(value[item], inner)
            else:
                write(item, inner)
        parts.append(closing if indent is None else f"{line_end}{margin}{closing}")

    write(value, "")
    parts.append(end)
    return "".join(parts)


def member_order(source: Mapping[str, Any], destination: Mapping[str, Any]) -> list[str]:
    """Returns all names in the order of the destination; each that only the source has comes after
    the name that precedes it there.
    """
    following: dict[str, list[str]] = {}
    before = ""
    first: list[str] = []
    for name in source:
        if name in destination:
            before, added = name, following.setdefault(name, [])
        else:
            added = following.get(before, first)
            added.append(name)
    order = first
    for name in destination:
        order.append(name)
        order += following.get(name, ())
    return order


def plain_json(value: Any) -> Any:
    """Returns a value in the JSON form of values of tables, None for a missing member."""
    if isinstance(value, _Missing):
        return None
    if isinstance(value, _Number):
        return _plain_number(value.text)
    if isinstance(value, dict):
        return {name: plain_json(member) for name, member in value.items()}
    return [plain_json(item) for item in value] if isinstance(value, list) else value


def _plain_number(text: str) -> Any:
    """Returns a number that JSON readers keep, text with its digits for others."""
    digits = text.removeprefix("-")
    if digits.isdigit():
        return to_json(int(text)) if len(digits) <= _MAX_DIGITS else text
    number = float(text)
    try:
        exact = Decimal(text)
    except ArithmeticError:  # an exponent that is out of range
        return text
    if math.isfinite(number) and Decimal(repr(number)) == exact:
        return number
    return to_json(exact) if abs(exact.adjusted()) <= _MAX_DIGITS else text


def same_json(one: Any, other: Any) -> bool:
    """Returns whether two values are the same, however their numbers are spelled."""
    if isinstance(one, _Number) and isinstance(other, _Number):
        if one.text == other.text:
            return True
        try:
            return Decimal(one.text) == Decimal(other.text)
        except ArithmeticError:  # an exponent that is out of range
            return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return type(one) is type(other) and bool(one == other)


def canonical_json(value: Any) -> str:
    """Returns a text that is equal for values that are the same, and for no others."""
    if isinstance(value, _Number):
        return _canonical_number(value.text)
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{canonical_json(value[name])}" for name in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    return json.dumps(value)


def _canonical_number(text: str) -> str:
    try:
        sign, digits, exponent = Decimal(text).as_tuple()
    except ArithmeticError:  # an exponent that is out of range
        return f"number {text}"
    plain = "".join(map(str, digits)).lstrip("0")
    short = plain.rstrip("0")
    if not short or not isinstance(exponent, int):
        return "0"
    return f"{'-' * sign}{short}e{exponent + len(plain) - len(short)}"


def refuse(side: str, reason: str) -> NoReturn:
    """Raises Conflict for content of a side that cannot be merged."""
    raise Conflict(f"the {side} {reason}", kind="merge_failed", hint="Choose a side for this path.")
