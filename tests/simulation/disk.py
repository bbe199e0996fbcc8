"""A model of a disk: what a folder in memory looks like after a loss of power.

The files are real, so that the store on a folder runs as it is, with
what the kernel writes. Python's `os.fsync` and `os.fdatasync` are replaced: they note the content
of a file, or the names in a folder, which are durable from then on. After a loss of power another
folder is made of these. Of everything newer, each sector of a file and each name may be there or
not, whatever came first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from random import Random

__all__ = ["Disk"]

_SECTOR = 512


class Disk:
    """The folder `root` on a disk. `before_sync` is called ahead of each sync, and may raise."""

    def __init__(self, root: Path, random: Random, before_sync: Callable[[], None]) -> None:
        self.root = root
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
        if stat.S_ISDIR(status.st_mode):
            folder = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            if folder.startswith(str(self.root)):
                self._names[os.path.relpath(folder, self.root)] = names = _inodes(folder)
                for name, inode in names.items():
                    self._hold(f"{folder}/{name}", inode)
        else:
            path = f"/proc/self/fd/{descriptor}"  # the descriptor may be for writing only
            self._hold(path, status.st_ino)
            self._files[status.st_ino] = Path(path).read_bytes()

    def close(self) -> None:
        """Lets go of the files."""
        held, self._held = self._held, {}
        for descriptor in held.values():
            os.close(descriptor)

    def _hold(self, path: str, inode: int) -> None:
        if inode not in self._held:
            self._held[inode] = os.open(path, os.O_PATH)

    def lose_power(self) -> None:
        """Moves to another folder, which has what a loss of power may leave."""
        self._losses += 1
        old, new = self.root, self.root.with_name(f"disk-{self._losses}")
        names, self._names, files, self._files = self._names, {}, self._files, {}
        self.root = new
        self._leave(old, new, ".", names, files)
        for path in new.rglob("*"):
            self._hold(str(path), path.stat().st_ino)

    def _leave(
        self,
        old: Path,
        new: Path,
        folder: str,
        names: dict[str, dict[str, int]],
        files: dict[int, bytes],
    ) -> None:
        (new / folder).mkdir()
        durable, current = names.get(folder, {}), _inodes(old / folder)
        kept = {}
        for name in sorted(
            {*durable, *current}, key=lambda each: current.get(each, durable.get(each))
        ):
            before, now = durable.get(name), current.get(name)
            inode = now if before == now or self._random.random() < 0.5 else before
            if inode is not None:
                kept[name] = inode
        for name, inode in kept.items():
            path = os.path.normpath(f"{folder}/{name}")
            is_now = current.get(name) == inode
            if is_now and (old / path).is_dir():
                self._leave(old, new, path, names, files)
                continue
            content = (old / path).read_bytes() if is_now else files.get(inode, b"")
            content = self._torn(files.get(inode, b""), content)
            (new / path).write_bytes(content)
            self._files[(new / path).stat().st_ino] = content
        self._names[folder] = _inodes(new / folder)

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


def _inodes(folder: str | Path) -> dict[str, int]:
    return {entry.name: entry.inode() for entry in os.scandir(folder)}
