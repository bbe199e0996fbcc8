"""Block stores on S3, Google Cloud Storage and Azure.

A block of up to 8 MiB is stored by one request, a larger one by a multipart upload. Keys that are
paths are accessed through obstore, other keys, on S3 alone, through our own client. A store holds
no state but open connections, so any number of servers may share a bucket.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from anabranch.blocks.checked_reads import CheckedReads
from anabranch.blocks.cloud.addresses import AddressParser, Location, is_path
from anabranch.blocks.cloud.client import MultipartClient, ObjectClient
from anabranch.blocks.cloud.errors import gone_error, invalid_storage_class
from anabranch.blocks.cloud.external_objects import CloudExternalObjects
from anabranch.blocks.cloud.storage_class import StorageClassReader
from anabranch.blocks.contract import BlockInfo, StorageConfig, Stored
from anabranch.blocks.namespaces import invalid_namespace
from anabranch.blocks.quarantine import Quarantine
from anabranch.errors import AlreadyExists, Invalid
from anabranch.model.objects.md5 import md5_of
from anabranch.model.uploads.part import Part, multipart_checksum
from anabranch.spent_time import timed, timed_pieces

__all__ = ["CloudBlocks"]

_MAX_SINGLE_PUT_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20
_STORAGE_CLASS = re.compile(r"[A-Z0-9_]{1,64}")


Presign = Callable[[str, Location, Mapping[str, str], int], str | None]
"""Returns a presigned URL for a method, a location, a query and a lifetime in seconds, or None."""


class CloudBlocks:
    """A `BlockStore` in the buckets of an object store.

    `paths` is the client for keys that are paths, `exact` one for any key, if there is one.
    `presigned` makes URLs, `storage_class` reads classes. `quarantine` removes blocks so that they
    can be restored. `clock` gives seconds since 1970.
    """

    def __init__(
        self,
        config: StorageConfig,
        addresses: AddressParser,
        *,
        paths: ObjectClient,
        exact: ObjectClient | None,
        uploads: MultipartClient,
        presigned: Presign | None = None,
        quarantine: Quarantine | None = None,
        storage_class: StorageClassReader | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config
        self.checked: CheckedReads | None = None
        self.quarantine = quarantine
        self.sources = CloudExternalObjects(addresses, self._objects, exact or paths, uploads.hides)
        self._addresses = addresses
        self._paths = paths
        self._exact = exact
        self._uploads = uploads
        self._presigned = presigned
        self._storage_class = storage_class
        self._clock = clock

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace can be in this store."""
        return self._addresses.accepts(storage_namespace)

    def namespace(self, storage_namespace: str) -> str:
        """Returns the storage namespace. Raises Invalid for one of another store."""
        if not self.accepts(storage_namespace):
            raise invalid_namespace(self.config)
        return storage_namespace

    @timed("blocks")
    def put(
        self,
        address: str,
        chunks: Iterable[bytes],
        *,
        if_absent: bool = False,
        unique_address: bool = False,  # noqa: ARG002
        storage_class: str = "",
    ) -> Stored:
        """Stores the chunks as one block and returns its size and checksum.

        Stores nothing when `chunks` raises. With `if_absent`, raises AlreadyExists if the block
        exists; for a large block that is checked only before the upload. A store without an exact
        client ignores `storage_class`.
        """
        location = self._addresses.parse(address)
        objects = self._objects(location)
        if storage_class and self._exact is not None:
            if not _STORAGE_CLASS.fullmatch(storage_class):  # it becomes a header
                raise invalid_storage_class(address)
            objects = self._exact
        else:
            storage_class = ""
        body = _HashedChunks(chunks)
        first = _read_first(body)
        if body.ended:
            objects.put(location, first, if_absent=if_absent, storage_class=storage_class)
        elif if_absent and objects.head(location) is not None:
            raise AlreadyExists(f"{address}: there is a block already")
        else:
            pieces = itertools.chain([first], body)
            (self._exact or objects).put_large(location, pieces, storage_class=storage_class)
        return Stored(body.size, body.md5(), int(self._clock()))

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields `length` bytes from `start`, or all from there, in pieces of at most 1 MiB. Raises
        Gone before the first piece if the block is missing or shorter.
        """
        return _split(self._open(address, start, length))

    @timed("blocks")
    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        """Returns the bytes that `get` yields."""
        return b"".join(self._open(address, start, length))

    def read_if_cached(self, address: str, start: int, length: int) -> bytes | None:  # noqa: ARG002
        """Returns None: every read waits for the network."""
        return None

    @timed("blocks")
    def stat(self, address: str) -> BlockInfo | None:
        """Returns the block's size and time, or None if it does not exist."""
        location = self._addresses.parse(address)
        info = self._objects(location).head(location)
        return None if info is None else BlockInfo(address, info.size, info.mtime)

    @timed("blocks")
    def storage_class(self, address: str) -> str | None:
        """Returns the class that a block is stored in, None if it cannot be read here. Raises Gone
        if the block does not exist.
        """
        location = self._locate(address)
        if self._storage_class is not None:
            return self._storage_class(location)
        if self._objects(location).head(location) is None:
            raise gone_error(address)
        return None

    @timed("blocks")
    def delete(self, addresses: Iterable[str]) -> None:
        """Removes blocks; missing ones are ignored."""
        groups: dict[tuple[str, bool], dict[Location, None]] = {}
        for address in addresses:
            location = self._addresses.parse(address)
            group = groups.setdefault((location.root, is_path(location.key)), {})
            group[location] = None
        for locations in groups.values():
            self._objects(next(iter(locations))).delete(list(locations))

    def list(self, prefix: str, after: str = "") -> Iterator[BlockInfo]:
        """Yields the blocks whose address begins with `prefix`, in order of their addresses'
        bytes, after `after`.
        """
        location = self._addresses.parse_prefix(prefix)
        root = f"{location.root}/"
        if after.startswith(root):
            return self._list(location, after[len(root) :])
        return self._list(location, "") if after < root else iter(())

    @timed("blocks")
    def copy(self, source: str, destination: str, *, checksum: str | None = None) -> Stored:
        """Copies a block within the store. Raises Gone if the source does not exist."""
        origin, target = self._locate(source), self._locate(destination)
        size = (self._exact or self._paths).copy(origin, target)
        if checksum is None:
            checksum = md5_of(self._open(destination, 0, None))
        return Stored(size, checksum, int(self._clock()))

    @timed("blocks")
    def open_upload(self, address: str) -> str:
        """Opens a multipart upload of the block at an address and returns its id."""
        return self._uploads.open(self._locate(address))

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

        Changes nothing when it raises NotFound for an unknown upload or Invalid if the hex `md5`
        differs, or when `chunks` raises.
        """
        return self._uploads.put(self._locate(address), upload_id, number, chunks, md5)

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
        """Stores a range of another block as a part. Raises Gone, and NotFound as `put_part`
        does.
        """
        location, origin = self._locate(address), self._locate(source)
        return self._uploads.copy(location, upload_id, number, origin, start, length)

    @timed("blocks")
    def parts(self, address: str, upload_id: str) -> Sequence[Part]:
        """Returns the stored parts, by number. Raises NotFound."""
        return self._uploads.parts(self._locate(address), upload_id)

    @timed("blocks")
    def complete_upload(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Stored:
        """Joins parts to a block. Raises NotFound if the upload does not exist or was completed
        with other parts, Invalid for a part that does not exist.
        """
        size = self._uploads.complete(self._locate(address), upload_id, parts)
        checksum = multipart_checksum([part[1] for part in parts])
        return Stored(size, checksum, int(self._clock()))

    @timed("blocks")
    def abort_upload(self, address: str, upload_id: str) -> None:
        """Removes an upload and its parts; an unknown one is ignored."""
        self._uploads.abort(self._locate(address), upload_id)

    def presign(self, address: str, method: Literal["GET", "PUT"], seconds: int) -> str | None:
        """Returns a presigned URL that reads or stores the block, valid for `seconds`; None if the
        store cannot sign.
        """
        if self._presigned is None:
            return None
        return self._presigned(method, self._addresses.parse(address), {}, seconds)

    def presign_part(self, address: str, upload_id: str, number: int, seconds: int) -> str | None:
        """Returns a presigned URL that stores a part, valid for `seconds`; None if the store cannot
        sign or has no such URLs.
        """
        if self._presigned is None:
            return None
        query = {"partNumber": str(number), "uploadId": upload_id}
        return self._presigned("PUT", self._addresses.parse(address), query, seconds)

    def clean_temporaries(self, older_than_seconds: float) -> int:  # noqa: ARG002  the contract
        """Returns 0: killed processes leave unfinished uploads, which a lifecycle rule removes."""
        return 0

    def qualify(self, address: str) -> str:
        """Returns the address, which has only one form."""
        return address

    def unqualify(self, address: str) -> str:
        """Returns the address. Raises Invalid for one of another store."""
        return self._addresses.parse(address).address

    def local_path(self, address: str) -> str | None:
        """Returns None: blocks in a bucket are not files of this machine."""
        self._addresses.parse(address)
        return None

    def close(self) -> None:
        """Does nothing: there is no background work."""

    def _open(self, address: str, start: int, length: int | None) -> Iterator[bytes]:
        location = self._addresses.parse(address)
        end = None if length is None else start + length
        if start < 0 or (end is not None and end < start):
            raise gone_error(address)
        pieces = timed("blocks")(self._objects(location).open)(location, start, end)
        return timed_pieces("blocks", pieces)

    def _list(self, location: Location, after: str) -> Iterator[BlockInfo]:
        found = (self._exact or self._paths).list(location, after)
        for info in timed_pieces("blocks", found):
            if self._uploads.hides(info.key):
                continue
            yield BlockInfo(f"{location.root}/{info.key}", info.size, info.mtime)

    def _locate(self, address: str) -> Location:
        """Returns a block's location. Raises Invalid for a key that the store cannot hold."""
        location = self._addresses.parse(address)
        self._objects(location)
        return location

    def _objects(self, location: Location) -> ObjectClient:
        if is_path(location.key):
            return self._paths
        if self._exact is None:
            raise Invalid(
                f"{location.address!r}: this store cannot hold a key that has an empty segment, "
                "'.' or '..', or control characters",
                kind="invalid_address",
            )
        return self._exact


class _HashedChunks:
    """Iterator of the chunks of a body that computes their size and MD5."""

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


def _read_first(chunks: _HashedChunks) -> bytes:
    """Returns the whole body if it is not larger than 8 MiB, else a little more than 8 MiB of
    it.
    """
    parts = []
    for chunk in chunks:
        parts.append(chunk)
        if chunks.size > _MAX_SINGLE_PUT_BYTES:
            break
    return b"".join(parts)


def _split(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if len(piece) <= _PIECE_BYTES:
            yield piece
        else:
            for at in range(0, len(piece), _PIECE_BYTES):
                yield piece[at : at + _PIECE_BYTES]
