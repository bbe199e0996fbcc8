"""Local folder as an export destination.

A file is written under a temporary name and renamed, so other programs see complete files only.
Folders that become empty are removed. Symbolic links in the folder are not followed, so an export
never writes outside of the folder.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from anabranch.blocks.contract import Stored
from anabranch.blocks.local.errors import NOT_THERE, translate_error
from anabranch.blocks.local.folders import make_durable, sync_folder
from anabranch.blocks.local.fsync import sync_files
from anabranch.blocks.local.paths import is_plain
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.errors import Invalid
from anabranch.pipelines.exports.destination import INVALID_PATH, invalid_path_error

__all__ = ["TEMPORARY", "FolderDestination"]

_MAX_NAME_BYTES = 255
_EMPTY_MD5 = hashlib.md5(usedforsecurity=False).hexdigest()
TEMPORARY = ".anabranch-export-"
"""How the names of temporary files and folders begin, which are no objects."""

_NAME_CONFLICTS = (NotADirectoryError, IsADirectoryError, FileExistsError)


class FolderDestination:
    """The folder `root`, which is created if it does not exist. Raises Busy if that fails."""

    has_folders = True

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = str(Path(root).resolve())
        self.address = self._root
        # processes may write to one folder at the same time
        self._temporary = f"{TEMPORARY}{secrets.token_hex(8)}-"
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._written: set[str] = set()
        self._changed: set[str] = set()
        self._created: set[str] = set()
        try:
            Path(self._root).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise translate_error(error, self._root) from error

    def store(self, path: str, source: OpenObject) -> Stored:
        """Stores an object's bytes in place of an existing file. A directory marker, which is
        empty and whose path ends with a slash, creates the folder.
        """
        is_marker = path.endswith("/") and not source.entry.size
        file_path = self._file_path(path[:-1] if is_marker else path)
        try:
            self._make_folder(path)
            if is_marker:
                size, checksum = 0, _EMPTY_MD5
            else:
                temporary = f"{file_path.rpartition('/')[0]}/{self._temporary}{next(self._numbers)}"
                size, checksum = _write_atomically(file_path, temporary, source)
        except _NAME_CONFLICTS as error:
            raise invalid_path_error(path, "a file and a folder would have one name") from error
        except OSError as error:
            raise translate_error(error, file_path) from error
        if not is_marker:
            with self._lock:
                self._written.add(file_path)
        return Stored(size, checksum, source.entry.mtime)

    def remove(self, paths: Iterable[str]) -> None:
        """Removes files, and the folders that become empty."""
        for path in paths:
            try:
                file_path = self._file_path(path.removesuffix("/"))
                if not self._has_no_links(path):
                    continue
                if path.endswith("/"):
                    self._remove_empty(path[:-1])
                    continue
                Path(file_path).unlink()
            except (*NOT_THERE, IsADirectoryError):
                continue
            except Invalid as error:
                if error.kind != INVALID_PATH:
                    raise
                continue
            except OSError as error:
                raise translate_error(error, path) from error
            self._changed.add(file_path.rpartition("/")[0])
            self._remove_empty(path.rpartition("/")[0])

    def sync(self) -> None:
        """Syncs the files that were written, and the folders of the files that were removed."""
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
            raise translate_error(error, self._root) from error

    def paths(self, after: str = "", last: str = "") -> Iterator[str]:
        """Yields the paths of files and links that sort after `after` and not after `last`; removes
        temporary files of interrupted exports among them. Folders without such paths are not read.
        """
        begin, end = after.encode(), last.encode()

        def is_within(path: str) -> bool:
            key = path.encode()
            return key > begin and (not end or key <= end)

        def may_contain(folder: str) -> bool:
            key = f"{folder}/".encode()
            is_before = key < begin and not begin.startswith(key)
            return not is_before and (not end or key <= end)

        for folder, folders, names in os.walk(self._root):
            prefix = self._decode(folder)
            folders[:] = [name for name in folders if may_contain(prefix + _decode(name))]
            for name in names:
                path = prefix + _decode(name)
                if not is_within(path):
                    continue
                if name.startswith(TEMPORARY):
                    Path(folder, name).unlink(missing_ok=True)
                else:
                    yield path

    def _decode(self, folder: str) -> str:
        """Returns the prefix of the paths in a folder."""
        relative = folder[len(self._root) + 1 :]
        return f"{_decode(relative)}/" if relative else ""

    def read_note(self, name: str) -> bytes | None:
        """Returns the contents of a file in the folder itself, or None."""
        try:
            return Path(self._root, name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise translate_error(error, name) from error

    def write_notes(self, notes: Mapping[str, bytes | None]) -> None:
        """Writes or removes files in the folder itself, in order."""
        for name, text in notes.items():
            path = Path(self._root, name)
            try:
                if text is None:
                    path.unlink(missing_ok=True)
                else:
                    temporary = path.with_name(TEMPORARY + name)
                    with temporary.open("wb") as file:
                        file.write(text)
                        file.flush()
                        os.fsync(file.fileno())
                    temporary.replace(path)
                sync_folder(self._root)
            except OSError as error:
                raise translate_error(error, str(path)) from error

    def _file_path(self, path: str) -> str:
        if not is_plain(path):
            raise invalid_path_error(
                path, "a name in it is empty, `.`, `..`, or contains a zero byte"
            )
        longest = max(len(name.encode()) for name in path.split("/"))
        if longest > _MAX_NAME_BYTES:
            raise invalid_path_error(
                path, f"a name has {longest} bytes; at most {_MAX_NAME_BYTES} are allowed"
            )
        return f"{self._root}/{path}"

    def _make_folder(self, path: str) -> None:
        """Creates the folders of a path."""
        parent = path.rpartition("/")[0]
        if not parent or parent in self._created:
            return
        folder = self._root
        for name in parent.split("/"):
            folder = f"{folder}/{name}"
            make_durable(folder, 0o777)  # readable by other users if the umask allows
            if Path(folder).is_symlink():
                raise invalid_path_error(
                    path, f"{folder} is a symbolic link, which is not followed"
                )
        self._created.add(parent)

    def _has_no_links(self, path: str) -> bool:
        """Returns whether no folder of a path is a symbolic link."""
        folder = self._root
        for name in path.split("/")[:-1]:
            folder = f"{folder}/{name}"
            if Path(folder).is_symlink():
                return False
        return True

    def _remove_empty(self, folder: str) -> None:
        """Removes a folder and its parents as long as they are empty."""
        self._created.clear()
        while folder:
            try:
                Path(self._root, folder).rmdir()
            except OSError:
                return
            folder = folder.rpartition("/")[0]


def _decode(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")


def _write_atomically(path: str, temporary: str, source: OpenObject) -> tuple[int, str]:
    """Writes an object's bytes under a temporary name, and renames the file when it is complete."""
    try:
        size, checksum = _write(temporary, source)
        os.rename(temporary, path)  # noqa: PTH104  a Path takes a tenth of the time of a small file
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return size, checksum


def _write(path: str, source: OpenObject) -> tuple[int, str]:
    """Writes an object's bytes to a new file with its time; returns their number and hex MD5."""
    digest = hashlib.md5(usedforsecurity=False)
    size = 0
    with open(path, "xb") as file:  # noqa: PTH123  as above
        for chunk in source.chunks():
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        file.flush()
        os.utime(file.fileno(), (source.entry.mtime, source.entry.mtime))
    return size, digest.hexdigest()
