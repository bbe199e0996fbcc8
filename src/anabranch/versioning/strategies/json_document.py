"""The strategy `json`: merges JSON documents by path.

Objects are merged member by member, and everything else, arrays included, as one value. Numbers
keep their spelling. The result has the encoding, the order of members, the indentation and the end
of the destination; members that only the source has are put after those that precede them there.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.errors import Invalid
from anabranch.tables.text.encoding import TextEncoding, Utf8Text
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    ObjectVersion,
    PathConflict,
)
from anabranch.versioning.strategies.json_text import (
    MISSING,
    member_order,
    parse_json,
    plain_json,
    refuse,
    write_json,
)

__all__ = ["MAX_BYTES", "json_strategy"]

MAX_BYTES = 32 << 20
"""The largest version that is merged: values take up to 30 times as much memory."""

_MAX_CONFLICTS = 1000
_NARROW = ("ascii", "utf-8")
_UTF8 = TextEncoding("utf-8", "UTF-8")


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
        text, encoding = _read("destination", destination)
        ours = parse_json("destination", text)
        theirs = parse_json("source", _read("source", source)[0])
        base: Any = MISSING
        if conflict.base is not None:
            base = parse_json("base", _read("base", conflict.base)[0])
        elif isinstance(ours, dict) and isinstance(theirs, dict):
            base = {}
        conflicts: list[ContentConflict] = []
        merged = _merge(base, theirs, ours, [], conflicts)
        if not conflicts:
            with output.create(conflict.path) as stream:
                result = write_json(merged, text).encode(encoding.codec, "surrogatepass")
                stream.write(encoding.mark + result)
        return conflicts[:_MAX_CONFLICTS]


def _merge(
    base: Any, source: Any, destination: Any, names: list[str], conflicts: list[ContentConflict]
) -> Any:
    """Returns the merge of three values, of which each may be missing; adds to `conflicts`. `names`
    are those of the members that lead to them: as a pointer at each level, long ones would take
    gigabytes.
    """
    if source in (base, destination):
        return destination
    if destination == base:
        return source
    sides = base, source, destination
    if not all(isinstance(side, dict) for side in sides):
        if len(conflicts) < _MAX_CONFLICTS:
            values = [plain_json(side) for side in sides]
            key = {"pointer": "".join(map(_pointer_part, names))}
            conflicts.append(
                ContentConflict(key=key, base=values[0], source=values[1], destination=values[2])
            )
        return destination
    merged = {}
    for name in member_order(source, destination):
        values = [side.get(name, MISSING) for side in sides]
        # added by both: two new objects are merged like changes of an empty one
        if values[0] is MISSING and all(isinstance(value, dict) for value in values[1:]):
            values[0] = {}
        names.append(name)
        value = _merge(values[0], values[1], values[2], names, conflicts)
        names.pop()
        if value is not MISSING:
            merged[name] = value
    return merged


def _pointer_part(name: str) -> str:
    """Returns a name as JSON pointers (RFC 6901) have it."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _read(side: str, version: ObjectVersion) -> tuple[str, TextEncoding]:
    """Returns a document and its encoding: UTF-8, UTF-16 or UTF-32."""
    if version.size > MAX_BYTES:
        refuse(side, f"has {version.size} bytes; at most {MAX_BYTES} are merged")
    with version.open() as stream:
        content = stream.read()
    encoding = Utf8Text(io.BytesIO(content)).encoding
    if encoding.codec in _NARROW:
        encoding = _UTF8
    try:
        return content[len(encoding.mark) :].decode(encoding.codec), encoding
    except UnicodeDecodeError as error:
        refuse(side, f"is not {encoding.title}: byte {error.start}")
