"""The schema in a Parquet file's footer: annotations of columns that Arrow reads over.

Arrow reads ENUM, BSON, INTERVAL, VARIANT, GEOMETRY and others as bytes or structs, and JSON as
text, and writes them without their annotation, so that other readers see another type. A footer is
a structure of Thrift's compact protocol, whose second field is the list of the schema's elements;
all before and after it is copied. The formats: `parquet.thrift` of apache/parquet-format, and
`thrift-compact-protocol.md` of apache/thrift.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import msgspec

__all__ = [
    "Element",
    "columns_of",
    "is_enum",
    "is_interval",
    "is_opaque",
    "read_columns",
    "replace_annotations",
]

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")
_SCHEMA_FIELD = 2
_TYPE, _NAME, _CHILDREN, _CONVERTED, _LOGICAL = 1, 4, 5, 6, 10
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(
    13
)
_MAX_DEPTH = 64
_VARIANT = 16
_STRING, _ENUM, _JSON = 1, 4, 12
_CONVERTED_STRING, _CONVERTED_ENUM, _CONVERTED_JSON, _CONVERTED_INTERVAL = 0, 4, 19, 21


class _Field(NamedTuple):
    """A field of a Thrift structure: its number, its type, and its value: a number, bytes as they
    are written, a list of fields, or the type and items of a list.
    """

    number: int
    kind: int
    value: Any


class Element(msgspec.Struct, frozen=True):
    """An element of a schema, and those below it."""

    fields: list[Any]
    children: list[Element]

    def value(self, number: int) -> Any:
        """Returns the value of a field, None without it."""
        return next((field.value for field in self.fields if field.number == number), None)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004
                return value
            shift += 7

    def number(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def structure(self, depth: int = 0) -> list[_Field]:
        fields: list[_Field] = []
        last = 0
        if depth > _MAX_DEPTH:
            raise ValueError("a footer is nested too deep")
        while header := self._byte():
            kind = header & 0x0F
            last = last + (header >> 4) if header >> 4 else self.number()
            fields.append(_Field(last, kind, self.value(kind, depth)))
        return fields

    def value(self, kind: int, depth: int = 0) -> Any:  # noqa: PLR0911  one for each kind
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in (_I16, _I32, _I64):
            return self.number()
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BINARY:
            return self._take(self.varint())
        if kind in (_LIST, _SET):
            header = self._byte()
            count = header >> 4 if header >> 4 != 0x0F else self.varint()  # noqa: PLR2004
            item = header & 0x0F
            read = self._byte if item in (_TRUE, _FALSE) else None
            return item, [read() if read else self.value(item, depth + 1) for _ in range(count)]
        if kind == _STRUCT:
            return self.structure(depth + 1)
        raise ValueError(f"a footer has the type {kind}, which Parquet does not have")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, length: int) -> bytes:
        self.at += length
        return self.data[self.at - length : self.at]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:  # noqa: PLR2004
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _write(kind: int, value: Any) -> bytes:  # noqa: PLR0911  one for each kind
    if kind in (_TRUE, _FALSE):
        return b""  # the type is the value
    if kind == _BYTE:
        return bytes([value])
    if kind in (_I16, _I32, _I64):
        return _varint(value << 1 ^ value >> 63)
    if kind == _DOUBLE:
        return bytes(value)
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind in (_LIST, _SET):
        item, items = value
        count = len(items)
        head = bytes([count << 4 | item]) if count < 0x0F else bytes([0xF0 | item]) + _varint(count)  # noqa: PLR2004
        flags = item in (_TRUE, _FALSE)
        return head + b"".join(bytes([each]) if flags else _write(item, each) for each in items)
    return _structure(value)


def _structure(fields: Sequence[_Field]) -> bytes:
    out, last = bytearray(), 0
    for field in fields:
        step = field.number - last
        is_short = 0 < step < 0x10  # noqa: PLR2004
        out += bytes([step << 4 | field.kind] if is_short else [field.kind])
        if not is_short:
            out += _varint(field.number << 1 ^ field.number >> 63)
        out += _write(field.kind, field.value)
        last = field.number
    return bytes(out) + b"\0"


def _footer(file: BinaryIO) -> bytes:
    """Returns the footer of a file. Raises ValueError for a file without one."""
    end = file.seek(0, 2)
    file.seek(max(0, end - _TAIL.size))
    tail = file.read()
    if len(tail) < _TAIL.size or tail[4:] != _MAGIC:
        raise ValueError("the file has no footer that can be read")
    length, _ = _TAIL.unpack(tail)
    if length > end - _TAIL.size:
        raise ValueError("the footer is longer than the file")
    file.seek(end - _TAIL.size - length)
    return file.read(length)


def _schema(footer: bytes) -> tuple[int, int, list[list[_Field]]]:
    """Returns where the list of elements begins and ends, and the elements."""
    reader = _Reader(footer)
    last = 0
    while header := reader._byte():  # noqa: SLF001  of this module
        kind = header & 0x0F
        last = last + (header >> 4) if header >> 4 else reader.number()
        start = reader.at
        value = reader.value(kind)
        if last == _SCHEMA_FIELD:
            return start, reader.at, value[1]
    raise ValueError("the footer has no schema")


def read_columns(file: BinaryIO) -> Mapping[str, Element]:
    """Returns the columns of a Parquet file by name. Raises ValueError for a malformed footer."""
    try:
        return columns_of(_schema(_footer(file))[2])
    except (IndexError, StopIteration) as error:
        raise ValueError("the footer is cut off") from error


def columns_of(elements: Sequence[list[_Field]]) -> Mapping[str, Element]:
    """Returns the columns at the top of a schema by name."""
    rest = iter(elements)
    root = _element(next(rest), rest)
    return {_name(child): child for child in root.children}


def _element(fields: list[_Field], rest: Iterator[list[_Field]]) -> Element:
    count = next((field.value for field in fields if field.number == _CHILDREN), 0)
    return Element(fields, [_element(next(rest), rest) for _ in range(count)])


def _name(element: Element) -> str:
    return bytes(element.value(_NAME) or b"").decode("utf-8", "replace")


def is_opaque(element: Element) -> bool:
    """Returns whether a column is, or has, a VARIANT, whose parts must not be changed apart."""
    logical = element.value(_LOGICAL) or []
    here = any(field.number == _VARIANT for field in logical)
    return here or any(is_opaque(child) for child in element.children)


def is_interval(element: Element) -> bool:
    """Returns whether a column has intervals, which only the older annotation has."""
    return bool(element.value(_CONVERTED) == _CONVERTED_INTERVAL)


def is_enum(element: Element) -> bool:
    """Returns whether a column has texts of an enumeration."""
    logical = element.value(_LOGICAL) or []
    return element.value(_CONVERTED) == _CONVERTED_ENUM or any(
        field.number == _ENUM for field in logical
    )


def replace_annotations(file: BinaryIO, originals: Mapping[str, Element]) -> None:
    """Gives columns of a Parquet file, which is open for reading and writing, the annotations of
    others with the same form that Arrow has not written. Raises ValueError for a malformed footer.
    """
    footer = _footer(file)
    start, end, elements = _schema(footer)
    rest = iter(elements)
    root = _element(next(rest), rest)
    if not any(_annotate(child, originals.get(_name(child))) for child in root.children):
        return
    listed = [each.fields for each in _flat(root)]
    changed = footer[:start] + _write(_LIST, (_STRUCT, listed)) + footer[end:]
    place = file.seek(0, 2) - _TAIL.size - len(footer)
    file.seek(place)
    file.write(changed + _TAIL.pack(len(changed), _MAGIC))
    file.truncate()


def _flat(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        yield from _flat(child)


def _annotate(element: Element, original: Element | None) -> bool:
    """Copies annotations of an element and those below. Returns whether there were any."""
    if original is None or element.value(_TYPE) != original.value(_TYPE):
        return False
    pairs = list(zip(element.children, original.children, strict=False))
    if len(element.children) != len(original.children):
        return False
    changed = False
    wanted = [field for field in original.fields if field.number in (_CONVERTED, _LOGICAL)]
    if wanted and _may_replace(element, original):
        kept = [field for field in element.fields if field.number not in (_CONVERTED, _LOGICAL)]
        element.fields[:] = sorted([*kept, *wanted], key=lambda field: field.number)
        changed = True
    return any([changed, *(_annotate(*pair) for pair in pairs)])


def _may_replace(element: Element, original: Element) -> bool:
    mine = element.value(_LOGICAL)
    if mine is None and element.value(_CONVERTED) is None:
        return True
    logical = original.value(_LOGICAL)
    is_text = element.value(_CONVERTED) == _CONVERTED_STRING or (
        mine is not None and [field.number for field in mine] == [_STRING]
    )
    is_replaced = original.value(_CONVERTED) in (_CONVERTED_ENUM, _CONVERTED_JSON) or (
        logical is not None and any(field.number in (_ENUM, _JSON) for field in logical)
    )
    return is_text and is_replaced
