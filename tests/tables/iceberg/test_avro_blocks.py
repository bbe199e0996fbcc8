"""Avro files whose content is out of proportion to their bytes."""

import io
import struct
import zlib

import fastavro
import pyarrow as pa
import pytest

from anabranch.errors import Invalid
from anabranch.tables.iceberg.avro_files import read_avro
from anabranch.tables.live_rows import table_objects

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}


def written(records, codec="null", schema=SCHEMA):
    stream = io.BytesIO()
    fastavro.writer(stream, schema, records, codec=codec, sync_marker=b"0" * 16)
    return stream.getvalue()


def number(value):
    value <<= 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def with_block(head, count, block):
    """Returns a file with the header of another and one block of its own."""
    return head + number(count) + number(len(block)) + block + b"0" * 16


RECORDS = [{"a": "x" * each} for each in range(50)]


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_files_are_read_whatever_their_compression(codec):
    plain = b"".join(number(len(each["a"])) + each["a"].encode() for each in RECORDS)
    packed = {
        "null": lambda: plain,
        "deflate": lambda: zlib.compress(plain, wbits=-zlib.MAX_WBITS),
        "snappy": lambda: (
            pa.Codec("snappy").compress(plain, asbytes=True) + struct.pack(">I", zlib.crc32(plain))
        ),
        "zstandard": lambda: pa.Codec("zstd").compress(plain, asbytes=True),
    }[codec]()
    head = written([]).replace(number(4) + b"null", number(len(codec)) + codec.encode())
    assert list(read_avro("f", with_block(head, 50, packed)).records) == RECORDS


def test_another_compression_is_refused_by_name():
    head = written([]).replace(number(4) + b"null", number(5) + b"bzip2")
    with pytest.raises(Invalid, match="compression bzip2 is not read"):
        read_avro("f", with_block(head, 1, b"x"))


@pytest.mark.slow
def test_blocks_that_decompress_to_too_much_are_refused():
    compressor = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    piece = b"\0" * (1 << 20)
    block = b"".join(compressor.compress(piece) for _ in range(300)) + compressor.flush()
    assert len(block) < table_objects.MAX_METADATA_BYTES / 500
    content = with_block(written([], "deflate"), 1, block)
    with pytest.raises(Invalid, match=r"f cannot be read: it has more than 256 MiB"):
        read_avro("f", content)


def test_more_records_than_bytes_are_refused():
    empty = {"type": "record", "name": "r", "fields": []}
    content = with_block(written([], schema=empty), 1 << 40, b"")
    with pytest.raises(Invalid, match="more records than bytes"):
        read_avro("f", content)


@pytest.mark.parametrize(
    "items",
    [
        "null",
        {"type": "record", "name": "e", "fields": [{"name": "n", "type": "null"}]},
        {"type": "fixed", "name": "e", "size": 0},
    ],
)
def test_lists_of_values_without_bytes_are_refused(items):
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": ["null", {"type": "array", "items": items}]}],
    }
    block = number(1) + number(1 << 40) + number(0)
    with pytest.raises(Invalid, match="list of values without bytes"):
        read_avro("f", with_block(written([], schema=schema), 1, block))


@pytest.mark.parametrize("cut", [0, 3, 30, -1, -18])
def test_files_that_are_cut_off_are_refused(cut):
    content = written([{"a": "x"}])
    with pytest.raises(Invalid, match="f cannot be read"):
        read_avro("f", content[:cut])
