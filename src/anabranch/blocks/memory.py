"""Block store in memory, for tests and for repositories that end with the process."""

from __future__ import annotations

import hashlib
import threading
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from anabranch.blocks.checked_reads import CheckedReads
from anabranch.blocks.contract import BlockInfo, StorageConfig, Stored
from anabranch.blocks.external_objects import ExternalObjects
from anabranch.blocks.memory_uploads import MemoryUploads
from anabranch.blocks.namespaces import invalid_namespace
from anabranch.blocks.quarantine import Quarantine
from anabranch.errors import AlreadyExists, Gone, Invalid
from anabranch.model.uploads.part import Part

__all__ = ["MemoryBlocks"]

_SCHEME = "mem://"
_PIECE_BYTES = 1 << 20
_PAGE_SIZE = 256


class _Block(NamedTuple):
    body: bytes
    mtime: int


class MemoryBlocks:
    """A `BlockStore` in memory. `clock` gives seconds since 1970. With `pre_signed`, clients may
    request presigned URLs, which the server serves.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time, pre_signed: bool = False) -> None:
        self.config = StorageConfig(
            blockstore_type="mem",
            blockstore_namespace_example="mem://example-bucket/",
            namespace_validity_regex="^mem://",
            default_namespace_prefix="mem://data/",
            pre_sign_support=pre_signed,
            pre_sign_multipart_upload=pre_signed,
        )
        self.sources: ExternalObjects | None = None
        self.checked: CheckedReads | None = None
        self.quarantine: Quarantine | None = None
        self._clock = clock
        self._lock = threading.Lock()
        self._blocks: dict[str, _Block] = {}
        self._addresses: list[str] = []
        self._uploads = MemoryUploads(clock)

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace can be in this store."""
        return storage_namespace.startswith(_SCHEME) and storage_namespace.strip("/") != "mem:"

    def namespace(self, storage_namespace: str) -> str:
        """Returns the storage namespace. Raises Invalid for one of another store."""
        if not self.accepts(storage_namespace):
            raise invalid_namespace(self.config)
        return storage_namespace

    def put(
        self,
        address: str,
        chunks: Iterable[bytes],
        *,
        if_absent: bool = False,
        unique_address: bool = False,  # noqa: ARG002
        storage_class: str = "",  # noqa: ARG002
    ) -> Stored:
        """Stores the chunks. With `if_absent`, raises AlreadyExists if the block exists."""
        _check(address)
        body = b"".join(chunks)
        block = _Block(body, int(self._clock()))
        with self._lock:
            if address not in self._blocks:
                insort(self._addresses, address)
            elif if_absent:
                raise AlreadyExists(f"{address}: there is a block already")
            self._blocks[address] = block
        checksum = hashlib.md5(body, usedforsecurity=False).hexdigest()
        return Stored(len(body), checksum, block.mtime)

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields the bytes in pieces of at most 1 MiB. Raises Gone before the first piece."""
        body = self.read(address, start, length)
        return (body[at : at + _PIECE_BYTES] for at in range(0, len(body), _PIECE_BYTES))

    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        """Returns `length` bytes from `start`, or all from there. Raises Gone."""
        _check(address)
        block = self._blocks.get(address)
        if block is None:
            raise Gone(f"{address}: there is no data", kind="data_missing")
        end = len(block.body) if length is None else start + length
        if not 0 <= start <= end <= len(block.body):
            raise Gone(f"{address}: the data ends at byte {len(block.body)}", kind="data_missing")
        return block.body[start:end]

    def read_if_cached(self, address: str, start: int, length: int) -> bytes | None:
        """Returns the bytes, or None if the block is missing or shorter."""
        try:
            return self.read(address, start, length)
        except Gone:
            return None

    def stat(self, address: str) -> BlockInfo | None:
        """Returns the block's size and time, or None if it does not exist."""
        _check(address)
        block = self._blocks.get(address)
        return None if block is None else BlockInfo(address, len(block.body), block.mtime)

    def storage_class(self, address: str) -> str | None:
        """Returns None: there are no classes. Raises Gone if the block does not exist."""
        self.read(address, 0, 0)  # raises Gone
        return None

    def delete(self, addresses: Iterable[str]) -> None:
        """Removes blocks; missing ones are ignored."""
        for address in addresses:
            _check(address)
            with self._lock:
                if self._blocks.pop(address, None) is not None:
                    del self._addresses[bisect_left(self._addresses, address)]

    def list(self, prefix: str, after: str = "") -> Iterator[BlockInfo]:
        """Yields the blocks whose address starts with `prefix`, in order, after `after`."""
        if not prefix.startswith(_SCHEME):
            raise _foreign_address(prefix)
        return self._list(prefix, after)

    def copy(self, source: str, destination: str, *, checksum: str | None = None) -> Stored:
        """Copies a block. Raises Gone if the source does not exist."""
        stored = self.put(destination, [self.read(source)])
        return stored._replace(checksum=checksum or stored.checksum)

    def open_upload(self, address: str) -> str:
        """Opens a multipart upload of the block at an address and returns its id."""
        _check(address)
        return self._uploads.open(address)

    def put_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        *,
        md5: str | None = None,
    ) -> Part:
        """Stores the chunks as a part. Raises NotFound, and Invalid if the hex `md5` differs."""
        return self._uploads.put(address, upload_id, number, b"".join(chunks), md5)

    def copy_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        source: str,
        start: int = 0,
        length: int | None = None,
    ) -> Part:
        """Stores a range of another block as a part. Raises NotFound and Gone."""
        body = self.read(source, start, length)
        return self._uploads.put(address, upload_id, number, body, None)

    def parts(self, address: str, upload_id: str) -> Sequence[Part]:
        """Returns the stored parts, by number. Raises NotFound."""
        return self._uploads.parts(address, upload_id)

    def complete_upload(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Stored:
        """Joins parts to a block. Raises NotFound, and Invalid for a part that does not exist."""
        body, checksum = self._uploads.complete(address, upload_id, parts)
        return self.put(address, [body])._replace(checksum=checksum)

    def abort_upload(self, address: str, upload_id: str) -> None:
        """Removes an upload and its parts; an unknown one is ignored."""
        self._uploads.abort(address, upload_id)

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

    def clean_temporaries(self, older_than_seconds: float) -> int:  # noqa: ARG002  the contract
        """Returns 0: there are no temporary files."""
        return 0

    def qualify(self, address: str) -> str:
        """Returns the address, which has only one form."""
        return address

    def unqualify(self, address: str) -> str:
        """Returns the address. Raises Invalid for one of another store."""
        _check(address)
        return address

    def local_path(self, address: str) -> str | None:
        """Returns None: blocks in memory are not files."""
        _check(address)
        return None

    def close(self) -> None:
        """Does nothing: there is no background work."""

    def _list(self, prefix: str, after: str) -> Iterator[BlockInfo]:
        start = prefix if after < prefix else after + "\0"
        while True:
            with self._lock:
                at = bisect_left(self._addresses, start)
                page = [
                    BlockInfo(address, len(self._blocks[address].body), self._blocks[address].mtime)
                    for address in self._addresses[at : at + _PAGE_SIZE]
                    if address.startswith(prefix)
                ]
            yield from page
            if len(page) < _PAGE_SIZE:
                return
            start = page[-1].address + "\0"


def _check(address: str) -> None:
    if not address.startswith(_SCHEME) or address == _SCHEME:
        raise _foreign_address(address)


def _foreign_address(address: str) -> Invalid:
    return Invalid(f"{address}: not an address of this store", kind="invalid_address")
