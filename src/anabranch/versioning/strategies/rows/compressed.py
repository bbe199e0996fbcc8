"""Files of tables that are compressed as a whole by gzip, as `.csv.gz`."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.json_text import refuse

__all__ = ["Unpacked", "packed", "unpack"]

_MAX_BYTES = 16 << 30


class Unpacked:
    """The content of a compressed object, in a temporary file."""

    def __init__(self, path: str, version: ObjectVersion) -> None:
        self._path = path
        self._version = version

    @property
    def size(self) -> int:
        """The size in bytes."""
        return Path(self._path).stat().st_size

    @property
    def content_type(self) -> str:
        """The media type of the object."""
        return self._version.content_type

    @property
    def metadata(self) -> Mapping[str, str]:
        """The user metadata of the object."""
        return self._version.metadata

    def open(self) -> BinaryIO:
        """Returns a stream of the content."""
        return Path(self._path).open("rb")

    def path(self) -> str:
        """Returns the path of the file."""
        return self._path


def unpack(side: str, version: ObjectVersion, folder: str) -> Unpacked:
    """Returns the content of an object that gzip has compressed. Raises Conflict for one that is
    damaged, or has more than 16 GiB.
    """
    length = 0
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        try:
            with version.open() as stream, gzip.open(stream) as content:
                while piece := content.read(1 << 20):
                    length += len(piece)
                    if length > _MAX_BYTES:
                        refuse(side, "has more than 16 GiB")
                    file.write(piece)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            refuse(side, f"cannot be read as gzip: {error}")
    return Unpacked(file.name, version)


@contextmanager
def packed(output: BinaryIO, folder: str) -> Iterator[BinaryIO]:
    """Yields a stream whose content is written to `output`, compressed by gzip: equal content gives
    equal bytes.
    """
    with tempfile.TemporaryFile(dir=folder) as plain:
        yield cast(BinaryIO, plain)
        plain.seek(0)
        with gzip.GzipFile("", "wb", fileobj=output, mtime=0) as stream:
            shutil.copyfileobj(plain, stream)
