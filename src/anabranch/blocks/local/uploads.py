"""Multipart uploads of a local store: a folder each, among the store's temporary files.

    ROOT/.anabranch-temporary/uploads/UPLOAD/
        00001.STAMP.SIZE.MD5        a part, see `part_files`
        whole.CHECKSUM              the joined parts, before the block is linked

A file gets its name when it is complete and durable, so there is no other state. The block is a
hard link to `whole`, so exactly one of several concurrent completions wins, and every process can
tell which one until the folder is removed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence

from anabranch.blocks.hashing import BackgroundHasher
from anabranch.blocks.local.copy_file import compute_md5, copy_bytes
from anabranch.blocks.local.errors import translate_error
from anabranch.blocks.local.files import NewFile, TemporaryNames
from anabranch.blocks.local.folders import make_durable, sync_folder
from anabranch.blocks.local.part_files import NANOSECONDS, newest_parts, part_file_name, part_files
from anabranch.blocks.local.range_reader import open_block
from anabranch.blocks.multipart.errors import part_not_found, upload_not_found, wrong_md5
from anabranch.errors import AnabranchError, Gone
from anabranch.model.uploads.part import Part, multipart_checksum

__all__ = ["LocalUploads"]

_ID = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}")
_WHOLE = "whole."
_GONE = ".gone"


class LocalUploads:
    """Multipart uploads in `folder`. `clock` gives seconds since 1970."""

    def __init__(
        self, folder: str, names: TemporaryNames, *, unnamed: bool, clock: Callable[[], float]
    ) -> None:
        self._root = folder
        self._names = names
        self._unnamed = unnamed
        self._clock = clock
        self._made = False

    def open(self, address: str) -> str:
        """Opens an upload and returns its id, which is valid for one address."""
        stamp = int(self._clock() * NANOSECONDS)
        upload_id = f"{stamp:016x}{secrets.token_hex(8)}-{_fingerprint(address)}"
        try:
            if not self._made:
                make_durable(self._root)
                self._made = True
            make_durable(f"{self._root}/{upload_id}")
        except OSError as error:
            raise translate_error(error, address) from error
        return upload_id

    def put(
        self, address: str, upload_id: str, number: int, chunks: Iterable[bytes], md5: str | None
    ) -> Part:
        """Stores the chunks as a part. Raises NotFound, and Invalid if the hex `md5` differs."""
        upload = self._folder(address, upload_id)
        digest = hashlib.md5(usedforsecurity=False)
        size = 0
        with self._new_file(upload, address) as file:
            with BackgroundHasher((digest,)) as hasher:
                for chunk in chunks:
                    hasher.update(chunk)
                    size += len(chunk)
                    try:
                        file.write(chunk)
                    except OSError as error:
                        raise translate_error(error, address) from error
            checksum = digest.hexdigest()
            if md5 not in {None, checksum}:
                raise wrong_md5(address, number)
            return self._publish(file, upload, address, number, size, checksum)

    def copy(
        self,
        address: str,
        upload_id: str,
        number: int,
        source: tuple[str, str],
        start: int,
        length: int | None,
    ) -> Part:
        """Stores a range of a file, given by its path and its address, as a part. Raises Gone."""
        upload = self._folder(address, upload_id)
        descriptor, size = open_block(*source)
        try:
            copied = size - start if length is None else length
            if start < 0 or copied < 0 or start + copied > size:
                raise Gone(f"{source[1]}: the data ends at byte {size}", kind="data_missing")
            with self._new_file(upload, address) as file:
                copy_bytes(descriptor, start, copied, file, source[1])
                checksum = compute_md5(descriptor, start, copied)
                return self._publish(file, upload, address, number, copied, checksum)
        finally:
            os.close(descriptor)

    def parts(self, address: str, upload_id: str) -> list[Part]:
        """Returns the stored parts, by number. Raises NotFound."""
        stored = newest_parts(self._folder(address, upload_id))
        return [stored[number].part for number in sorted(stored)]

    def complete(
        self,
        address: str,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
        folder: str,
        name: str,
    ) -> tuple[int, str]:
        """Joins parts to the file `name` in `folder` and returns its size and checksum."""
        upload, target = self._folder(address, upload_id), f"{folder}/{name}"
        try:
            with _lock(upload):
                whole = self._assemble(address, upload, parts)
            try:
                os.link(whole, target, follow_symlinks=False)
            except FileExistsError:
                if not os.path.samefile(whole, target):
                    raise upload_not_found() from None
            sync_folder(folder)
            return os.stat(target).st_size, multipart_checksum([part[1] for part in parts])
        except OSError as error:
            raise self._translate(error, upload, address) from error

    def abort(self, address: str, upload_id: str) -> None:
        """Removes an upload; an unknown one is ignored."""
        if not _is_id(upload_id, address):
            return
        upload = f"{self._root}/{upload_id}"
        try:
            # atomic, so that no process finds it half removed
            with contextlib.suppress(FileNotFoundError):
                os.rename(upload, upload + _GONE)
            while not _remove_folder(upload + _GONE):
                pass  # a part was added meanwhile
        except OSError as error:
            raise translate_error(error, address) from error

    def _assemble(self, address: str, upload: str, parts: Sequence[tuple[int, str]]) -> str:
        """Returns the path of a durable file of joined parts: of a single part, its own."""
        checksum = multipart_checksum([part[1] for part in parts])
        whole = f"{upload}/{_WHOLE}{checksum}"
        if os.path.exists(whole):
            return whole
        stored = newest_parts(upload)
        chosen = []
        for number, expected in parts:
            if number not in stored or stored[number].part.checksum != expected:
                raise part_not_found(address, number)
            chosen.append(stored[number])
        if len(chosen) == 1:
            return f"{upload}/{chosen[0].name}"
        with self._new_file(upload, address) as file:
            for source in chosen:
                _append(f"{upload}/{source.name}", source.part.number, file, address)
            file.publish(whole.rpartition("/")[2], if_absent=True)
        return whole

    def _publish(
        self, file: NewFile, upload: str, address: str, number: int, size: int, checksum: str
    ) -> Part:
        """Gives a part its name, and removes the files that it replaces."""
        try:
            replaced = part_files(upload, number)
            now = int(self._clock() * NANOSECONDS)
            stamp = max([now, *(file.stamp + 1 for file in replaced)])
            file.publish(part_file_name(number, stamp, size, checksum), if_absent=False)
            for other in replaced:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{upload}/{other.name}")
        except OSError as error:
            raise self._translate(error, upload, address) from error
        return Part(number, size, checksum, stamp // NANOSECONDS)

    def _new_file(self, upload: str, address: str) -> NewFile:
        try:
            return NewFile(upload, self._names, unnamed=self._unnamed)
        except OSError as error:
            raise self._translate(error, upload, address) from error

    def _folder(self, address: str, upload_id: str) -> str:
        """Returns the folder of an upload. Raises NotFound."""
        upload = f"{self._root}/{upload_id}"
        if not (_is_id(upload_id, address) and os.path.isdir(upload)):
            raise upload_not_found()
        return upload

    def _translate(self, error: OSError, upload: str, address: str) -> AnabranchError:
        """Returns the error that corresponds to one in an upload's folder, which may be aborted."""
        return translate_error(error, address) if os.path.isdir(upload) else upload_not_found()


def _append(path: str, number: int, file: NewFile, address: str) -> None:
    try:
        source, size = open_block(path, address)
    except Gone:
        raise part_not_found(address, number) from None
    try:
        copy_bytes(source, 0, size, file, address)
    finally:
        os.close(source)


@contextlib.contextmanager
def _lock(upload: str) -> Iterator[None]:
    """Locks an upload against other threads and processes, so that a retry of a slow completion
    does not copy the parts again.
    """
    descriptor = os.open(upload, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_folder(folder: str) -> bool:
    """Removes a folder with its files. Returns False if a file was added meanwhile."""
    try:
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{folder}/{name}")
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            return False
        raise
    return True


def _is_id(upload_id: str, address: str) -> bool:
    """Returns whether an id has the form of those of uploads to an address."""
    return bool(_ID.fullmatch(upload_id)) and upload_id.endswith(_fingerprint(address))


def _fingerprint(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()[:16]
