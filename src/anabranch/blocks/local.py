"""A block store in a folder of this machine.

A block is a file, written whole and synced before it has its name, and never changed afterwards.
Small ones at addresses that are nobody else's have their name at once and are synced many together.
See `local_paths` for which file an address means, `local_files` and `local_journal` for how one
comes to be.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockInfo, StorageConfig, Stored
from anabranch.blocks.hashing import Hashing
from anabranch.blocks.local_checked import UP_TO_BYTES, LocalCheckedReads
from anabranch.blocks.local_cleaning import clean
from anabranch.blocks.local_copying import copy_bytes, md5_of
from anabranch.blocks.local_errors import NOT_THERE, translate
from anabranch.blocks.local_files import NewFile, TemporaryNames, unnamed_files_work
from anabranch.blocks.local_folders import LocalFolders, make_durable
from anabranch.blocks.local_journal import LONGEST_BYTES, Journal
from anabranch.blocks.local_listing import walk
from anabranch.blocks.local_paths import (
    SCHEME,
    TEMPORARY,
    Place,
    namespace_of,
    place_of,
    prefix_of,
    relative_path,
)
from anabranch.blocks.local_pieces import Pieces, open_block
from anabranch.blocks.local_recovery import recover
from anabranch.blocks.local_small import SmallBlocks, small_body
from anabranch.blocks.local_sources import LocalSources
from anabranch.blocks.local_uploads import LocalUploads
from anabranch.blocks.namespaces import invalid_namespace
from anabranch.errors import AlreadyExists, Busy, Invalid
from anabranch.model.part import Part

__all__ = ["LocalBlocks"]


class LocalBlocks:
    """A `BlockStore` in the folder `root`, which is made if it is not there.

    Files below `external_prefixes` may be read, too; if `import_enabled`, also imported.
    `pre_signed` says that clients may have presigned URLs, which the server answers. `clock` gives
    seconds since 1970; the journal of small blocks begins anew when it is longer than
    `journal_bytes`. `checked` compares blocks of up to `checked_up_to_bytes`. Blocks that a crash
    has cut off are brought back first. Raises Busy for a folder that cannot be written.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        import_enabled: bool = False,
        external_prefixes: Sequence[str] = (),
        pre_signed: bool = False,
        clock: Callable[[], float] = time.time,
        journal_bytes: int = LONGEST_BYTES,
        checked_up_to_bytes: int = UP_TO_BYTES,
    ) -> None:
        self.config = StorageConfig(
            blockstore_type="local",
            blockstore_namespace_example="local://example-bucket/",
            namespace_validity_regex="^local://",
            default_namespace_prefix="local://data/",
            pre_sign_support=pre_signed,
            pre_sign_multipart_upload=pre_signed,
            import_support=import_enabled,
            import_validity_regex="^local://" if import_enabled else "",
        )
        self.sources = LocalSources(external_prefixes)
        self._clock = clock
        self._prefixes = tuple(external_prefixes)
        self._root = str(Path(root).resolve())
        self._folders = LocalFolders(self._root)
        self._names = TemporaryNames(f"{self._root}/{TEMPORARY}")
        journals = f"{self._names.folder}/journals"
        try:
            folder = Path(self._names.folder)
            for missing in [
                path for path in (*reversed(folder.parents), folder) if not path.is_dir()
            ]:
                make_durable(str(missing))
            self._unnamed = unnamed_files_work(self._names)
            recover(journals, self._folders)
        except OSError as error:
            raise Busy(
                f"{self._root}: cannot write to the folder of blocks: {error.strerror}",
                kind="storage_failed",
                hint="Look at the folder's permissions and the disk's space.",
            ) from error
        self._journal = Journal(journals, self._names, self._folders, longest_bytes=journal_bytes)
        self.checked = LocalCheckedReads(self._path, checked_up_to_bytes)
        self._small = SmallBlocks(self._folders, self._journal, clock)
        self._uploads = LocalUploads(
            f"{self._names.folder}/uploads", self._names, unnamed=self._unnamed, clock=clock
        )

    def opener(self) -> Callable[[], LocalBlocks]:
        """Returns what opens the same folder in another process; it can be pickled."""
        return partial(
            LocalBlocks,
            self._root,
            import_enabled=self.config.import_support,
            external_prefixes=self._prefixes,
            checked_up_to_bytes=self.checked.up_to_bytes,
        )

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace is one of the root's folders."""
        try:
            self.namespace(storage_namespace)
        except Invalid:
            return False
        return True

    def namespace(self, storage_namespace: str) -> str:
        """Returns the address of a storage namespace's folder, whatever spelling names it (see
        `local_paths`). Raises Invalid for one that cannot lie here.
        """
        if not storage_namespace.startswith(SCHEME):
            raise invalid_namespace(self.config)
        return namespace_of(storage_namespace, self._root)

    def put(
        self, address: str, chunks: Iterable[bytes], *, create: bool = False, fresh: bool = False
    ) -> Stored:
        """Stores the chunks, one after another, and returns what they came to.

        When `chunks` raises, or the disk is full (Busy, kind disk_full), nothing stays. With
        `create`, raises AlreadyExists if the address is taken. Raises Invalid (kind name_clash)
        where a folder has the block's name, or a block that of one of its folders. A `fresh`
        address lets a small block share its wait for the disk with others.
        """
        place = place_of(address, self._root)
        if fresh and not create:
            body, chunks = small_body(chunks)
            if body is not None:
                stored = self._small.put(place, address, body)
                if stored is not None:
                    return stored
        digest = hashlib.md5(usedforsecurity=False)
        size = 0
        with self._new_file(place, address) as file:
            with Hashing((digest,)) as hashing:
                for chunk in chunks:
                    hashing.update(chunk)
                    size += len(chunk)
                    try:
                        file.write(chunk)
                    except OSError as error:
                        raise translate(error, address) from error
            self._publish(file, place, address, create=create)
        return Stored(size, digest.hexdigest(), int(self._clock()))

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields the bytes from `start`, to the end or `length` of them, in pieces of at most
        1 MiB. Raises Gone at once when there is nothing there or it is shorter.
        """
        return self._pieces(address, start, length)

    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        """Returns the same as `get`, as one string."""
        with self._pieces(address, start, length) as pieces:
            first = next(pieces, b"")
            return b"".join([first, *pieces]) if pieces.left else first

    def read_at_once(self, address: str, start: int, length: int) -> bytes | None:
        """Returns the same if the system has it in its memory, else None; None also where there
        is nothing or too little.
        """
        if self._is_source(address):
            return None
        return kernel.read_cached(self._path(address), start, length)

    def stat(self, address: str) -> BlockInfo | None:
        """Returns what is there, or None."""
        if self._is_source(address):
            return self.sources.stat(address)
        place = place_of(address, self._root)
        try:
            status = os.lstat(f"{self._folders.path(place.folder)}/{place.name}")
        except NOT_THERE:
            return None
        except OSError as error:
            raise translate(error, address) from error
        if not stat.S_ISREG(status.st_mode):
            return None
        return BlockInfo(SCHEME + place.path, status.st_size, int(status.st_mtime))

    def delete(self, addresses: Iterable[str]) -> None:
        """Removes blocks; those that are not there are passed over."""
        for address in addresses:
            place = place_of(address, self._root)
            try:
                os.unlink(f"{self._folders.path(place.folder)}/{place.name}")
            except (*NOT_THERE, IsADirectoryError):
                continue
            except OSError as error:
                raise translate(error, address) from error
            self._journal.forget(place.path)

    def list(self, prefix: str, after: str = "") -> Iterator[BlockInfo]:
        """Yields the blocks whose address begins with `prefix`, in order, after `after`.

        Addresses are in the form in which they are kept; `prefix` and `after` may be in either.
        """
        beginning = prefix_of(prefix, self._root)
        self._folders.path(beginning.folder)
        if after.startswith(SCHEME):
            return walk(self._root, beginning, relative_path(after, self._root))
        return walk(self._root, beginning, "") if after < SCHEME else iter(())

    def copy(self, source: str, destination: str, *, checksum: str | None = None) -> Stored:
        """Copies a block, sharing its disk space where the file system can. Raises Gone."""
        if self._is_source(source):
            return self.put(destination, self.get(source))
        place = place_of(destination, self._root)
        descriptor, size = open_block(self._path(source), source)
        try:
            with self._new_file(place, destination) as file:
                copy_bytes(descriptor, 0, size, file, source)
                checksum = checksum or md5_of(descriptor, 0, size)
                self._publish(file, place, destination, create=False)
        finally:
            os.close(descriptor)
        return Stored(size, checksum, int(self._clock()))

    def open_upload(self, address: str) -> str:
        """Opens an upload in parts of the block at an address; returns its id."""
        return self._uploads.open(self.unqualify(address))

    def put_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        *,
        md5: str | None = None,
    ) -> Part:
        """Stores the chunks as the part of that number, in place of one that is there.

        Raises NotFound for an unknown upload, Invalid for another `md5`, Busy for a full disk;
        nothing has changed then, nor when `chunks` raises.
        """
        return self._uploads.put(self.unqualify(address), upload_id, number, chunks, md5)

    def copy_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        source: str,
        start: int = 0,
        length: int | None = None,
    ) -> Part:
        """Stores bytes of another block as a part. Raises Gone, NotFound as `put_part` does."""
        if self._is_source(source):
            return self.put_part(address, upload_id, number, self.get(source, start, length))
        known, path = self.unqualify(address), self._path(source)
        return self._uploads.copy(known, upload_id, number, (path, source), start, length)

    def parts(self, address: str, upload_id: str) -> Sequence[Part]:
        """Returns the parts that are there, by number. Raises NotFound."""
        return self._uploads.parts(self.unqualify(address), upload_id)

    def complete_upload(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Stored:
        """Makes a block of parts. Raises NotFound where the upload is not there or was completed
        otherwise, Invalid for a part that is not there.
        """
        place = place_of(address, self._root)
        folder = self._made(place.folder, address)
        size, checksum = self._uploads.complete(
            SCHEME + place.path, upload_id, parts, folder, place.name
        )
        return Stored(size, checksum, int(self._clock()))

    def abort_upload(self, address: str, upload_id: str) -> None:
        """Removes an upload and its parts; one that is not known is passed over."""
        self._uploads.abort(self.unqualify(address), upload_id)

    def qualify(self, address: str) -> str:
        """Returns the address with the root in it; one of another store as it is."""
        if address.startswith(SCHEME) and not address.startswith("/", len(SCHEME)):
            return f"{SCHEME}{self._root}/{address[len(SCHEME) :]}"
        return address

    def unqualify(self, address: str) -> str:
        """Returns the address without the root. Raises Invalid for one outside the store."""
        return SCHEME + place_of(address, self._root).path

    def local_path(self, address: str) -> str:
        """Returns the path of the block's file, whether it is there or not."""
        return self._path(address)

    def write_folder(self, prefix: str) -> str:
        """Returns the path of the folder `prefix`, which is made if it is not there. What others
        write into it under a name is a block, durable once they have synced it and the folder.
        """
        return self._made(place_of(prefix, self._root).path, prefix)

    def presign(
        self,
        address: str,  # noqa: ARG002
        method: Literal["GET", "PUT"],  # noqa: ARG002
        seconds: int,  # noqa: ARG002
    ) -> None:
        """Returns None: nobody answers requests here."""
        return

    def presign_part(
        self,
        address: str,  # noqa: ARG002
        upload_id: str,  # noqa: ARG002
        number: int,  # noqa: ARG002
        seconds: int,  # noqa: ARG002
    ) -> None:
        """Returns None, as above."""
        return

    def clean_temporaries(self, older_than_seconds: float) -> int:
        """Removes files left by writers that were killed, and returns how many. A file that was
        written to within the last `older_than_seconds` may be in use, and stays.
        """
        return clean(self._root, self._clock() - older_than_seconds)

    def close(self) -> None:
        """Settles and removes the journal of this process. Who still puts small blocks then waits
        for the disk by himself.
        """
        self._journal.close()

    def _is_source(self, address: str) -> bool:
        """Returns whether an address is of a file outside of the store that may be read."""
        return self.sources.owns(address) and not address.startswith(f"{SCHEME}{self._root}/")

    def _pieces(self, address: str, start: int, length: int | None) -> Pieces:
        if self._is_source(address):
            return self.sources.open(address, start, length)
        return Pieces(self._path(address), address, start, length)

    def _path(self, address: str) -> str:
        folder, name = kernel.ordinary_place(address) or place_of(address, self._root)
        return f"{self._folders.path(folder)}/{name}"

    def _made(self, folder: str, address: str) -> str:
        """Returns the path of a folder, which is made if it is not there."""
        try:
            path = self._folders.make(folder)
            if not os.path.isdir(path):
                self._folders.forget()  # somebody has removed it
                self._folders.make(folder)
        except OSError as error:
            raise translate(error, address) from error
        return path

    def _new_file(self, place: Place, address: str) -> NewFile:
        try:
            try:
                return self._open_new(place)
            except FileNotFoundError:
                self._folders.forget()  # somebody has removed a folder that was there
                return self._open_new(place)
        except OSError as error:
            raise translate(error, address) from error

    def _open_new(self, place: Place) -> NewFile:
        return NewFile(self._folders.make(place.folder), self._names, unnamed=self._unnamed)

    def _settle(self, place: Place) -> None:
        """Sees to it that the journal does not bring back what another block replaces."""
        if self._journal.holds(place.path) and not self._journal.settle():
            raise Busy(
                f"{place.path}: the block that is there cannot be synced",
                kind="storage_failed",
                hint="Look at the disk.",
            )

    def _publish(self, file: NewFile, place: Place, address: str, *, create: bool) -> None:
        self._settle(place)
        try:
            file.publish(place.name, create=create)
        except FileExistsError as error:
            raise AlreadyExists(f"{address}: there is a block already") from error
        except OSError as error:
            raise translate(error, address) from error
