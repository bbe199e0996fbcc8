"""The form of an upload by a web page: fields, then the file, which goes through piece by piece.

What precedes the file is held, so it is small: 20 KB, as in S3. Fields behind the file mean
nothing. In the value of a field `${filename}` stands for the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from anabranch.errors import AnabranchError
from anabranch.multipart import FormParts, boundary_of, name_of
from anabranch.s3.errors import S3Error

__all__ = ["LARGEST_HEAD", "Form", "reaches_file", "read_form"]

LARGEST_HEAD = 20 * 1024
"""What may precede the file, in bytes; and what may follow it."""

_FILE = "file"
_FILENAME = re.compile(r';\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))', re.IGNORECASE)
_ENCODED_FILENAME = re.compile(r";\s*filename\*=utf-8'[^']*'([^\s;]+)", re.IGNORECASE)
_LONGEST_FILENAME = 1024
_VARIABLE = "${filename}"


class Form(NamedTuple):
    """The fields by their names in lower case, and the file's bytes, to be read once; the last
    piece comes when the whole form is there. Reading raises Invalid and S3Error: InvalidArgument,
    MaxPostPreDataLengthExceeded.
    """

    fields: Mapping[str, str]
    content: Iterator[bytes]


class _NeedsMoreError(Exception):
    """What there is of a form ends before its file."""


def read_form(content_type: str, chunks: Iterable[bytes]) -> Form:
    """Returns a form that has been read up to its file. Raises Invalid for what is no form, and
    S3Error: MaxPostPreDataLengthExceeded, MalformedPOSTRequest for a field that is not UTF-8,
    InvalidArgument for a field that comes twice and for a form without a file.
    """
    parts = FormParts(boundary_of(content_type), chunks)
    left = LARGEST_HEAD - len(_text(parts, LARGEST_HEAD))  # what precedes the first part
    fields: dict[str, str] = {}
    while True:
        headers = parts.headers()
        if headers is None:
            raise _wrong_number_of_files(0)
        left -= sum(len(name) + len(value) + 4 for name, value in headers.items())
        disposition = headers.get("content-disposition", "")
        name = name_of(disposition).lower()
        if left < 0:
            raise S3Error("MaxPostPreDataLengthExceeded")
        if name == _FILE:
            return Form(_expanded(fields, _filename(disposition)), _content(parts))
        raw = _text(parts, left)
        left -= len(raw)
        if name in fields:
            raise S3Error(
                "InvalidArgument",
                "A field of a form is given once",
                ArgumentName=name,
                ArgumentValue=fields[name],
            )
        try:
            fields[name] = raw.decode()
        except UnicodeDecodeError:
            raise S3Error("MalformedPOSTRequest") from None


def reaches_file(content_type: str, begun: bytes) -> bool:
    """Returns whether the beginning of a form has all its fields, or is wrong already, so that
    reading it waits for nothing but the file.
    """

    def pieces() -> Iterator[bytes]:
        yield begun
        raise _NeedsMoreError

    try:
        read_form(content_type, pieces())
    except _NeedsMoreError:
        return False
    except AnabranchError:
        return True
    return True


def _text(parts: FormParts, most: int) -> bytes:
    """Returns what comes before the next delimiter. Raises S3Error: MaxPostPreDataLengthExceeded
    as soon as it is longer than `most`.
    """
    pieces: list[bytes] = []
    size = 0
    for piece in parts.until_delimiter():
        size += len(piece)
        if size > most:
            raise S3Error("MaxPostPreDataLengthExceeded")
        pieces.append(piece)
    return b"".join(pieces)


def _content(parts: FormParts) -> Iterator[bytes]:
    """Yields the file, and reads what follows it."""
    yield from parts.until_delimiter()
    left = LARGEST_HEAD
    while (headers := parts.headers()) is not None:
        if name_of(headers.get("content-disposition", "")).lower() == _FILE:
            raise _wrong_number_of_files(2)
        left -= sum(map(len, headers.values()))
        left -= len(_text(parts, max(left, 0)))
    for piece in parts.rest():
        left -= len(piece)
        if left < 0:
            raise S3Error("MalformedPOSTRequest")


def _wrong_number_of_files(number: int) -> S3Error:
    return S3Error(
        "InvalidArgument",
        "POST requires exactly one file upload per request.",
        ArgumentName=_FILE,
        ArgumentValue=str(number),
    )


def _filename(disposition: str) -> str:
    """Returns the name of the file without folders. Browsers write quotes alone with an escape, and
    backslashes as they are. Raises S3Error: KeyTooLongError.
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
    if len(name.encode()) > _LONGEST_FILENAME:
        raise S3Error("KeyTooLongError")
    return name


def _expanded(fields: Mapping[str, str], filename: str) -> dict[str, str]:
    return {name: value.replace(_VARIABLE, filename) for name, value in fields.items()}
