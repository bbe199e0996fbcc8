"""A model of a disk: what a folder in memory looks like after a loss of power.

The files are real, so that the store on a folder runs as it is, with
what the kernel writes. Python's `os.fsync` and `os.fdatasync` are replaced: they note the content
of a file, or the names in a folder, which are durable from then on. The kernel syncs by itself: who
calls it notes that (`note_synced`). After a loss of power another
folder is made of these. Of everything newer, each sector of a file and each name may be there or
not, whatever came first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

__all__ = ["START", "Disk"]

START = 1_700_000_000.0
"""When a simulation begins, in seconds since 1970: years ago, by the time of this machine."""
_YEAR = 365 * 86_400
_SECTOR = 512


class Disk:
    """The folder `root` on a disk. `before_sync` is called ahead of each sync, and may raise."""

    def __init__(self, root: Path, random: Random, before_sync: Callable[[], None]) -> None:
        self.root = root
        self._root = str(root)
        self._random = random
        self._before_sync = before_sync
        self._files: dict[int, bytes] = {}
        """The durable content of files, by inode."""
        self._names: dict[str, dict[str, int]] = {}
        """The durable names in folders, by path from the root."""
        self._held: dict[int, int] = {}
        """Descriptors by inode, so that no inode is that of another file later."""
        self._losses = 0
        root.mkdir(parents=True)

    def sync(self, descriptor: int) -> None:
        """Makes a file or the names in a folder durable, as fsync(2) does."""
        self._before_sync()
        status = os.fstat(descriptor)
        path = f"/proc/self/fd/{descriptor}"  # the descriptor may be for writing only
        if stat.S_ISDIR(status.st_mode):
            self._note_folder(os.readlink(path))
        else:
            self._note_file(path, status.st_ino)

    def note_synced(self, folder: str, names: Iterable[str]) -> None:
        """Notes that the kernel has synced files and the names in their folder, which may be
        another file system than the disk.
        """
        for name in names:
            path = f"{folder}/{name}"
            self._note_file(path, os.stat(path).st_ino)
        self._note_folder(folder)

    def set_times(self, now: float) -> None:
        """Gives files that were written by now, by the time of this machine, a simulated one."""
        for entry in _entries(self._root):
            if entry.is_file() and entry.stat().st_mtime > START + _YEAR:
                os.utime(entry, (now, now))

    def close(self) -> None:
        """Lets go of the files."""
        held, self._held = self._held, {}
        for descriptor in held.values():
            os.close(descriptor)

    def _note_file(self, path: str, inode: int) -> None:
        self._hold(path, inode)
        self._files[inode] = _read(path)

    def _note_folder(self, folder: str) -> None:
        root = self._root
        if folder.startswith(root):
            self._names[folder[len(root) + 1 :]] = names = _inodes(folder)
            for name, inode in names.items():
                self._hold(f"{folder}/{name}", inode)

    def _hold(self, path: str, inode: int) -> None:
        if inode not in self._held:
            self._held[inode] = os.open(path, os.O_PATH)

    def lose_power(self) -> None:
        """Puts a folder in place of the present one that has what a loss of power may leave."""
        self._losses += 1
        new, old = self._root, str(self.root.with_name(f"disk-{self._losses}"))
        os.rename(new, old)
        names, self._names, files, self._files = self._names, {}, self._files, {}
        self._leave(old, new, "", names, files)
        for entry in _entries(new):
            self._hold(entry.path, entry.inode())

    def _leave(
        self,
        old: str,
        new: str,
        folder: str,
        names: dict[str, dict[str, int]],
        files: dict[int, bytes],
    ) -> None:
        os.mkdir(f"{new}/{folder}")
        durable, current = names.get(folder, {}), _inodes(f"{old}/{folder}")
        kept = {}
        for name in sorted({*durable, *current}):
            before, now = durable.get(name), current.get(name)
            inode = now if before == now or self._random.random() < 0.5 else before
            if inode is not None:
                kept[name] = inode
        for name, inode in kept.items():
            path = f"{folder}/{name}" if folder else name
            source, target = f"{old}/{path}", f"{new}/{path}"
            is_now = current.get(name) == inode
            if is_now and os.path.isdir(source):
                self._leave(old, new, path, names, files)
                continue
            content = _read(source) if is_now else files.get(inode, b"")
            content = self._torn(files.get(inode, b""), content)
            with open(target, "wb") as file:
                file.write(content)
                self._files[os.fstat(file.fileno()).st_ino] = content
            if is_now:
                times = os.stat(source)
                os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
        self._names[folder] = _inodes(f"{new}/{folder}")

    def _torn(self, durable: bytes, current: bytes) -> bytes:
        """Returns what may be left of a file: each of its sectors is the old or the new one."""
        if durable == current:
            return durable
        size = self._random.choice((len(durable), len(current), len(current)))
        sectors = []
        for start in range(0, size, _SECTOR):
            source = self._random.choice((durable, current))
            sectors.append(source[start : start + _SECTOR].ljust(min(_SECTOR, size - start), b"\0"))
        return b"".join(sectors)


def _inodes(folder: str) -> dict[str, int]:
    with os.scandir(folder) as entries:
        return {entry.name: entry.inode() for entry in entries}


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yields what is in a folder, and in those below it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir():
                yield from _entries(entry.path)


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()
