"""Versions of objects as other bytes: decompressed, or in UTF-8."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from anabranch.versioning.strategies.contract import ObjectVersion

__all__ = ["TemporaryVersion"]


class TemporaryVersion:
    """The content of an object in another form, in the file `path`."""

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
