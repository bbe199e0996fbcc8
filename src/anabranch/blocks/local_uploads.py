"""Uploads in parts of a local store: a folder each, among the store's temporary files.

    ROOT/.anabranch-temporary/uploads/UPLOAD/
        00001.STAMP.SIZE.MD5        a part, see `local_parts`
        whole.CHECKSUM              the block, made of several parts, before it has its name

A file's name is given when it is whole and durable, so nothing else need be kept. The block gets
its name as a second, hard link: of lists that race exactly one wins, and which one is seen by
whose file it is, by everyone and at any time, until the folder is removed.
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

from anabranch.blocks.hashing import Hashing
from anabranch.blocks.local_copying import copy_bytes, md5_of
from anabranch.blocks.local_errors import translate
from anabranch.blocks.local_files import NewFile, TemporaryNames
from anabranch.blocks.local_folders import make_durable, sync_folder
from anabranch.blocks.local_parts import NANOSECONDS, file_name, part_files, parts_in
from anabranch.blocks.local_pieces import open_block
from anabranch.blocks.upload_errors import part_not_found, upload_not_found, wrong_md5
from anabranch.errors import AnabranchError, Gone
from anabranch.model.part import Part, checksum_of_parts

__all__ = ["LocalUploads"]

_ID = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}")
_WHOLE = "whole."
_GONE = ".gone"


class LocalUploads:
    """The uploads of one store, in `folder`. `clock` gives seconds since 1970."""

    def __init__(
        self, folder: str, names: TemporaryNames, *, unnamed: bool, clock: Callable[[], float]
    ) -> None:
        self._root = folder
        self._names = names
        self._unnamed = unnamed
        self._clock = clock
        self._made = False

    def open(self, address: str) -> str:
        """Returns the id of a new upload; its end tells which address it is for."""
        stamp = int(self._clock() * NANOSECONDS)
        upload_id = f"{stamp:016x}{secrets.token_hex(8)}-{_fingerprint(address)}"
        try:
            if not self._made:
                make_durable(self._root)
                self._made = True
            make_durable(f"{self._root}/{upload_id}")
        except OSError as error:
            raise translate(error, address) from error
        return upload_id

    def put(
        self, address: str, upload_id: str, number: int, chunks: Iterable[bytes], md5: str | None
    ) -> Part:
        """Stores the chunks as a part."""
        upload = self._folder(address, upload_id)
        digest = hashlib.md5(usedforsecurity=False)
        size = 0
        with self._new_file(upload, address) as file:
            with Hashing((digest,)) as hashing:
                for chunk in chunks:
                    hashing.update(chunk)
                    size += len(chunk)
                    try:
                        file.write(chunk)
                    except OSError as error:
                        raise translate(error, address) from error
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
        """Stores bytes of a file, given by its path and its address, as a part."""
        upload = self._folder(address, upload_id)
        descriptor, size = open_block(*source)
        try:
            wanted = size - start if length is None else length
            if start < 0 or wanted < 0 or start + wanted > size:
                raise Gone(f"{source[1]}: the data ends at byte {size}", kind="data_missing")
            with self._new_file(upload, address) as file:
                copy_bytes(descriptor, start, wanted, file, source[1])
                checksum = md5_of(descriptor, start, wanted)
                return self._publish(file, upload, address, number, wanted, checksum)
        finally:
            os.close(descriptor)

    def parts(self, address: str, upload_id: str) -> list[Part]:
        """Returns the parts that are there, by number."""
        held = parts_in(self._folder(address, upload_id))
        return [held[number].part for number in sorted(held)]

    def complete(
        self,
        address: str,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
        folder: str,
        name: str,
    ) -> tuple[int, str]:
        """Makes the file `name` in `folder` of parts; returns its size and checksum."""
        upload, target = self._folder(address, upload_id), f"{folder}/{name}"
        try:
            with _turn(upload):
                whole = self._whole(address, upload, parts)
            try:
                os.link(whole, target, follow_symlinks=False)
            except FileExistsError:
                if not os.path.samefile(whole, target):
                    raise upload_not_found() from None
            sync_folder(folder)
            return os.stat(target).st_size, checksum_of_parts([part[1] for part in parts])
        except OSError as error:
            raise self._told(error, upload, address) from error

    def abort(self, address: str, upload_id: str) -> None:
        """Removes an upload; one that is not known is passed over."""
        if not _is_id(upload_id, address):
            return
        upload = f"{self._root}/{upload_id}"
        try:
            # in one step, so that nobody meets half of it
            with contextlib.suppress(FileNotFoundError):
                os.rename(upload, upload + _GONE)
            while not _removed(upload + _GONE):
                pass  # a part came to be meanwhile
        except OSError as error:
            raise translate(error, address) from error

    def _whole(self, address: str, upload: str, parts: Sequence[tuple[int, str]]) -> str:
        """Returns the path of a durable file made of parts: of one alone, its own."""
        checksum = checksum_of_parts([part[1] for part in parts])
        whole = f"{upload}/{_WHOLE}{checksum}"
        if os.path.exists(whole):
            return whole
        held = parts_in(upload)
        chosen = []
        for number, expected in parts:
            if number not in held or held[number].part.checksum != expected:
                raise part_not_found(address, number)
            chosen.append(held[number])
        if len(chosen) == 1:
            return f"{upload}/{chosen[0].name}"
        with self._new_file(upload, address) as file:
            for each in chosen:
                _append(f"{upload}/{each.name}", each.part.number, file, address)
            file.publish(whole.rpartition("/")[2], create=True)
        return whole

    def _publish(
        self, file: NewFile, upload: str, address: str, number: int, size: int, checksum: str
    ) -> Part:
        """Gives a part its name, and removes those that it replaces."""
        try:
            before = part_files(upload, number)
            now = int(self._clock() * NANOSECONDS)
            stamp = max([now, *(held.stamp + 1 for held in before)])
            file.publish(file_name(number, stamp, size, checksum), create=False)
            for held in before:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{upload}/{held.name}")
        except OSError as error:
            raise self._told(error, upload, address) from error
        return Part(number, size, checksum, stamp // NANOSECONDS)

    def _new_file(self, upload: str, address: str) -> NewFile:
        try:
            return NewFile(upload, self._names, unnamed=self._unnamed)
        except OSError as error:
            raise self._told(error, upload, address) from error

    def _folder(self, address: str, upload_id: str) -> str:
        """Returns the folder of an upload. Raises NotFound."""
        upload = f"{self._root}/{upload_id}"
        if not (_is_id(upload_id, address) and os.path.isdir(upload)):
            raise upload_not_found()
        return upload

    def _told(self, error: OSError, upload: str, address: str) -> AnabranchError:
        """Returns an error as one of ours: an upload may be aborted at any moment."""
        return translate(error, address) if os.path.isdir(upload) else upload_not_found()


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
def _turn(upload: str) -> Iterator[None]:
    """Lets others, of other processes too, wait: who asks again because copying takes long shall
    not make a second copy.
    """
    descriptor = os.open(upload, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _removed(folder: str) -> bool:
    """Removes a folder of files; returns whether it is gone."""
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
    """Returns whether this can be the id of an upload to an address."""
    return bool(_ID.fullmatch(upload_id)) and upload_id.endswith(_fingerprint(address))


def _fingerprint(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()[:16]
