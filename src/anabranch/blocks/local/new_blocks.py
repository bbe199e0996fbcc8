"""New blocks of a local store: their files, in folders that others may remove meanwhile."""

from __future__ import annotations

import os

from anabranch.blocks.local.errors import translate_error
from anabranch.blocks.local.files import NewFile, TemporaryNames
from anabranch.blocks.local.folders import LocalFolders
from anabranch.blocks.local.journal.journal import Journal
from anabranch.blocks.local.paths import Place
from anabranch.errors import AlreadyExists, Busy

__all__ = ["NewBlocks"]


class NewBlocks:
    """Opens and publishes the files of new blocks. Errors name the `address` of the block."""

    def __init__(
        self, folders: LocalFolders, names: TemporaryNames, journal: Journal, *, unnamed: bool
    ) -> None:
        self._folders = folders
        self._names = names
        self._journal = journal
        self._unnamed = unnamed

    def make_folder(self, folder: str, address: str) -> str:
        """Returns the path of a folder, which is created if it does not exist."""
        try:
            path = self._folders.make(folder)
            if not os.path.isdir(path):
                self._folders.clear_cache()  # it was removed meanwhile
                self._folders.make(folder)
        except OSError as error:
            raise translate_error(error, address) from error
        return path

    def open(self, place: Place, address: str) -> NewFile:
        """Returns a new file for the block at a place, in its folder, which is created if it does
        not exist.
        """
        try:
            try:
                return self._open(place)
            except FileNotFoundError:
                self._folders.clear_cache()  # a folder was removed meanwhile
                return self._open(place)
        except OSError as error:
            raise translate_error(error, address) from error

    def publish(self, file: NewFile, place: Place, address: str, *, if_absent: bool) -> None:
        """Gives a file the name of its block. With `if_absent`, raises AlreadyExists if there is a
        block; otherwise the block is replaced.
        """
        self._checkpoint(place)
        try:
            file.publish(place.name, if_absent=if_absent)
        except FileExistsError as error:
            raise AlreadyExists(f"{address}: there is a block already") from error
        except OSError as error:
            raise translate_error(error, address) from error

    def _open(self, place: Place) -> NewFile:
        return NewFile(self._folders.make(place.folder), self._names, unnamed=self._unnamed)

    def _checkpoint(self, place: Place) -> None:
        """Ensures that a recovery does not restore the block that a new one replaces."""
        if self._journal.is_pending(place.path) and not self._journal.checkpoint():
            raise Busy(
                f"{place.path}: the existing block cannot be synced",
                kind="storage_failed",
                hint="Check the disk.",
            )
