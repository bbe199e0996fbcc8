"""The blocks of an Avro file, examined before it is read.

A few bytes can stand for gigabytes: compressed blocks, and counts of values that take no bytes. The
library that reads the records has no limit for either.

Source: the Avro specification, "Object Container Files".
"""

from __future__ import annotations

import io
import json
import zlib
from typing import Any, NamedTuple

from anabranch.tables.iceberg.avro_times import without_times
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.live_rows.table_objects import MAX_METADATA_BYTES

__all__ = ["plain_file"]

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_MAX_VARINT_BYTES = 10
_CHECKSUM_BYTES = 4
"""The length of what follows a block that is compressed with snappy."""


class PlainFile(NamedTuple):
    """The bytes of a file, and the schema of the one that it is made from."""

    content: bytes
    schema: Any


def plain_file(content: bytes) -> PlainFile:
    """Returns a file with the same records without compression, and numbers in place of times.
    Raises Invalid for one whose blocks have more than MAX_METADATA_BYTES, or more values than
    bytes; and for a damaged one.
    """
    stream = io.BytesIO(content)
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise unreadable("it is no Avro file")
    header = _header(stream)
    codec = header.pop("avro.codec", b"null").decode("ascii", "replace")
    schema = json.loads(header.get("avro.schema", b"null"))
    _require_sized(schema)
    header["avro.schema"] = json.dumps(without_times(schema)).encode()
    sync = _read(stream, _SYNC_BYTES)
    parts = [_MAGIC, _encode_header(header), sync]
    left = MAX_METADATA_BYTES
    while stream.tell() < len(content):
        count, size = _long(stream), _long(stream)
        block = _plain(codec, _read(stream, size), left)
        left -= len(block)
        if left < 0:
            raise unreadable(f"it has more than {MAX_METADATA_BYTES >> 20} MiB")
        if not 0 <= count <= len(block):
            raise unreadable("it has more records than bytes")
        if _read(stream, _SYNC_BYTES) != sync:
            raise unreadable("a block does not end with the marker of the file")
        parts += [_encode(count), _encode(len(block)), block, sync]
    return PlainFile(b"".join(parts), schema)


def _header(stream: io.BytesIO) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    while count := _long(stream):
        if count < 0:
            _long(stream)  # the size of the block
        for _ in range(abs(count)):
            key = _read(stream, _long(stream)).decode()
            found[key] = _read(stream, _long(stream))
    return found


def _plain(codec: str, block: bytes, limit: int) -> bytes:
    """Returns a block without compression; at most one byte more than the limit."""
    import pyarrow as pa  # noqa: PLC0415  an optional library

    if codec == "null":
        return block
    if codec == "deflate":
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(block, limit + 1)
    if codec == "snappy":
        size = _varint(io.BytesIO(block))
        if size > limit:
            raise unreadable(f"it has more than {MAX_METADATA_BYTES >> 20} MiB")
        packed = block[:-_CHECKSUM_BYTES]
        return bytes(pa.Codec("snappy").decompress(packed, decompressed_size=size))
    if codec == "zstandard":
        with pa.CompressedInputStream(pa.BufferReader(block), "zstd") as plain:
            return bytes(plain.read(limit + 1))
    raise unreadable(f"its compression {codec} is not read")


def _require_sized(schema: Any) -> None:
    """Raises Invalid for lists and maps of values without bytes, of which there may be any
    number.
    """
    if isinstance(schema, list):
        for each in schema:
            _require_sized(each)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind == "array" and _is_empty(schema.get("items")):
            raise unreadable("it has a list of values without bytes")
        for part in ("items", "values", "type"):
            if isinstance(schema.get(part), dict | list):
                _require_sized(schema[part])
        for field in schema.get("fields") or ():
            _require_sized(field)


def _is_empty(schema: Any) -> bool:
    if isinstance(schema, dict):
        kind = schema.get("type")
        if kind == "record":
            return all(_is_empty(field.get("type")) for field in schema.get("fields") or ())
        return (kind == "fixed" and not schema.get("size")) or _is_empty(kind)
    return bool(schema == "null")


def _read(stream: io.BytesIO, size: int) -> bytes:
    content = stream.read(size) if size >= 0 else b""
    if len(content) != size:
        raise unreadable("it is cut off")
    return content


def _long(stream: io.BytesIO) -> int:
    value = _varint(stream)
    return (value >> 1) ^ -(value & 1)


def _varint(stream: io.BytesIO) -> int:
    value = 0
    for number in range(_MAX_VARINT_BYTES):
        (byte,) = _read(stream, 1)
        value |= (byte & 0x7F) << (7 * number)
        if byte < 0x80:  # noqa: PLR2004  the last byte of a number
            return value
    raise unreadable("it has a number that is too long")


def _encode(number: int) -> bytes:
    """Returns a number that is not negative as Avro writes it."""
    value = number << 1
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _encode_header(header: dict[str, bytes]) -> bytes:
    parts = [_encode(len(header))] if header else []
    for key, value in header.items():
        name = key.encode()
        parts += [_encode(len(name)), name, _encode(len(value)), value]
    return b"".join((*parts, _encode(0)))
