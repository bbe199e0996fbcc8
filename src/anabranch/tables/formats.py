"""The formats of tables in files.

Binary formats are found by the bytes that their files begin and end with. Text is of the format
that is given by name, else of the one that the path's extension names. So Parquet, ORC, Arrow and
Avro need no extension; a text file such as Hive's `000000_0` needs a format by name.
"""

from __future__ import annotations

import io
from typing import BinaryIO, Literal

import msgspec

__all__ = [
    "EXTENSIONS",
    "FORMATS",
    "FORMAT_NAMES",
    "FormatName",
    "TableFormat",
    "binary_format",
    "detect_format",
    "format_named",
    "format_of",
]

_EDGE_BYTES = 16
_STREAM_MARK = b"\xff\xff\xff\xff"
_COMPRESSIONS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}
_COMPRESSION_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BZ2_START, _BZ2_BLOCK = b"BZh", b"1AY&SY"


class TableFormat(msgspec.Struct, frozen=True):
    """A format. `family` is what previews call it; `delimiter` is that of text, whose dialect may
    be another one; `title` is its name in messages.
    """

    name: str
    family: str
    title: str
    extensions: tuple[str, ...]
    delimiter: str = ""
    is_text: bool = False


FORMATS: dict[str, TableFormat] = {
    each.name: each
    for each in (
        TableFormat("parquet", "parquet", "Parquet", ("parquet", "pq", "parq")),
        TableFormat("csv", "csv", "CSV", ("csv",), ",", is_text=True),
        TableFormat("tsv", "csv", "TSV", ("tsv", "tab"), "\t", is_text=True),
        TableFormat("psv", "csv", "PSV", ("psv",), "|", is_text=True),
        TableFormat("jsonl", "json", "JSON lines", ("jsonl", "ndjson"), is_text=True),
        TableFormat("json", "json", "JSON", ("json",), is_text=True),
        TableFormat("orc", "orc", "ORC", ("orc",)),
        TableFormat("arrow", "arrow", "Arrow", ("arrow", "arrows", "feather", "ipc")),
        TableFormat("avro", "avro", "Avro", ("avro",)),
    )
}
"""All formats by name."""

FormatName = Literal[
    "csv", "tsv", "psv", "jsonl", "ndjson", "json", "parquet", "arrow", "orc", "avro"
]
"""The names of formats that requests and commands take."""

FORMAT_NAMES = ", ".join(FORMATS)

EXTENSIONS: dict[str, TableFormat] = {
    extension: each for each in FORMATS.values() for extension in each.extensions
}
"""Formats by the extensions of paths."""


def format_named(name: str) -> TableFormat | None:
    """Returns the format with a name, which may be an extension: `pq`, `ndjson`."""
    return FORMATS.get(name) or EXTENSIONS.get(name)


def format_of(path: str) -> TableFormat | None:
    """Returns the format that a path's extension names, None for others. Text may be compressed:
    `.csv.gz`.
    """
    name, _, extension = path.rpartition("/")[2].lower().rpartition(".")
    if extension in _COMPRESSIONS:
        name, _, extension = name.rpartition(".")
        found = EXTENSIONS.get(extension)
        return found if name and found is not None and found.is_text else None
    return EXTENSIONS.get(extension) if name else None


def detect_format(stream: BinaryIO, path: str, given: str = "") -> tuple[TableFormat | None, str]:
    """Returns the format of a seekable stream, None if nothing names one, and the name of its
    compression: gzip, bz2, zstd or "". `given` is the name of a format, or "". The stream is at its
    beginning afterwards.
    """
    start, end = _edges(stream)
    binary = _binary_format(start, end)
    named = format_named(given) or format_of(path)
    if binary:
        return FORMATS[binary], ""
    if named is not None and not named.is_text:
        return named, ""
    return named, _compression(start)


def binary_format(stream: BinaryIO) -> TableFormat | None:
    """Returns the binary format that a seekable stream's content is of, None for text and others.
    The stream is at its beginning afterwards.
    """
    return FORMATS.get(_binary_format(*_edges(stream)))


def _edges(stream: BinaryIO) -> tuple[bytes, bytes]:
    """Returns the first and last bytes of a stream, which is at its beginning afterwards."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - _EDGE_BYTES))
    end = stream.read(_EDGE_BYTES)
    stream.seek(0)
    start = stream.read(_EDGE_BYTES)
    stream.seek(0)
    return start, end


def _compression(start: bytes) -> str:
    """Returns the name of the compression with these first bytes, "" without one."""
    if start.startswith(_BZ2_START) and start[4:].startswith(_BZ2_BLOCK):
        return "bz2"
    found = (name for magic, name in _COMPRESSION_MAGIC.items() if start.startswith(magic))
    return next(found, "")


def _binary_format(start: bytes, end: bytes) -> str:
    """Returns the name of the format with these first and last bytes, "" for text."""
    if start[:4] in (b"PAR1", b"PARE") and end[-4:] == start[:4]:
        return "parquet"
    # the first bytes alone may be the header of a CSV; the last one is the postscript's length
    if start[:3] == b"ORC" and end[-4:-1] == b"ORC":
        return "orc"
    if start[:6] == b"ARROW1" or start[:4] in (b"FEA1", _STREAM_MARK):
        return "arrow" if start[:6] != b"ARROW1" or end[-6:] == b"ARROW1" else ""
    return "avro" if start[:4] == b"Obj\x01" else ""
