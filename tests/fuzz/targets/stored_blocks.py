"""The journal of the local store: what recovery restores was written, or nothing is restored.

An input is a segment. Its identity stands in its name, so it is that of the seed.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from fuzz.target import Target

from anabranch.blocks.local.journal.record_format import (
    Record,
    encode,
    encode_start,
    read_records,
)
from anabranch.blocks.local.journal.segment import SUFFIX
from anabranch.blocks.local.paths import TEMPORARY
from anabranch.blocks.local.store import LocalBlocks

__all__ = ["TARGETS"]

_IDENTITY = b"identity"
_BODIES = {
    "space/a": b"first",
    "space/data/b": b"x" * 300,
    "space/data/c": _IDENTITY + b" inside of a body",
    "space/\u00e9": b"",
    "space/old": b"of an earlier generation",
}


def _record(path: str, *, deleted: bool = False) -> Record:
    body = _BODIES[path]
    return Record(path, hashlib.md5(body).digest(), None if deleted else body)


def _segment(generation: int, *batches: list[Record]) -> bytes:
    data = encode_start(_IDENTITY, generation)
    for batch in batches:
        at = len(data)
        data += b"".join(b"".join(encode(_IDENTITY, generation, at, each)) for each in batch)
    return data


@cache
def _seeds() -> tuple[bytes, ...]:
    first, *others = [_record(path) for path in _BODIES if path != "space/old"]
    one = _segment(2, [first], others)
    earlier = _segment(1, [_record("space/old")] * 12)
    return (
        *(one, one + bytes(500), one + earlier[len(one) :]),
        _segment(3, [first, *others], [_record("space/a", deleted=True)]) + bytes(10),
    )


def check_segment(data: bytes) -> None:
    with _folder() as root:
        journals = root / TEMPORARY / "journals"
        journals.mkdir(parents=True)
        (journals / f"{_IDENTITY.hex()}{SUFFIX}").write_bytes(data)
        LocalBlocks(root).close()
        for path in root.rglob("*"):
            name = path.relative_to(root).as_posix()
            if path.is_file() and not name.startswith(TEMPORARY):
                _require_written(name, path.read_bytes(), data)
        if data in _seeds():
            assert (root / "space/data/b").read_bytes() == _BODIES["space/data/b"]


def _require_written(name: str, content: bytes, data: bytes) -> None:
    """Raises AssertionError for a file that nobody has written."""
    assert name in _BODIES, f"{name} was never stored"
    assert content == _BODIES[name], f"{name} has {content!r}"
    records = read_records(data, _IDENTITY).records
    assert Record(name, hashlib.md5(content).digest(), content) in records


def check_heads(data: bytes) -> None:
    """Heads with valid checksums but any values: of what has another version of the program."""
    segment = bytearray(encode_start(_IDENTITY, 1))
    for piece in data.split(b"\n"):
        kind, path_length = piece[:1] or b"\1", min(len(piece), 40)
        path, length = piece[1:path_length], struct.pack("<I", zlib.crc32(piece) % 50)
        head = _IDENTITY + struct.pack("<Q", 1) + kind + struct.pack("<H", len(path))
        head += length + struct.pack("<Q", len(segment)) + hashlib.md5(piece).digest()
        segment += head + struct.pack("<I", zlib.crc32(path, zlib.crc32(head))) + path + piece
    found = read_records(bytes(segment), _IDENTITY)
    assert len(found.records) + len(found.damaged) <= len(segment)
    for record in found.records:
        body = record.body
        assert body is None or hashlib.md5(body).digest() == record.digest


@contextmanager
def _folder() -> Iterator[Path]:
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    logging.disable(logging.CRITICAL)  # each loss is logged
    try:
        yield root
    finally:
        logging.disable(logging.NOTSET)
        shutil.rmtree(root)


TARGETS = (
    Target("journal", check_segment, _seeds, (_IDENTITY, bytes(8), b"\1", b"\2", b"space/a")),
    Target(
        "journal_heads",
        check_heads,
        lambda: (b"\1space/a\n\2space/b", b"\1\xff\n\0\n\3x", b"\1../../a\n\1/etc\n\1"),
        (b"\n", b"\1", b"\2", b"../", b"/", b"\xff", b"\0", _IDENTITY),
    ),
)
