"""Reads from a folder of blocks that may belong to another program, without writing into it."""

from __future__ import annotations

import os
from pathlib import Path

from anabranch.blocks.contract import BlockInfo
from anabranch.blocks.local.paths import SCHEME, normalize_namespace, parse_address
from anabranch.errors import Busy, Gone, Invalid

__all__ = ["LocalReader"]


class LocalReader:
    """The blocks in the folder `root`, which need not exist. A `LocalBlocks` of the same folder
    gives them the same addresses. Raises Busy for what cannot be read.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = str(Path(root).resolve())

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace is a folder in the root."""
        try:
            self.namespace(storage_namespace)
        except Invalid:
            return False
        return True

    def namespace(self, storage_namespace: str) -> str:
        """Returns the address of a storage namespace's folder. Raises Invalid."""
        if not storage_namespace.startswith(SCHEME):
            raise Invalid(f"{storage_namespace}: not in a folder", kind="invalid_storage_namespace")
        return normalize_namespace(storage_namespace, self._root)

    def stat(self, address: str) -> BlockInfo | None:
        """Returns the block's size and time, or None if it does not exist."""
        try:
            found = self._path(address).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(address, error) from error
        return BlockInfo(address, found.st_size, int(found.st_mtime))

    def read(self, address: str) -> bytes:
        """Returns a block. Raises Gone if it does not exist."""
        try:
            return self._path(address).read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Gone(f"{address}: does not exist") from error
        except OSError as error:
            raise _unreadable(address, error) from error

    def close(self) -> None:
        """Does nothing: no file stays open."""

    def _path(self, address: str) -> Path:
        return Path(self._root, parse_address(address, self._root).path)


def _unreadable(address: str, error: OSError) -> Busy:
    return Busy(f"{address}: {error.strerror}", kind="storage_failed")
