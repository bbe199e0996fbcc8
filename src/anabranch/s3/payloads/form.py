"""Reader of the form of an upload by a web page: fields, then the file, which is streamed.

The part of the form before the file is held in memory and limited to 20 KB, as in S3. Fields after
the file are ignored. In field values, `${filename}` is replaced by the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from anabranch.errors import AnabranchError
from anabranch.http.multipart import FormParts, parse_boundary, part_name
from anabranch.s3.protocol.errors import S3Error

__all__ = ["MAX_HEAD_BYTES", "Form", "reaches_file", "read_form"]

MAX_HEAD_BYTES = 20 * 1024
"""The maximum size, in bytes, of the form before the file, and again after it."""

_FILE = "file"
_FILENAME = re.compile(r';\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))', re.IGNORECASE)
_ENCODED_FILENAME = re.compile(r";\s*filename\*=utf-8'[^']*'([^\s;]+)", re.IGNORECASE)
_MAX_FILENAME_BYTES = 1024
_VARIABLE = "${filename}"


class Form(NamedTuple):
    """The fields by lower-case name, and the file's bytes, which can be read once. The last piece
    is yielded after the whole form was read. Reading raises Invalid and S3Error: InvalidArgument,
    MaxPostPreDataLengthExceeded.
    """

    fields: Mapping[str, str]
    content: Iterator[bytes]


class _IncompleteFormError(Exception):
    """The available prefix of a form ends before its file."""


def read_form(content_type: str, chunks: Iterable[bytes]) -> Form:
    """Reads a form up to its file and returns it. Raises Invalid for a malformed form, and S3Error:
    MaxPostPreDataLengthExceeded, MalformedPOSTRequest for a field that is not UTF-8,
    InvalidArgument for a duplicate field and for a form without a file.
    """
    parts = FormParts(parse_boundary(content_type), chunks)
    remaining = MAX_HEAD_BYTES - len(_read_text(parts, MAX_HEAD_BYTES))  # the preamble
    fields: dict[str, str] = {}
    while True:
        headers = parts.headers()
        if headers is None:
            raise _file_count_error(0)
        remaining -= sum(len(name) + len(value) + 4 for name, value in headers.items())
        disposition = headers.get("content-disposition", "")
        name = part_name(disposition).lower()
        if remaining < 0:
            raise S3Error("MaxPostPreDataLengthExceeded")
        if name == _FILE:
            return Form(_expand_filename(fields, _parse_filename(disposition)), _read_file(parts))
        raw = _read_text(parts, remaining)
        remaining -= len(raw)
        if name in fields:
            raise S3Error(
                "InvalidArgument",
                "A form field must not be repeated",
                ArgumentName=name,
                ArgumentValue=fields[name],
            )
        try:
            fields[name] = raw.decode()
        except UnicodeDecodeError:
            raise S3Error("MalformedPOSTRequest") from None


def reaches_file(content_type: str, prefix: bytes) -> bool:
    """Returns whether the prefix of a form contains all its fields or an error, so that reading it
    waits for nothing but the file.
    """

    def pieces() -> Iterator[bytes]:
        yield prefix
        raise _IncompleteFormError

    try:
        read_form(content_type, pieces())
    except _IncompleteFormError:
        return False
    except AnabranchError:
        return True
    return True


def _read_text(parts: FormParts, max_bytes: int) -> bytes:
    """Returns the bytes before the next delimiter. Raises S3Error: MaxPostPreDataLengthExceeded as
    soon as there are more than `max_bytes`.
    """
    pieces: list[bytes] = []
    size = 0
    for piece in parts.until_delimiter():
        size += len(piece)
        if size > max_bytes:
            raise S3Error("MaxPostPreDataLengthExceeded")
        pieces.append(piece)
    return b"".join(pieces)


def _read_file(parts: FormParts) -> Iterator[bytes]:
    """Yields the file's bytes, and then reads the rest of the form."""
    yield from parts.until_delimiter()
    remaining = MAX_HEAD_BYTES
    while (headers := parts.headers()) is not None:
        if part_name(headers.get("content-disposition", "")).lower() == _FILE:
            raise _file_count_error(2)
        remaining -= sum(map(len, headers.values()))
        remaining -= len(_read_text(parts, max(remaining, 0)))
    for piece in parts.rest():
        remaining -= len(piece)
        if remaining < 0:
            raise S3Error("MalformedPOSTRequest")


def _file_count_error(number: int) -> S3Error:
    return S3Error(
        "InvalidArgument",
        "POST requires exactly one file upload per request.",
        ArgumentName=_FILE,
        ArgumentValue=str(number),
    )


def _parse_filename(disposition: str) -> str:
    """Returns the file's name without directories. Browsers escape only quotes, and not
    backslashes. Raises S3Error: KeyTooLongError.
    """
    encoded = _ENCODED_FILENAME.search(disposition)
    match = _FILENAME.search(disposition)
    if encoded is not None:
        name = unquote_to_bytes(encoded[1]).decode("utf-8", "replace")
    elif match is not None:
        name = (match[1] or "").replace('\\"', '"') or match[2] or ""
    else:
        name = ""
    name = re.split(r"[/\\]", name)[-1]
    if len(name.encode()) > _MAX_FILENAME_BYTES:
        raise S3Error("KeyTooLongError")
    return name


def _expand_filename(fields: Mapping[str, str], filename: str) -> dict[str, str]:
    return {name: value.replace(_VARIABLE, filename) for name, value in fields.items()}
