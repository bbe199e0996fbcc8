"""The strategy `json`: merges JSON documents by path.

Objects are merged member by member, and everything else, arrays included, as one value. Numbers
keep their spelling. The result has the order of members, the indentation and the end of the
destination; members that only the source has are put after those that precede them there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from anabranch.errors import Conflict, Invalid
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    ObjectVersion,
    PathConflict,
)

__all__ = ["MAX_BYTES", "MAX_DEPTH", "json_strategy"]

MAX_BYTES = 256 << 20
MAX_DEPTH = 200
_MAX_CONFLICTS = 1000
_INDENT = re.compile(r"[\[{]\r?\n([ \t]+)")


class _Number(msgspec.Struct, frozen=True):
    """A number as it is spelled."""

    text: str


class _Missing(msgspec.Struct, frozen=True):
    """What a document has in place of a member that it lacks."""


_MISSING = _Missing()


def json_strategy(options: Mapping[str, Any]) -> _JsonStrategy:
    """Returns the strategy, which has no options. Raises Invalid for some."""
    if options:
        raise Invalid(
            f"the strategy json has no option {min(options)!r}", kind="invalid_merge_options"
        )
    return _JsonStrategy()


class _JsonStrategy:
    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Writes the merged document, or returns the members that conflict. Raises Conflict for
        content that is no JSON, or is nested too deeply.
        """
        source, destination = conflict.source, conflict.destination
        if source is None or destination is None:
            side = "source" if source is None else "destination"
            return [ContentConflict(key={}, message=f"the {side} deleted the document")]
        text = _read("destination", destination)
        ours = _parse("destination", text)
        theirs = _parse("source", _read("source", source))
        base: Any = _MISSING
        if conflict.base is not None:
            base = _parse("base", _read("base", conflict.base))
        elif isinstance(ours, dict) and isinstance(theirs, dict):
            base = {}
        conflicts: list[ContentConflict] = []
        merged = _merge(base, theirs, ours, "", conflicts)
        if not conflicts:
            with output.create(conflict.path) as stream:
                stream.write(_write(merged, text).encode("utf-8", "surrogatepass"))
        return conflicts[:_MAX_CONFLICTS]


def _merge(
    base: Any, source: Any, destination: Any, pointer: str, conflicts: list[ContentConflict]
) -> Any:
    """Returns the merge of three values, of which each may be missing; adds to `conflicts`."""
    if source in (base, destination):
        return destination
    if destination == base:
        return source
    sides = base, source, destination
    if not all(isinstance(side, dict) for side in sides):
        if len(conflicts) < _MAX_CONFLICTS:
            values = [_plain(side) for side in sides]
            key = {"pointer": pointer}
            conflicts.append(
                ContentConflict(key=key, base=values[0], source=values[1], destination=values[2])
            )
        return destination
    merged = {}
    for name in _member_order(source, destination):
        values = [side.get(name, _MISSING) for side in sides]
        # added by both: two new objects are merged like changes of an empty one
        if values[0] is _MISSING and all(isinstance(value, dict) for value in values[1:]):
            values[0] = {}
        escaped = name.replace("~", "~0").replace("/", "~1")
        value = _merge(values[0], values[1], values[2], f"{pointer}/{escaped}", conflicts)
        if value is not _MISSING:
            merged[name] = value
    return merged


def _member_order(source: Mapping[str, Any], destination: Mapping[str, Any]) -> list[str]:
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


def _read(side: str, version: ObjectVersion) -> str:
    if version.size > MAX_BYTES:
        _fail(side, f"has {version.size} bytes; at most {MAX_BYTES} are merged")
    with version.open() as stream:
        content = stream.read()
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        _fail(side, "is UTF-16, not UTF-8")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        _fail(side, f"is not UTF-8: byte {error.start}")


def _parse(side: str, text: str) -> Any:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            _fail(side, f"has the member {twice!r} twice in one object")
        return found

    def constant(name: str) -> NoReturn:
        _fail(side, f"has {name}, which is no JSON")

    try:
        value = json.loads(
            text.removeprefix("\ufeff"),
            parse_float=_Number,
            parse_int=_Number,
            parse_constant=constant,
            object_pairs_hook=members,
        )
    except json.JSONDecodeError as error:
        _fail(side, f"is no JSON: line {error.lineno}, column {error.colno}: {error.msg}")
    except RecursionError:
        _fail(side, f"is nested more than {MAX_DEPTH} levels deep")
    _require_shallow(side, value)
    return value


def _require_shallow(side: str, value: Any) -> None:
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            _fail(side, f"is nested more than {MAX_DEPTH} levels deep")
        parts: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                parts += each.values()
            elif isinstance(each, list):
                parts += each
        level, depth = parts, depth + 1


def _write(value: Any, like: str) -> str:
    """Returns a document that is indented, and ends, like another."""
    found = _INDENT.search(like)
    indent = found[1] if found else None
    end = like[len(like.rstrip()) :]
    mark = "\ufeff" if like.startswith("\ufeff") else ""
    line_end = "\r\n" if found and "\r\n" in found[0] else "\n"
    compact = indent is None and ": " not in like and ", " not in like
    is_ascii = like.isascii()
    comma, colon = (",", ":") if compact else (", ", ": ")

    def write(value: Any, margin: str) -> str:
        if isinstance(value, _Number):
            return value.text
        if not isinstance(value, dict | list) or not value:
            return json.dumps(value, ensure_ascii=is_ascii)
        inner = margin + (indent or "")
        if isinstance(value, dict):
            items = [
                f"{json.dumps(name, ensure_ascii=is_ascii)}{colon}{write(member, inner)}"
                for name, member in value.items()
            ]
        else:
            items = [write(item, inner) for item in value]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        if indent is None:
            return opening + comma.join(items) + closing
        lines = f",{line_end}{inner}".join(items)
        return f"{opening}{line_end}{inner}{lines}{line_end}{margin}{closing}"

    return mark + write(value, "") + end


def _plain(value: Any) -> Any:
    """Returns a value for a report; a number as one, None for a missing member."""
    if isinstance(value, _Missing):
        return None
    if isinstance(value, _Number):
        return json.loads(value.text)
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _fail(side: str, reason: str) -> NoReturn:
    raise Conflict(f"the {side} {reason}", kind="merge_failed", hint="Choose a side for this path.")
