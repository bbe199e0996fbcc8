"""Reads the kernel's tables in plain Python, to check it against something that shares no line.

The format is drawn in `docs/format/table.md`. A reading goes from the end to the start: footer,
list of meta blocks, properties, index, data blocks.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from support.formats.snappy import decompress

__all__ = ["Table", "crc32c", "decode_value", "encode_value", "read_table", "table_id"]

FOOTER = struct.Struct("<B40sI8s")
MAGIC = bytes.fromhex("f7cff485b741e288")
SET_TRAILER = struct.pack("<Q", 1)
TWO_LEVELS = 2

Record = tuple[bytes, bytes]


@dataclass
class Table:
    """The content of a table."""

    records: list[Record] = field(default_factory=list)
    """Keys with their framed values, in order."""
    properties: dict[str, bytes] = field(default_factory=dict)
    blocks: list[int] = field(default_factory=list)
    """How many records each data block has."""
    two_levels: bool = False


def read_table(file: bytes) -> Table:
    """Reads a whole table. Raises ValueError where it is not what it must be."""
    checksum, handles, version, magic = FOOTER.unpack(file[-FOOTER.size :])
    if (checksum, version, magic) != (1, 2, MAGIC):
        raise ValueError("not a table")
    metaindex, position = _handle(handles, 0)
    index, _ = _handle(handles, position)
    table = Table()
    for name, value in _entries(_block(file, metaindex)):
        if name == b"rocksdb.properties":
            properties = _entries(_block(file, _handle(value, 0)[0]))
            table.properties = {key.decode(): value for key, value in properties}
    kind = table.properties["rocksdb.block.based.table.index.type"]
    table.two_levels = int.from_bytes(kind, "little") == TWO_LEVELS
    for separator, handle in _data_blocks(file, index, two_levels=table.two_levels):
        records = list(_records(_block(file, handle)))
        if any(key > separator for key, _ in records):
            raise ValueError("a key lies behind its block's separator")
        table.records += records
        table.blocks.append(len(records))
    keys = [key for key, _ in table.records]
    if any(a >= b for a, b in pairwise(keys)):
        raise ValueError("keys are not in order")
    return table


def table_id(records: Iterable[Record], metadata: Mapping[str, str]) -> str:
    """Returns the id of a table with these records and this metadata (`type` included)."""
    digest = hashlib.sha256()
    for record in records:
        for part in record:
            digest.update(b"%d%s|" % (len(part), part))
    digest.update(b"\x04" + _typed_int(len(metadata)))
    for name in sorted(metadata):
        for text in (name.encode(), metadata[name].encode()):
            digest.update(b"\x01" + _typed_int(len(text)) + text)
    return digest.hexdigest()


def encode_value(identity: bytes, data: bytes) -> bytes:
    """Returns the framed value of an identity and data."""
    return b"".join(_put_varint(2 * len(part)) + part for part in (identity, data))


def decode_value(raw: bytes) -> tuple[bytes, bytes]:
    """Returns the identity and data of a framed value."""
    length, start = _varint(raw, 0)
    end = start + length // 2
    data_length, data_start = _varint(raw, end)
    return raw[start:end], raw[data_start : data_start + data_length // 2]


def _data_blocks(
    file: bytes, index: tuple[int, int], *, two_levels: bool
) -> Iterator[tuple[bytes, tuple[int, int]]]:
    for key, value in _entries(_block(file, index)):
        handle, _ = _handle(value, 0)
        if two_levels:
            yield from _data_blocks(file, handle, two_levels=False)
        else:
            yield key[:-8], handle


def _records(content: bytes) -> Iterator[Record]:
    for key, value in _entries(content):
        if key[-8:] != SET_TRAILER:
            raise ValueError("a record does not set a value")
        yield key[:-8], value


def _block(file: bytes, handle: tuple[int, int]) -> bytes:
    offset, length = handle
    stored, trailer = file[offset : offset + length], file[offset + length : offset + length + 5]
    checksum = crc32c(stored + trailer[:1])
    masked = ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
    if trailer[1:] != struct.pack("<I", masked):
        raise ValueError("a block's checksum does not hold")
    return decompress(stored) if trailer[0] == 1 else stored


def _entries(content: bytes) -> Iterator[Record]:
    """Yields the keys and values of a block, going straight through without its restarts."""
    (restarts,) = struct.unpack("<I", content[-4:])
    position, end = 0, len(content) - 4 * (restarts + 1)
    key = b""
    while position < end:
        shared, position = _varint(content, position)
        unshared, position = _varint(content, position)
        length, position = _varint(content, position)
        value = position + unshared
        key = key[:shared] + content[position:value]
        position = value + length
        yield key, content[value:position]


def _handle(data: bytes, position: int) -> tuple[tuple[int, int], int]:
    offset, position = _varint(data, position)
    length, position = _varint(data, position)
    return (offset, length), position


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _put_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _typed_int(value: int) -> bytes:
    return b"\x02\x08" + struct.pack(">q", value)


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def crc32c(data: bytes) -> int:
    """Returns the CRC-32C (Castagnoli, RFC 3720) of bytes."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _CRC[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF
