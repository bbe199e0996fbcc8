"""A writer of Parquet files: flat tables of text and numbers without nulls.

    PAR1  a page of each column, gzipped  footer  length of the footer (4 bytes)  PAR1

Headers and the footer are in Thrift's compact protocol. This is the smallest part of the format
that every reader supports; a server needs no library for the few tables that it writes. Source:
the Apache Parquet format's `parquet.thrift` and "Thrift Compact protocol encoding".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence

__all__ = ["parquet_table"]

_MAGIC = b"PAR1"
_INT64, _DOUBLE, _BYTE_ARRAY = 2, 5, 6
_REQUIRED = 0
_UTF8, _SIGNED_64 = 0, 18
_PLAIN, _RLE = 0, 3
_GZIP = 2
_DATA_PAGE = 0
_VERSION = 1
_GZIP_WINDOW = 31

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12

Column = Sequence[str] | Sequence[int] | Sequence[float]


def parquet_table(columns: Mapping[str, Column], created_by: str) -> bytes:
    """Returns a file of columns, all of one length, by name: texts (in UTF-8; what is no Unicode
    becomes replacement characters), whole numbers of 64 bits, or floating-point numbers.
    """
    rows = len(next(iter(columns.values())))
    out = bytearray(_MAGIC)
    schema, chunks, total = [_group(len(columns))], [], 0
    for name, values in columns.items():
        kind, converted, plain = _encode(values)
        packed = _gzip(plain)
        header = _page_header(len(plain), len(packed), rows)
        offset = len(out)
        out += header + packed
        unpacked_size, packed_size = len(header) + len(plain), len(header) + len(packed)
        total += unpacked_size
        schema.append(_leaf(name, kind, converted))
        chunks.append(_chunk(name, kind, rows, unpacked_size, packed_size, offset))
    row_group = _struct((1, _LIST, _structs(chunks)), (2, _I64, total), (3, _I64, rows))
    footer = _struct(
        (1, _I32, _VERSION),
        (2, _LIST, _structs(schema)),
        (3, _I64, rows),
        (4, _LIST, _structs([row_group])),
        (6, _BINARY, created_by.encode()),
    )
    return bytes(out) + footer + struct.pack("<I", len(footer)) + _MAGIC


def _encode(values: Column) -> tuple[int, int | None, bytes]:
    """Returns a column's type, what it means if it is more than that, and its values in the
    encoding PLAIN.
    """
    if all(isinstance(value, int) for value in values):
        return _INT64, _SIGNED_64, struct.pack(f"<{len(values)}q", *values)
    if all(isinstance(value, float) for value in values):
        return _DOUBLE, None, struct.pack(f"<{len(values)}d", *values)
    raws = [str(value).encode("utf-8", "replace") for value in values]
    return _BYTE_ARRAY, _UTF8, b"".join(struct.pack("<I", len(raw)) + raw for raw in raws)


def _gzip(plain: bytes) -> bytes:
    packer = zlib.compressobj(wbits=_GZIP_WINDOW)
    return packer.compress(plain) + packer.flush()


def _page_header(unpacked: int, packed: int, rows: int) -> bytes:
    page = _struct((1, _I32, rows), (2, _I32, _PLAIN), (3, _I32, _RLE), (4, _I32, _RLE))
    sizes = ((2, _I32, unpacked), (3, _I32, packed))
    return _struct((1, _I32, _DATA_PAGE), *sizes, (5, _STRUCT, page))


def _group(children: int) -> bytes:
    return _struct((4, _BINARY, b"schema"), (5, _I32, children))


def _leaf(name: str, kind: int, converted: int | None) -> bytes:
    meaning = () if converted is None else ((6, _I32, converted),)
    return _struct((1, _I32, kind), (3, _I32, _REQUIRED), (4, _BINARY, name.encode()), *meaning)


def _chunk(name: str, kind: int, rows: int, unpacked: int, packed: int, offset: int) -> bytes:
    path = _list(_BINARY, [_varint(len(name.encode())) + name.encode()])
    metadata = _struct(
        (1, _I32, kind),
        (2, _LIST, _list(_I32, [_zigzag(_PLAIN)])),
        (3, _LIST, path),
        (4, _I32, _GZIP),
        (5, _I64, rows),
        (6, _I64, unpacked),
        (7, _I64, packed),
        (9, _I64, offset),
    )
    return _struct((2, _I64, offset), (3, _STRUCT, metadata))


# --- Thrift's compact protocol -----------------------------------------------------------------


def _struct(*fields: tuple[int, int, int | bytes]) -> bytes:
    """Returns a struct of fields (id, type, value) by rising ids; lists and structs are encoded
    already.
    """
    out, last = bytearray(), 0
    for number, kind, value in fields:
        out.append((number - last) << 4 | kind)
        last = number
        if isinstance(value, int):
            out += _zigzag(value)
        elif kind == _BINARY:
            out += _varint(len(value)) + value
        else:
            out += value
    out.append(0)
    return bytes(out)


def _structs(items: Sequence[bytes]) -> bytes:
    return _list(_STRUCT, items)


def _list(kind: int, items: Sequence[bytes]) -> bytes:
    short = 15
    head = (
        bytes([len(items) << 4 | kind])
        if len(items) < short
        else bytes([short << 4 | kind]) + _varint(len(items))
    )
    return head + b"".join(items)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004  seven bits a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
