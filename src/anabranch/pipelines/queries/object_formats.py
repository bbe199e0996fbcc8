"""The formats of objects that are read as tables."""

from __future__ import annotations

from typing import Any

from anabranch.errors import Invalid
from anabranch.files.ranged_stream import open_ranges
from anabranch.model.uri import parse_uri
from anabranch.pipelines.queries.readable_objects import ReadableObjects
from anabranch.tables.formats import (
    EXTENSIONS,
    FORMAT_NAMES,
    TableFormat,
    binary_format,
    format_named,
    format_of,
)

__all__ = ["object_format", "require_format"]

_EDGE_BYTES = 64


def require_format(name: str) -> TableFormat:
    """Returns the format with a name, which may be an extension. Raises Invalid for an unknown
    one.
    """
    found = format_named(name)
    if found is None:
        raise Invalid(
            f"the format must be one of {FORMAT_NAMES}, not {name!r}",
            kind="unknown_table_format",
        )
    return found


def object_format(objects: ReadableObjects, address: str, given: str = "") -> str:
    """Returns the name of an object's format: the one with the name `given`, else that of its path,
    else that of its content. Raises Invalid if none of them is known, and for a `given` one that
    the content contradicts.
    """
    path = parse_uri(address).key
    if given:
        wanted = require_format(given)
        found = _content_format(objects, address)
        if found is not None and found.name != wanted.name:
            raise Invalid(
                f"{path} is {found.title}, not {wanted.title}",
                kind="wrong_table_format",
                hint="Leave out the format: the content says it.",
            )
        return wanted.name
    named = format_of(path) or _content_format(objects, address)
    if named is None:
        raise Invalid(
            f"{path} is no table: its name ends with none of .{', .'.join(EXTENSIONS)}",
            kind="no_table",
            hint="Give its format by name.",
        )
    return named.name


def _content_format(objects: ReadableObjects, address: str) -> TableFormat | None:
    opened = objects.open(address)

    def read(start: int, length: int) -> bytes:
        return b"".join(opened.chunks(start, length))

    stream: Any = open_ranges(read, opened.entry.size, buffer_bytes=_EDGE_BYTES)
    return binary_format(stream)
