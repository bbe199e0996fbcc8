"""Block store in a folder of this machine.

A block is a file that gets its name when it is complete and synced, and never changes afterwards. A
small block at a unique address gets its name at once, and becomes durable by the journal, together
with others. `paths` maps addresses to files, `files` and `journal` write them.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockInfo, StorageConfig, Stored
from anabranch.blocks.hashing import BackgroundHasher
from anabranch.blocks.local.checked_reads import UP_TO_BYTES, LocalCheckedReads
from anabranch.blocks.local.cleanup import remove_leftovers
from anabranch.blocks.local.copy_file import compute_md5, copy_bytes
from anabranch.blocks.local.errors import NOT_THERE, gone_error, translate_error
from anabranch.blocks.local.external_objects import LocalExternalObjects
from anabranch.blocks.local.files import TemporaryNames, supports_unnamed_files
from anabranch.blocks.local.folders import LocalFolders, make_durable
from anabranch.blocks.local.journal.journal import MAX_JOURNAL_BYTES, Journal
from anabranch.blocks.local.journal.recovery import recover
from anabranch.blocks.local.listing import walk
from anabranch.blocks.local.new_blocks import NewBlocks
from anabranch.blocks.local.paths import (
    SCHEME,
    TEMPORARY,
    normalize_namespace,
    parse_address,
    parse_prefix,
    relative_path,
)
from anabranch.blocks.local.quarantine import LocalQuarantine
from anabranch.blocks.local.range_reader import RangeReader, open_block
from anabranch.blocks.local.small_objects import SmallObjects, read_small_body
from anabranch.blocks.local.uploads import LocalUploads
from anabranch.blocks.namespaces import invalid_namespace
from anabranch.errors import Busy, Invalid
from anabranch.model.uploads.part import Part
from anabranch.spent_time import timed

__all__ = ["LocalBlocks"]


class LocalBlocks:
    """A `BlockStore` in the folder `root`, which is created if it does not exist.

    Files below `external_prefixes` can be read as well and, with `import_enabled`, imported. With
    `pre_signed`, clients may request presigned URLs, which the server serves. `checked` compares
    blocks of up to `checked_up_to_bytes`. A segment of the journal is replaced when it is longer
    than `journal_bytes`. `clock` gives seconds since 1970. The constructor first restores blocks
    from the journals of crashed processes. Raises Busy if the folder is not writable.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        import_enabled: bool = False,
        external_prefixes: Sequence[str] = (),
        pre_signed: bool = False,
        clock: Callable[[], float] = time.time,
        journal_bytes: int = MAX_JOURNAL_BYTES,
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
        self._root = str(Path(root).resolve())
        self.sources = LocalExternalObjects(external_prefixes, self._root)
        self._clock = clock
        self._prefixes = tuple(external_prefixes)
        self._folders = LocalFolders(self._root)
        self._names = TemporaryNames(f"{self._root}/{TEMPORARY}")
        journals = f"{self._names.folder}/journals"
        try:
            folder = Path(self._names.folder)
            for missing in [
                path for path in (*reversed(folder.parents), folder) if not path.is_dir()
            ]:
                make_durable(str(missing))
            unnamed = supports_unnamed_files(self._names)
            recover(journals, self._folders)
        except OSError as error:
            raise Busy(
                f"{self._root}: cannot write to the folder of blocks: {error.strerror}",
                kind="storage_failed",
                hint="Check the folder's permissions and the free disk space.",
            ) from error
        self._journal = Journal(journals, self._names, self._folders, max_bytes=journal_bytes)
        self._new_blocks = NewBlocks(self._folders, self._names, self._journal, unnamed=unnamed)
        self.checked = LocalCheckedReads(self._path, checked_up_to_bytes)
        self.quarantine = LocalQuarantine(self._root, self._folders, self._journal)
        self._small = SmallObjects(self._folders, self._journal, clock)
        self._uploads = LocalUploads(
            f"{self._names.folder}/uploads", self._names, unnamed=unnamed, clock=clock
        )

    def opener(self) -> Callable[[], LocalBlocks]:
        """Returns a picklable function that opens this store in another process."""
        return partial(
            LocalBlocks,
            self._root,
            import_enabled=self.config.import_support,
            external_prefixes=self._prefixes,
            checked_up_to_bytes=self.checked.up_to_bytes,
        )

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace is a folder in the root."""
        try:
            self.namespace(storage_namespace)
        except Invalid:
            return False
        return True

    def namespace(self, storage_namespace: str) -> str:
        """Returns the normalised address of a storage namespace's folder, see `paths`. Raises
        Invalid for one that cannot be in this store.
        """
        if not storage_namespace.startswith(SCHEME):
            raise invalid_namespace(self.config)
        return normalize_namespace(storage_namespace, self._root)

    @timed("blocks")
    def put(
        self,
        address: str,
        chunks: Iterable[bytes],
        *,
        if_absent: bool = False,
        unique_address: bool = False,
        storage_class: str = "",  # noqa: ARG002  there are no classes
    ) -> Stored:
        """Stores the chunks as one block and returns its size and checksum.

        Stores nothing when `chunks` raises or the disk is full (Busy, kind disk_full). With
        `if_absent`, raises AlreadyExists if the block exists. Raises Invalid (kind name_clash) if
        the name is that of a folder, or one of its folders is a block. At a `unique_address`, a
        small block shares a sync of the journal with others.
        """
        place = parse_address(address, self._root)
        if unique_address and not if_absent:
            body, chunks = read_small_body(chunks)
            if body is not None:
                stored = self._small.put(place, address, body)
                if stored is not None:
                    return stored
        digest = hashlib.md5(usedforsecurity=False)
        size = 0
        with self._new_blocks.open(place, address) as file:
            with BackgroundHasher((digest,)) as hasher:
                for chunk in chunks:
                    hasher.update(chunk)
                    size += len(chunk)
                    try:
                        file.write(chunk)
                    except OSError as error:
                        raise translate_error(error, address) from error
            self._new_blocks.publish(file, place, address, if_absent=if_absent)
        return Stored(size, digest.hexdigest(), int(self._clock()))

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields `length` bytes from `start`, or all from there, in pieces of at most 1 MiB. Raises
        Gone before the first piece if the block is missing or shorter.
        """
        return self._open(address, start, length)

    @timed("blocks")
    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        """Returns the bytes that `get` yields."""
        with self._open(address, start, length) as pieces:
            first = next(pieces, b"")
            return b"".join([first, *pieces]) if pieces.remaining else first

    def read_if_cached(self, address: str, start: int, length: int) -> bytes | None:
        """Returns the bytes if they are in the page cache; None if not, and if the block is missing
        or shorter.
        """
        if self._is_external(address):
            return None
        return kernel.read_cached(self._path(address), start, length)

    @timed("blocks")
    def stat(self, address: str) -> BlockInfo | None:
        """Returns the block's size and time, or None if it does not exist."""
        if self._is_external(address):
            return self.sources.stat(address)
        place = parse_address(address, self._root)
        try:
            status = os.lstat(f"{self._folders.path(place.folder)}/{place.name}")
        except NOT_THERE:
            return None
        except OSError as error:
            raise translate_error(error, address) from error
        if not stat.S_ISREG(status.st_mode):
            return None
        return BlockInfo(SCHEME + place.path, status.st_size, int(status.st_mtime))

    @timed("blocks")
    def storage_class(self, address: str) -> str | None:
        """Returns None: there are no classes. Raises Gone if the block does not exist."""
        if self.stat(address) is None:
            raise gone_error(address)
        return None

    @timed("blocks")
    def delete(self, addresses: Iterable[str]) -> None:
        """Removes blocks; missing ones are ignored."""
        is_forgotten = True
        for address in addresses:
            place = parse_address(address, self._root)
            try:
                os.unlink(f"{self._folders.path(place.folder)}/{place.name}")
            except (*NOT_THERE, IsADirectoryError):
                continue
            except OSError as error:
                raise translate_error(error, address) from error
            is_forgotten &= self._journal.tombstone(place.path)
        if not is_forgotten:
            self._journal.checkpoint()

    def list(self, prefix: str, after: str = "") -> Iterator[BlockInfo]:
        """Yields the blocks whose address starts with `prefix`, in order, after `after`.

        The addresses do not contain the root; `prefix` and `after` may.
        """
        start = parse_prefix(prefix, self._root)
        self._folders.path(start.folder)
        if after.startswith(SCHEME):
            return walk(self._root, start, relative_path(after, self._root))
        return walk(self._root, start, "") if after < SCHEME else iter(())

    @timed("blocks")
    def copy(self, source: str, destination: str, *, checksum: str | None = None) -> Stored:
        """Copies a block, as a reflink if the file system supports that. Raises Gone."""
        if self._is_external(source):
            return self.put(destination, self.get(source))
        place = parse_address(destination, self._root)
        descriptor, size = open_block(self._path(source), source)
        try:
            with self._new_blocks.open(place, destination) as file:
                copy_bytes(descriptor, 0, size, file, source)
                checksum = checksum or compute_md5(descriptor, 0, size)
                self._new_blocks.publish(file, place, destination, if_absent=False)
        finally:
            os.close(descriptor)
        return Stored(size, checksum, int(self._clock()))

    @timed("blocks")
    def open_upload(self, address: str) -> str:
        """Opens a multipart upload of the block at an address and returns its id."""
        return self._uploads.open(self.unqualify(address))

    @timed("blocks")
    def put_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        *,
        md5: str | None = None,
    ) -> Part:
        """Stores the chunks as a part, replacing one of that number.

        Changes nothing when it raises NotFound for an unknown upload, Invalid if the hex `md5`
        differs or Busy for a full disk, or when `chunks` raises.
        """
        return self._uploads.put(self.unqualify(address), upload_id, number, chunks, md5)

    @timed("blocks")
    def copy_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        source: str,
        start: int = 0,
        length: int | None = None,
    ) -> Part:
        """Stores a range of another block as a part. Raises Gone, and NotFound like `put_part`."""
        if self._is_external(source):
            return self.put_part(address, upload_id, number, self.get(source, start, length))
        unqualified, path = self.unqualify(address), self._path(source)
        return self._uploads.copy(unqualified, upload_id, number, (path, source), start, length)

    @timed("blocks")
    def parts(self, address: str, upload_id: str) -> Sequence[Part]:
        """Returns the stored parts, by number. Raises NotFound."""
        return self._uploads.parts(self.unqualify(address), upload_id)

    @timed("blocks")
    def complete_upload(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Stored:
        """Joins parts to a block. Raises NotFound if the upload does not exist or was completed
        with other parts, Invalid for a part that does not exist.
        """
        place = parse_address(address, self._root)
        folder = self._new_blocks.make_folder(place.folder, address)
        size, checksum = self._uploads.complete(
            SCHEME + place.path, upload_id, parts, folder, place.name
        )
        return Stored(size, checksum, int(self._clock()))

    @timed("blocks")
    def abort_upload(self, address: str, upload_id: str) -> None:
        """Removes an upload and its parts; an unknown one is ignored."""
        self._uploads.abort(self.unqualify(address), upload_id)

    def qualify(self, address: str) -> str:
        """Returns the address with the root in it; an address of another store unchanged."""
        if address.startswith(SCHEME) and not address.startswith("/", len(SCHEME)):
            return f"{SCHEME}{self._root}/{address[len(SCHEME) :]}"
        return address

    def unqualify(self, address: str) -> str:
        """Returns the address without the root. Raises Invalid for one of another store."""
        return SCHEME + parse_address(address, self._root).path

    def local_path(self, address: str) -> str:
        """Returns the path of the block's file, which need not exist."""
        return self._path(address)

    def write_folder(self, prefix: str) -> str:
        """Returns the path of the folder `prefix`, which is created if it does not exist. A file
        that a caller writes into it is a block, durable when the file and the folder are synced.
        """
        return self._new_blocks.make_folder(parse_address(prefix, self._root).path, prefix)

    @timed("blocks")
    def make_durable(self, prefix: str, files: Mapping[str, bytes]) -> None:
        """Makes small files durable, given their bytes by name, which a caller has written into the
        folder `prefix`, and which others may write again. Raises Busy.
        """
        self._small.make_durable(parse_address(prefix, self._root).path, files)

    def presign(
        self,
        address: str,  # noqa: ARG002
        method: Literal["GET", "PUT"],  # noqa: ARG002
        seconds: int,  # noqa: ARG002
    ) -> None:
        """Returns None: the server has its own presigned URLs."""
        return

    def presign_part(
        self,
        address: str,  # noqa: ARG002
        upload_id: str,  # noqa: ARG002
        number: int,  # noqa: ARG002
        seconds: int,  # noqa: ARG002
    ) -> None:
        """Returns None, like `presign`."""
        return

    def clean_temporaries(self, older_than_seconds: float) -> int:
        """Removes temporary files of killed processes and returns their number. A file that was
        written to within the last `older_than_seconds` may be in use and is kept.
        """
        return remove_leftovers(self._root, self._clock() - older_than_seconds)

    def close(self) -> None:
        """Checkpoints and removes the journal of this process. Small blocks that are stored later
        are synced one by one.
        """
        self._journal.close()

    def _is_external(self, address: str) -> bool:
        """Returns whether an address is that of a readable file outside of the store."""
        return self.sources.owns(address) and not address.startswith(f"{SCHEME}{self._root}/")

    @timed("blocks")
    def _open(self, address: str, start: int, length: int | None) -> RangeReader:
        if self._is_external(address):
            return self.sources.open(address, start, length)
        return RangeReader(self._path(address), address, start, length)

    def _path(self, address: str) -> str:
        folder, name = kernel.ordinary_place(address) or parse_address(address, self._root)
        return f"{self._folders.path(folder)}/{name}"
