"""New files of a local store, which get their name when they are complete and durable.

Linux can create a file without a name (`O_TMPFILE`) and link it later, so a killed process leaves
nothing behind. On other systems, and to replace a file, the new file first has a name in the
store's folder for temporary files and is then renamed.
"""

from __future__ import annotations

import errno
import itertools
import os
import secrets
from types import TracebackType
from typing import Self

from anabranch.blocks.local.folders import sync_folder
from anabranch.files.sync_data import sync_data

__all__ = ["NewFile", "TemporaryNames", "supports_unnamed_files"]


class TemporaryNames:
    """Generator of unique names for temporary files in a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._prefix = secrets.token_hex(8)
        self._numbers = itertools.count()

    def next(self) -> str:
        """Returns the path of a new file."""
        # a forked process shares the prefix and the counter with its parent, but not the process id
        return f"{self.folder}/{self._prefix}-{os.getpid()}-{next(self._numbers)}"


class NewFile:
    """A file that is written, and then published in `folder`. Leaving the `with` block discards it
    unless it is published. Callers may write to `descriptor`.
    """

    __slots__ = ("_folder", "_name", "_names", "descriptor")

    def __init__(self, folder: str, names: TemporaryNames, *, unnamed: bool) -> None:
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._names = names
        self._name: str | None = None
        try:
            if unnamed:
                flags = os.O_WRONLY | getattr(os, "O_TMPFILE", 0)
                self.descriptor = os.open(".", flags, 0o600, dir_fd=self._folder)
            else:
                self._name = names.next()
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                self.descriptor = os.open(self._name, flags, 0o600)
        except BaseException:
            os.close(self._folder)
            raise

    def write(self, data: bytes) -> None:
        """Appends the bytes."""
        written = os.write(self.descriptor, data)
        while written < len(data):
            data = data[written:]
            written = os.write(self.descriptor, data)

    def publish(self, name: str, *, if_absent: bool) -> None:
        """Syncs the file, gives it its name, and syncs the folder. With `if_absent`, raises
        FileExistsError if the name exists; otherwise an existing file is replaced.
        """
        sync_data(self.descriptor)
        if self._name is None:
            try:
                self._link(name)
            except FileExistsError:
                if if_absent:
                    raise
                self._name = self._names.next()
                self._link(self._name)
        elif if_absent:
            os.link(self._name, name, dst_dir_fd=self._folder, follow_symlinks=False)
            os.unlink(self._name)
            self._name = None
        if self._name is not None:
            os.rename(self._name, name, dst_dir_fd=self._folder)
            self._name = None
        os.fsync(self._folder)

    def _link(self, name: str) -> None:
        source = f"/proc/self/fd/{self.descriptor}"
        # without a descriptor Python calls link(2), which would link the symbolic link in /proc
        os.link(
            source, name, src_dir_fd=self._folder, dst_dir_fd=self._folder, follow_symlinks=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self.descriptor)
        os.close(self._folder)
        if self._name is not None:
            try:
                os.unlink(self._name)
            except FileNotFoundError:
                return  # removed as a leftover


def supports_unnamed_files(names: TemporaryNames) -> bool:
    """Returns whether the file system can create unnamed files and link them later."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    name = names.next()
    try:
        with NewFile(names.folder, names, unnamed=True) as file:
            file.publish(name, if_absent=True)
        os.unlink(name)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EROFS):
            raise
        return False
    sync_folder(names.folder)
    return True
