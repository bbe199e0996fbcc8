"""New files of a local store, which have no name in it before they are whole and durable.

Linux can make a file without any name (`O_TMPFILE`) and give it one when it is done; a process
that is killed then leaves nothing. Elsewhere, and for a file that takes another's place, the name
comes first in the store's folder for temporary files, and is changed in one step.
"""

from __future__ import annotations

import errno
import itertools
import os
import secrets
from types import TracebackType
from typing import Self

from anabranch.blocks.local_folders import sync_folder

__all__ = ["NewFile", "TemporaryNames", "unnamed_files_work"]


class TemporaryNames:
    """Names for files in a folder that no other process or thread gives."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._prefix = secrets.token_hex(8)
        self._numbers = itertools.count()

    def next(self) -> str:
        """Returns the path of a file that is not there."""
        # a forked process has the prefix and the number of its parent, but not its id
        return f"{self.folder}/{self._prefix}-{os.getpid()}-{next(self._numbers)}"


class NewFile:
    """A file being written, to be published in `folder`; gone if it is not by the end of the
    `with`. Its descriptor may be written to.
    """

    __slots__ = ("_folder", "_name", "_names", "descriptor")

    def __init__(self, folder: str, names: TemporaryNames, *, unnamed: bool) -> None:
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._names = names
        self._name: str | None = None
        try:
            if unnamed:
                flags = os.O_WRONLY | os.O_TMPFILE
                self.descriptor = os.open(".", flags, 0o600, dir_fd=self._folder)
            else:
                self._name = names.next()
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                self.descriptor = os.open(self._name, flags, 0o600)
        except BaseException:
            os.close(self._folder)
            raise

    def write(self, data: bytes) -> None:
        """Appends all of the bytes."""
        written = os.write(self.descriptor, data)
        while written < len(data):
            data = data[written:]
            written = os.write(self.descriptor, data)

    def publish(self, name: str, *, create: bool) -> None:
        """Makes the file durable and then gives it its name, durably. With `create`, raises
        FileExistsError if the name is taken; else the file takes the place of one there.
        """
        os.fdatasync(self.descriptor)
        if self._name is None:
            try:
                self._link(name)
            except FileExistsError:
                if create:
                    raise
                self._name = self._names.next()
                self._link(self._name)
        elif create:
            os.link(self._name, name, dst_dir_fd=self._folder, follow_symlinks=False)
            os.unlink(self._name)
            self._name = None
        if self._name is not None:
            os.rename(self._name, name, dst_dir_fd=self._folder)
            self._name = None
        os.fsync(self._folder)

    def _link(self, name: str) -> None:
        source = f"/proc/self/fd/{self.descriptor}"
        # with no folder's descriptor Python would call link(2), which links the link in /proc
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
                return  # cleaned away as too old


def unnamed_files_work(names: TemporaryNames) -> bool:
    """Returns whether the file system can make files without names and name them later."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    name = names.next()
    try:
        with NewFile(names.folder, names, unnamed=True) as file:
            file.publish(name, create=True)
        os.unlink(name)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EROFS):
            raise
        return False
    sync_folder(names.folder)
    return True
