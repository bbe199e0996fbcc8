"""A folder of this machine as the place of an export.

A file is written beside its place and then given its name, so a program that reads the folder
meanwhile sees whole files. Folders that become empty are removed. Symbolic links in the folder are
not followed: what an export stores is never outside of it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from anabranch.blocks.contract import Stored
from anabranch.blocks.local_errors import NOT_THERE, translate
from anabranch.blocks.local_folders import make_durable, sync_folder
from anabranch.blocks.local_paths import is_plain
from anabranch.blocks.local_syncing import sync_files
from anabranch.catalog.objects import OpenObject
from anabranch.errors import Invalid
from anabranch.pipelines.exports.destination import UNFIT, unfit

__all__ = ["FolderDestination"]

_LONGEST_NAME = 255
_MD5_OF_NOTHING = hashlib.md5(usedforsecurity=False).hexdigest()
_TEMPORARY = ".anabranch-export-"
_NO_ROOM_FOR_NAME = (NotADirectoryError, IsADirectoryError, FileExistsError)


class FolderDestination:
    """The folder `root`, which is made if it is not there. Raises Busy for one that cannot be."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = str(Path(root).resolve())
        self.address = self._root
        self._lock = threading.Lock()
        self._written: set[str] = set()
        self._changed: set[str] = set()
        self._made: set[str] = set()
        try:
            Path(self._root).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise translate(error, self._root) from error

    def store(self, path: str, found: OpenObject) -> Stored:
        """Stores an object's bytes in place of the file that is there. A folder's marker, which is
        empty and whose path ends with a slash, makes the folder.
        """
        is_marker = path.endswith("/") and not found.entry.size
        place = self._place(path[:-1] if is_marker else path)
        try:
            self._make_folder(path)
            size, checksum = (0, _MD5_OF_NOTHING) if is_marker else _write_whole(place, found)
        except _NO_ROOM_FOR_NAME as error:
            raise unfit(path, "a file and a folder would have one name") from error
        except OSError as error:
            raise translate(error, place) from error
        if not is_marker:
            with self._lock:
                self._written.add(place)
        return Stored(size, checksum, found.entry.mtime)

    def remove(self, paths: Iterable[str]) -> None:
        """Removes files, and the folders that they leave empty."""
        for path in paths:
            try:
                place = self._place(path.removesuffix("/"))
                if not self._is_reached(path):
                    continue
                if path.endswith("/"):
                    self._remove_empty(path[:-1])
                    continue
                Path(place).unlink()
            except (*NOT_THERE, IsADirectoryError):
                continue
            except Invalid as error:
                if error.kind != UNFIT:
                    raise
                continue
            except OSError as error:
                raise translate(error, path) from error
            self._changed.add(place.rpartition("/")[0])
            self._remove_empty(path.rpartition("/")[0])

    def settle(self) -> None:
        """Syncs what was written, and the folders of what was removed."""
        with self._lock:
            written, self._written = self._written, set()
            changed, self._changed = self._changed, set()
        try:
            descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
            try:
                sync_files(written, descriptor)
            finally:
                os.close(descriptor)
            for folder in changed:
                with suppress(*NOT_THERE):
                    sync_folder(folder)
        except OSError as error:
            raise translate(error, self._root) from error

    def paths(self) -> Iterator[str]:
        """Yields the paths of all files and links; what an interrupted export left goes."""
        for folder, _, names in os.walk(self._root):
            for name in names:
                place = f"{folder}/{name}"
                if name.startswith(_TEMPORARY):
                    Path(place).unlink()
                else:
                    yield os.fsencode(place[len(self._root) + 1 :]).decode("utf-8", "replace")

    def read_note(self, name: str) -> bytes | None:
        """Returns what stands in a file at the top, or None."""
        try:
            return Path(self._root, name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise translate(error, name) from error

    def write_notes(self, notes: Mapping[str, bytes | None]) -> None:
        """Writes files at the top, or removes them, one after another."""
        for name, text in notes.items():
            place = Path(self._root, name)
            try:
                if text is None:
                    place.unlink(missing_ok=True)
                else:
                    temporary = place.with_name(_TEMPORARY + name)
                    with temporary.open("wb") as file:
                        file.write(text)
                        file.flush()
                        os.fsync(file.fileno())
                    temporary.replace(place)
                sync_folder(self._root)
            except OSError as error:
                raise translate(error, str(place)) from error

    def _place(self, path: str) -> str:
        if not is_plain(path):
            raise unfit(path, "a name in it is empty, `.` or `..`, or holds a zero byte")
        longest = max(len(name.encode()) for name in path.split("/"))
        if longest > _LONGEST_NAME:
            raise unfit(path, f"a name of {longest} bytes; a file's has at most {_LONGEST_NAME}")
        return f"{self._root}/{path}"

    def _make_folder(self, path: str) -> None:
        above = path.rpartition("/")[0]
        if not above or above in self._made:
            return
        folder = self._root
        for name in above.split("/"):
            folder = f"{folder}/{name}"
            make_durable(folder, 0o777)  # for programs of any user, as the umask allows
            if Path(folder).is_symlink():
                raise unfit(path, f"{folder} is a symbolic link, which is not followed")
        self._made.add(above)

    def _is_reached(self, path: str) -> bool:
        """Returns whether a path leads through no symbolic link."""
        folder = self._root
        for name in path.split("/")[:-1]:
            folder = f"{folder}/{name}"
            if Path(folder).is_symlink():
                return False
        return True

    def _remove_empty(self, folder: str) -> None:
        self._made.clear()
        while folder:
            try:
                Path(self._root, folder).rmdir()
            except OSError:
                return
            folder = folder.rpartition("/")[0]


def _write_whole(place: str, found: OpenObject) -> tuple[int, str]:
    """Writes an object's bytes beside their place, and puts them there when all have come."""
    temporary = f"{place.rpartition('/')[0]}/{_TEMPORARY}{secrets.token_hex(8)}"
    try:
        size, checksum = _write(temporary, found)
        os.utime(temporary, (found.entry.mtime, found.entry.mtime))
        Path(temporary).rename(place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return size, checksum


def _write(place: str, found: OpenObject) -> tuple[int, str]:
    digest = hashlib.md5(usedforsecurity=False)
    size = 0
    with Path(place).open("xb") as file:
        for piece in found.read():
            file.write(piece)
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()
