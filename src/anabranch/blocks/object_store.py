"""Block stores on S3, Google Cloud Storage and Azure.

A block up to 8 MiB is stored by one request, a larger one in parts. Keys that are paths go by way
of obstore; others need requests of our own, which there are for S3. Nothing is kept here but open
connections, so any number of servers may share a store.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from anabranch.blocks.checked_reads import CheckedReads
from anabranch.blocks.contract import BlockInfo, StorageConfig, Stored
from anabranch.blocks.namespaces import invalid_namespace
from anabranch.blocks.object_addresses import AddressForm, Location, is_path
from anabranch.blocks.object_errors import gone
from anabranch.blocks.object_sources import ObjectSources
from anabranch.blocks.objects import Objects, Uploads
from anabranch.errors import AlreadyExists, Invalid
from anabranch.model.part import Part, checksum_of_parts

__all__ = ["ObjectBlocks"]

_AT_ONCE_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20


Presign = Callable[[str, Location, Mapping[str, str], int], str | None]
"""Makes a URL for a method on a block, with a query, good for so many seconds, if it can."""


class ObjectBlocks:
    """A `BlockStore` in buckets, whose addresses have a form.

    `paths` takes the keys that are paths, `exact` any, where there is such a thing; `presigned`
    makes URLs. `clock` gives seconds since 1970.
    """

    def __init__(
        self,
        config: StorageConfig,
        form: AddressForm,
        *,
        paths: Objects,
        exact: Objects | None,
        uploads: Uploads,
        presigned: Presign | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config
        self.checked: CheckedReads | None = None
        self.sources = ObjectSources(form, self._objects, exact or paths, uploads.hides)
        self._form = form
        self._paths = paths
        self._exact = exact
        self._uploads = uploads
        self._presigned = presigned
        self._clock = clock

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace can lie in this store."""
        return self._form.accepts(storage_namespace)

    def namespace(self, storage_namespace: str) -> str:
        """Returns the storage namespace. Raises Invalid for one that cannot lie here."""
        if not self.accepts(storage_namespace):
            raise invalid_namespace(self.config)
        return storage_namespace

    def put(
        self,
        address: str,
        chunks: Iterable[bytes],
        *,
        create: bool = False,
        fresh: bool = False,  # noqa: ARG002
    ) -> Stored:
        """Stores the chunks, one after another, and returns what they came to.

        When `chunks` raises, nothing stays. With `create`, raises AlreadyExists if the address is
        taken; a large block is then refused only if it is so at the beginning.
        """
        location = self._form.block(address)
        objects = self._objects(location)
        counted = _Counted(chunks)
        first = _first(counted)
        if counted.ended:
            objects.put(location, first, create=create)
        elif create and objects.head(location) is not None:
            raise AlreadyExists(f"{address}: there is a block already")
        else:
            (self._exact or objects).put_large(location, itertools.chain([first], counted))
        return Stored(counted.size, counted.md5(), int(self._clock()))

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields the bytes from `start`, to the end or `length` of them, in pieces of at most
        1 MiB. Raises Gone at once when there is nothing there or it is shorter.
        """
        return _cut(self._open(address, start, length))

    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        """Returns the same as `get`, as one string."""
        return b"".join(self._open(address, start, length))

    def read_at_once(self, address: str, start: int, length: int) -> bytes | None:  # noqa: ARG002
        """Returns None: every read waits for the network."""
        return None

    def stat(self, address: str) -> BlockInfo | None:
        """Returns what is there, or None."""
        location = self._form.block(address)
        found = self._objects(location).head(location)
        return None if found is None else BlockInfo(address, found.size, found.mtime)

    def delete(self, addresses: Iterable[str]) -> None:
        """Removes blocks; those that are not there are passed over."""
        together: dict[tuple[str, bool], dict[Location, None]] = {}
        for address in addresses:
            location = self._form.block(address)
            group = together.setdefault((location.root, is_path(location.key)), {})
            group[location] = None
        for locations in together.values():
            self._objects(next(iter(locations))).delete(list(locations))

    def list(self, prefix: str, after: str = "") -> Iterator[BlockInfo]:
        """Yields the blocks whose address begins with `prefix`, in order of their addresses'
        bytes, after `after`.
        """
        location = self._form.beginning(prefix)
        root = f"{location.root}/"
        if after.startswith(root):
            return self._list(location, after[len(root) :])
        return self._list(location, "") if after < root else iter(())

    def copy(self, source: str, destination: str, *, checksum: str | None = None) -> Stored:
        """Copies a block within the store. Raises Gone when there is no source."""
        begin, end = self._kept(source), self._kept(destination)
        size = (self._exact or self._paths).copy(begin, end)
        if checksum is None:
            digest = hashlib.md5(usedforsecurity=False)
            for piece in self._open(destination, 0, None):
                digest.update(piece)
            checksum = digest.hexdigest()
        return Stored(size, checksum, int(self._clock()))

    def open_upload(self, address: str) -> str:
        """Opens an upload in parts of the block at an address; returns its id."""
        return self._uploads.open(self._kept(address))

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

        Raises NotFound for an unknown upload, Invalid for another `md5`; nothing has changed
        then, nor when `chunks` raises.
        """
        return self._uploads.put(self._kept(address), upload_id, number, chunks, md5)

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
        location, origin = self._kept(address), self._kept(source)
        return self._uploads.copy(location, upload_id, number, origin, start, length)

    def parts(self, address: str, upload_id: str) -> Sequence[Part]:
        """Returns the parts that are there, by number. Raises NotFound."""
        return self._uploads.parts(self._kept(address), upload_id)

    def complete_upload(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Stored:
        """Makes a block of parts. Raises NotFound where the upload is not there or was completed
        otherwise, Invalid for a part that is not there.
        """
        size = self._uploads.complete(self._kept(address), upload_id, parts)
        checksum = checksum_of_parts([part[1] for part in parts])
        return Stored(size, checksum, int(self._clock()))

    def abort_upload(self, address: str, upload_id: str) -> None:
        """Removes an upload and its parts; one that is not known is passed over."""
        self._uploads.abort(self._kept(address), upload_id)

    def presign(self, address: str, method: Literal["GET", "PUT"], seconds: int) -> str | None:
        """Returns a URL at which whoever has it can read or store the block, for so long; None
        where nothing signs for the store.
        """
        if self._presigned is None:
            return None
        return self._presigned(method, self._form.block(address), {}, seconds)

    def presign_part(self, address: str, upload_id: str, number: int, seconds: int) -> str | None:
        """Returns a URL at which whoever has it can store a part, for so long; None where the
        store has no such thing.
        """
        if self._presigned is None:
            return None
        query = {"partNumber": str(number), "uploadId": upload_id}
        return self._presigned("PUT", self._form.block(address), query, seconds)

    def clean_temporaries(self, older_than_seconds: float) -> int:  # noqa: ARG002  the contract
        """Returns 0: what a killed process leaves are unfinished uploads, which a rule of the
        bucket removes.
        """
        return 0

    def qualify(self, address: str) -> str:
        """Returns the address: there is but one form."""
        return address

    def unqualify(self, address: str) -> str:
        """Returns the address. Raises Invalid for one outside the store."""
        return self._form.block(address).address

    def local_path(self, address: str) -> str | None:
        """Returns None: blocks in buckets are no files of this machine."""
        self._form.block(address)
        return None

    def close(self) -> None:
        """Does nothing: nothing goes on in the background."""

    def _open(self, address: str, start: int, length: int | None) -> Iterator[bytes]:
        location = self._form.block(address)
        end = None if length is None else start + length
        if start < 0 or (end is not None and end < start):
            raise gone(address)
        return self._objects(location).open(location, start, end)

    def _list(self, location: Location, after: str) -> Iterator[BlockInfo]:
        for found in (self._exact or self._paths).list(location, after):
            if self._uploads.hides(found.key):
                continue
            yield BlockInfo(f"{location.root}/{found.key}", found.size, found.mtime)

    def _kept(self, address: str) -> Location:
        """Returns where a block lies. Raises Invalid for a key that cannot be kept."""
        location = self._form.block(address)
        self._objects(location)
        return location

    def _objects(self, location: Location) -> Objects:
        if is_path(location.key):
            return self._paths
        if self._exact is None:
            raise Invalid(
                f"{location.address!r}: this store cannot keep a key in which a name is empty, "
                "'.' or '..', or holds control characters",
                kind="invalid_address",
            )
        return self._exact


class _Counted:
    """The chunks of a body, their size and their MD5, as far as they have come."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._digest = hashlib.md5(usedforsecurity=False)
        self.size = 0
        self.ended = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            chunk = next(self._chunks)
        except StopIteration:
            self.ended = True
            raise
        self._digest.update(chunk)
        self.size += len(chunk)
        return chunk

    def md5(self) -> str:
        return self._digest.hexdigest()


def _first(chunks: _Counted) -> bytes:
    """Returns the beginning of a body: all of it, or a little more than 8 MiB."""
    held = []
    for chunk in chunks:
        held.append(chunk)
        if chunks.size > _AT_ONCE_BYTES:
            break
    return b"".join(held)


def _cut(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if len(piece) <= _PIECE_BYTES:
            yield piece
        else:
            for at in range(0, len(piece), _PIECE_BYTES):
                yield piece[at : at + _PIECE_BYTES]
