"""Removal and restoration of the blocks of a local store, by renaming.

`NAMESPACE/data/X/Y` becomes `NAMESPACE/.anabranch-quarantine/BATCH/data/X/Y`, in the same file
system. Nothing in that folder has an address, so no listing and no read sees it. A block is
restored by a second link, which never replaces an existing file, and only then loses the name in
quarantine: a crash between leaves both.
"""

from __future__ import annotations

import errno
import filecmp
import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from anabranch.blocks.local.errors import NOT_THERE, translate_error
from anabranch.blocks.local.folders import LocalFolders, sync_folder
from anabranch.blocks.local.fsync import sync_files
from anabranch.blocks.local.journal.journal import Journal
from anabranch.blocks.local.paths import QUARANTINE, Place, is_plain, parse_address, relative_path
from anabranch.blocks.quarantine import Outcome, Removal
from anabranch.errors import Invalid, NotSupported

__all__ = ["LocalQuarantine"]


class LocalQuarantine:
    """Removes and restores blocks below `root`. Raises Invalid for a name or a batch that is no
    path.
    """

    def __init__(self, root: str, folders: LocalFolders, journal: Journal) -> None:
        self._root = root
        self._folders = folders
        self._journal = journal

    def require(self, stem: str) -> None:
        """Raises Invalid for an address outside the store."""
        parse_address(stem.rstrip("/"), self._root)

    def size_and_version(self, address: str) -> tuple[int, str] | None:
        """Returns the size of the block at an address and an empty version; None without."""
        status = _status(self._path(parse_address(address, self._root)))
        return None if status is None else (status.st_size, "")

    def remove(self, removals: Sequence[Removal]) -> None:
        """Moves blocks into quarantine, durably. Raises NotSupported where the folder of the data
        is another file system than the namespace's.
        """
        if not removals:
            return
        # what another process has stored may not be synced yet, and its journal names the old path:
        # a loss of power may keep the new name before this returns, so the content is synced first
        sources = [self._path(parse_address(each.address, self._root)) for each in removals]
        self._sync([path for path in sources if _status(path) is not None], removals[0])
        kept = []
        for removal in removals:
            try:
                kept.append(self._move(removal))
            except OSError as error:
                if error.errno == errno.EXDEV:
                    raise NotSupported(
                        f"{removal.address}: the folder is a file system of its own, so its "
                        "objects cannot be renamed into the quarantine of the namespace",
                        kind="quarantine_not_supported",
                        hint="Sweep without quarantine, or mount the namespace as a whole.",
                    ) from error
                raise translate_error(error, removal.address) from error
        self._sync(kept, removals[0])

    def _path(self, place: Place) -> str:
        return f"{self._folders.path(place.folder)}/{place.name}"

    def _sync(self, paths: Sequence[str], removal: Removal) -> None:
        """Makes files and their names durable."""
        try:
            descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
            try:
                sync_files(paths, descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise translate_error(error, removal.address) from error

    def restore(self, removal: Removal) -> Outcome:
        """Links a block to its address again and removes it from quarantine."""
        place, hidden = parse_address(removal.address, self._root), self._hidden_place(removal)
        source = self._path(hidden)
        try:
            if _status(source) is None:
                return "gone" if self.size_and_version(removal.address) is None else "present"
            folder = self._folders.make(place.folder)
            target = f"{folder}/{place.name}"
            try:
                self._link(source, target, place)
                outcome: Outcome = "restored"
            except FileExistsError:
                outcome = _verify(source, target)
                if outcome == "replaced":
                    return outcome
            sync_folder(folder)
            os.unlink(source)
            self._remove_empty(hidden.folder)
        except NOT_THERE:
            # restored or purged by another process meanwhile
            return "gone" if self.size_and_version(removal.address) is None else "present"
        except OSError as error:
            raise translate_error(error, removal.address) from error
        return outcome

    def purge(self, removal: Removal, before: float) -> int | None:  # noqa: ARG002  each has its own file
        """Removes a block from quarantine; returns its size, None if it does not exist."""
        hidden = self._hidden_place(removal)
        path = self._path(hidden)
        try:
            status = _status(path)
            if status is None:
                return None
            os.unlink(path)
            self._remove_empty(hidden.folder)
        except NOT_THERE:
            return None
        except OSError as error:
            raise translate_error(error, removal.address) from error
        return status.st_size

    def _move(self, removal: Removal) -> str:
        """Renames a block's file, if it exists; returns its path in quarantine."""
        place, hidden = parse_address(removal.address, self._root), self._hidden_place(removal)
        source = self._path(place)
        target = f"{self._folders.make(hidden.folder)}/{hidden.name}"
        if _status(source) is not None:
            try:
                os.rename(source, target)
            except FileNotFoundError:
                self._folders.clear_cache()  # another process has removed the empty folder
                self._folders.make(hidden.folder)
                if _status(source) is not None:
                    os.rename(source, target)
            self._journal.tombstone(place.path)
        return target

    def _link(self, source: str, target: str, place: Place) -> None:
        try:
            os.link(source, target, follow_symlinks=False)
        except FileNotFoundError:
            self._folders.clear_cache()  # the folder of the address has been removed
            self._folders.make(place.folder)
            os.link(source, target, follow_symlinks=False)

    def _hidden_place(self, removal: Removal) -> Place:
        """Returns where a block is in quarantine."""
        if not is_plain(removal.batch) or not is_plain(removal.name):
            raise Invalid(
                f"{removal.batch!r}, {removal.name!r}: no place in quarantine",
                kind="invalid_address",
            )
        namespace = relative_path(removal.stem, self._root)
        folder, _, name = f"{namespace}{QUARANTINE}/{removal.batch}/{removal.name}".rpartition("/")
        return Place(folder, name)

    def _remove_empty(self, folder: str) -> None:
        """Removes a folder of the quarantine and those above it, as long as they are empty,
        durably: nothing has a record any more of what a loss of power brings back.
        """
        removed = False
        while QUARANTINE in folder.split("/"):
            try:
                os.rmdir(f"{self._root}/{folder}")
            except OSError:
                break
            folder, removed = folder.rpartition("/")[0], True
        if removed:
            self._folders.clear_cache()
            with suppress(*NOT_THERE):  # another process has removed it, and syncs that
                sync_folder(f"{self._root}/{folder}")


def _status(path: str) -> os.stat_result | None:
    """Returns the status of a regular file, None where there is none."""
    try:
        status = os.lstat(path)
    except NOT_THERE:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _verify(source: str, target: str) -> Outcome:
    """Returns what it means that a file is there already: `restored` if it is the same file, and
    `present` if it has the same bytes, as one that was brought back by a journal has.
    """
    if os.path.islink(target) or not os.path.isfile(target):
        return "replaced"
    if os.path.samefile(source, target):
        return "restored"
    return "present" if filecmp.cmp(source, target, shallow=False) else "replaced"
