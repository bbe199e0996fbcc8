"""Formats of files, recognized by the name's end and the content's first and last bytes."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import BinaryIO, NamedTuple

__all__ = ["not_of_formats"]

_TEXT_BYTES = 1 << 16


class _Format(NamedTuple):
    extensions: tuple[str, ...]
    fits: Callable[[BinaryIO], bool]


def not_of_formats(path: str, names: list[str], open_file: Callable[[], BinaryIO]) -> str:
    """Returns why a file is of none of these formats, "" if it is of one. A name that is no known
    format is an extension.
    """
    extension = PurePosixPath(path).suffix.removeprefix(".").lower()
    for name in names:
        found = _FORMATS.get(name.lower())
        if found is None:
            if extension == name.lower().removeprefix("."):
                return ""
        elif extension in found.extensions:
            with open_file() as stream:
                return "" if found.fits(stream) else f"its content is not {name}"
    return f"its name ends with none of {', '.join(_extensions(names))}"


def _extensions(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        known = _FORMATS.get(name.lower())
        found += known.extensions if known else [name.removeprefix(".")]
    return [f".{extension}" for extension in found]


def _frame_test(start: bytes, end: bytes = b"") -> Callable[[BinaryIO], bool]:
    """Returns whether content has this start and end, which do not overlap."""

    def fits(stream: BinaryIO) -> bool:
        begins = stream.read(len(start)) == start
        size = stream.seek(0, io.SEEK_END)
        if not begins or size < len(start) + len(end):
            return False
        stream.seek(size - len(end))
        return stream.read(len(end)) == end

    return fits


def _is_text(stream: BinaryIO) -> bool:
    """Returns whether content begins with UTF-8 without NUL characters."""
    start = stream.read(_TEXT_BYTES)
    is_whole = not stream.read(1)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=is_whole)
    except UnicodeDecodeError:
        return False
    return b"\0" not in start


_FORMATS = {
    "parquet": _Format(("parquet", "pq"), _frame_test(b"PAR1", b"PAR1")),
    "avro": _Format(("avro",), _frame_test(b"Obj\x01")),
    "orc": _Format(("orc",), _frame_test(b"ORC")),
    "gzip": _Format(("gz",), _frame_test(b"\x1f\x8b")),
    "csv": _Format(("csv",), _is_text),
    "tsv": _Format(("tsv",), _is_text),
    "json": _Format(("json",), _is_text),
    "jsonl": _Format(("jsonl", "ndjson"), _is_text),
    "text": _Format(("txt", "text", "md"), _is_text),
    "yaml": _Format(("yaml", "yml"), _is_text),
}
