"""Contract of block stores.

An address is a URI of the store's scheme, a namespace and a key (`local://name/data/…`,
`s3://bucket/…`). A block is immutable: it is stored once and can only be removed.

A block can be stored by a multipart upload, in any order, over days and by many processes: an
upload is opened at an address, parts are stored by number, and it is completed with a list of
parts. The store chooses the id, so that stores with native multipart uploads need no state of their
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from anabranch.blocks.checked_reads import CheckedReads
from anabranch.blocks.external_objects import ExternalObjects
from anabranch.blocks.quarantine import Quarantine
from anabranch.model.uploads.part import Part

__all__ = ["BlockInfo", "BlockStore", "StorageConfig", "Stored"]


class Stored(NamedTuple):
    """A stored block: `size` in bytes, `checksum` is the hex MD5 (`multipart_checksum` for parts),
    `mtime` in seconds since 1970.
    """

    size: int
    checksum: str
    mtime: int


class BlockInfo(NamedTuple):
    """A block in a listing or from `stat`: `size` in bytes, `mtime` in seconds since 1970."""

    address: str
    size: int
    mtime: int


class StorageConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a store for clients (lakeFS's `StorageConfig`)."""

    blockstore_type: str
    blockstore_namespace_example: str
    namespace_validity_regex: str
    default_namespace_prefix: str = ""
    pre_sign_support: bool = False
    pre_sign_support_ui: bool = False
    pre_sign_multipart_upload: bool = False
    import_support: bool = False
    import_validity_regex: str = ""

    def default_namespace(self, name: str) -> str:
        """Returns the namespace of a repository that names none, empty without a default prefix."""
        prefix = self.default_namespace_prefix
        return f"{prefix.rstrip('/')}/{name}" if prefix else ""


class BlockStore(Protocol):
    """A store of immutable byte strings. Safe for use from many threads.

    Every method raises Invalid for an address of another store or outside its namespace, and Busy
    when the store is full or unavailable.
    """

    config: StorageConfig

    @property
    def sources(self) -> ExternalObjects | None:
        """Objects of others in the store that can be imported; None if it has none."""

    @property
    def checked(self) -> CheckedReads | None:
        """Reads that verify blocks against their MD5, if the blocks are files of this machine; None
        for an object store, which verifies them itself.
        """

    @property
    def quarantine(self) -> Quarantine | None:
        """Removals that can be taken back for a time, if the store can do that."""

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace can be in this store."""

    def namespace(self, storage_namespace: str) -> str:
        """Returns the prefix of the addresses in a storage namespace: the namespace itself, unless
        several spellings are equivalent. Raises Invalid for one that the store does not accept.
        """

    def put(
        self,
        address: str,
        chunks: Iterable[bytes],
        *,
        if_absent: bool = False,
        unique_address: bool = False,
        storage_class: str = "",
    ) -> Stored:
        """Stores the chunks as one block and returns its size and checksum.

        The block is not visible before it is durable. Stores nothing when `chunks` raises. With
        `if_absent`, raises AlreadyExists if the block exists. With `unique_address`, the caller
        guarantees that no other process knows the address or stores another block at it; listings
        may then show the block before it is durable. `storage_class` is S3's name of a class,
        which other stores ignore; Invalid (kind invalid_storage_class) if S3 does not have it.
        """

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields `length` bytes from `start`, or all from there, in pieces of at most 1 MiB. Raises
        Gone before the first piece if the block is missing or shorter.
        """

    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        """Returns the bytes that `get` yields."""

    def read_if_cached(self, address: str, start: int, length: int) -> bytes | None:
        """Returns the bytes if that requires neither disk nor network; None if it does, and if the
        block is missing or shorter.
        """

    def stat(self, address: str) -> BlockInfo | None:
        """Returns the block's size and time, or None if it does not exist."""

    def storage_class(self, address: str) -> str | None:
        """Returns the store's name of the class or tier that a block is stored in, None if the
        store has none. Raises Gone if the block does not exist.
        """

    def delete(self, addresses: Iterable[str]) -> None:
        """Removes blocks; missing ones are ignored."""

    def list(self, prefix: str, after: str = "") -> Iterator[BlockInfo]:
        """Yields the blocks whose unqualified address starts with `prefix`, after the address
        `after`, in order of the addresses' bytes.
        """

    def copy(self, source: str, destination: str, *, checksum: str | None = None) -> Stored:
        """Copies a block within the store, durably. Raises Gone if the source does not exist.

        With the source's MD5 as `checksum`, the block is not read to compute it.
        """

    def open_upload(self, address: str) -> str:
        """Opens a multipart upload of the block at a unique address and returns its id. The methods
        below raise NotFound (kind upload_not_found) for an unknown id, or one of another address.
        """

    def put_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        *,
        md5: str | None = None,
    ) -> Part:
        """Stores the chunks as the part `number`, 1 to 10,000, durably; replaces a part of that
        number.

        Changes nothing when `chunks` raises, or when their hex MD5 is not `md5` (Invalid, kind
        checksum_mismatch).
        """

    def copy_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        source: str,
        start: int = 0,
        length: int | None = None,
    ) -> Part:
        """Stores `length` bytes of another block from `start`, or all from there, as a part. Raises
        Gone as `get` does.
        """

    def parts(self, address: str, upload_id: str) -> Sequence[Part]:
        """Returns the stored parts, by number."""

    def complete_upload(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Stored:
        """Joins parts to a block. Parts are given by number and checksum, in order of their
        numbers.

        The block is not visible before it is durable. The call can be repeated with the same parts
        until the upload is aborted. Raises NotFound if a completion with other parts came first,
        Invalid (kind part_not_found) for a part that does not exist or has another checksum.
        """

    def abort_upload(self, address: str, upload_id: str) -> None:
        """Removes an upload and its parts, but not a block that it was completed to. An unknown
        upload is ignored.
        """

    def presign(self, address: str, method: Literal["GET", "PUT"], seconds: int) -> str | None:
        """Returns a presigned URL that reads (`GET`) or stores (`PUT`) the block, valid for
        `seconds`; None if the store serves no requests or nothing can sign them.
        """

    def presign_part(self, address: str, upload_id: str, number: int, seconds: int) -> str | None:
        """Returns a presigned URL that stores a part of an upload (`PUT`), valid for `seconds`;
        None if the store serves no such requests.
        """

    def clean_temporaries(self, older_than_seconds: float) -> int:
        """Removes temporary files of killed processes that were not written to for so long, and
        returns their number. Multipart uploads are kept.
        """

    def qualify(self, address: str) -> str:
        """Returns the address in the form for clients, which has the absolute folder of a local
        store.

        Returns an address of another store unchanged; raises no error.
        """

    def unqualify(self, address: str) -> str:
        """Returns the address in the stored form, given either form. Raises Invalid for an address
        of another store.
        """

    def local_path(self, address: str) -> str | None:
        """Returns the path of the block's file on this machine, which need not exist, or None if
        the store's blocks are not files.
        """

    def close(self) -> None:
        """Finishes background work. The store can still be used, more slowly."""
