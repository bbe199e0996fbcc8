"""A version of an object, as merge strategies read it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone
from anabranch.model.objects.entry import Entry

__all__ = ["StoredVersion"]


class StoredVersion:
    """An object whose bytes are at an address. If that is not a file of this machine, it is copied
    into a folder when it is first read.
    """

    def __init__(self, blocks: BlockStore, address: str, entry: Entry, folder: Path) -> None:
        self.entry = entry
        self._blocks = blocks
        self._address = address
        self._folder = folder
        self._file = ""

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.entry.size

    @property
    def content_type(self) -> str:
        """The media type."""
        return self.entry.content_type

    @property
    def metadata(self) -> Mapping[str, str]:
        """The user metadata."""
        return self.entry.metadata

    def open(self) -> BinaryIO:
        """Returns a stream of the bytes."""
        return Path(self.path()).open("rb")

    def path(self) -> str:
        """Returns the path of a file with the bytes. Raises Gone if they are lost."""
        if not self._file:
            self._file = self._local_file() or self._copy()
        return self._file

    def _local_file(self) -> str | None:
        path = self._blocks.local_path(self._address)
        if path is None:
            return None
        try:
            size = Path(path).stat().st_size
        except OSError:
            return None  # a small object may be in the journal of the store only
        return path if size == self.entry.size else None

    def _copy(self) -> str:
        written = 0
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
            for chunk in self._blocks.get(self._address, 0, self.entry.size):
                written += file.write(chunk)
        if written != self.entry.size:
            raise Gone(
                f"{self._blocks.qualify(self._address)} has {written} bytes instead of "
                f"{self.entry.size}",
                kind="data_missing",
            )
        return file.name
