"""Files of parts in the folder of an upload.

Their names hold all metadata:

    NUMBER.STAMP.SIZE.MD5

A replaced part is a new file with a greater stamp. It is valid from the moment that it has its
name; the previous file is removed afterwards.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from anabranch.blocks.local.errors import NOT_THERE
from anabranch.blocks.multipart.errors import upload_not_found
from anabranch.model.uploads.part import Part

__all__ = ["NANOSECONDS", "PartFile", "newest_parts", "part_file_name", "part_files"]

NANOSECONDS = 1_000_000_000
"""Per second; stamps are times in nanoseconds."""

_NAME = re.compile(r"([0-9]{5})\.([0-9a-f]{16})\.([0-9]+)\.([0-9a-f]{32})")


class PartFile(NamedTuple):
    """A part and its file."""

    name: str
    stamp: int
    part: Part


def part_file_name(number: int, stamp: int, size: int, md5: str) -> str:
    """Returns the name of a part's file."""
    return f"{number:05d}.{stamp:016x}.{size}.{md5}"


def part_files(upload: str, number: int | None = None) -> list[PartFile]:
    """Returns the files of all parts in a folder, or of one number. Raises NotFound if the folder
    does not exist.
    """
    prefix = "" if number is None else f"{number:05d}."
    try:
        names = os.listdir(upload)
    except NOT_THERE:
        raise upload_not_found() from None
    files = []
    for name in names:
        match = _NAME.fullmatch(name) if name.startswith(prefix) else None
        if match is not None:
            stamp = int(match[2], 16)
            part = Part(int(match[1]), int(match[3]), match[4], stamp // NANOSECONDS)
            files.append(PartFile(name, stamp, part))
    return files


def newest_parts(upload: str) -> dict[int, PartFile]:
    """Returns the newest file of each part, by number. Raises NotFound."""
    newest: dict[int, PartFile] = {}
    for file in part_files(upload):
        other = newest.get(file.part.number)
        if other is None or other.stamp < file.stamp:
            newest[file.part.number] = file
    return newest
