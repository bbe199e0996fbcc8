"""What every block store does.

An address is a URI: the scheme of the store, a namespace, a key (`local://name/data/…`,
`s3://bucket/…`). What is stored under an address never changes, it is only removed.

A block may be stored in parts, in any order, over days and by many processes: an upload is opened
at an address, parts are put into it by number, and it is completed with a list of them. Its id is
the store's own, so that stores whose native uploads these are need keep nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from anabranch.blocks.checked_reads import CheckedReads
from anabranch.blocks.sources import Sources
from anabranch.model.part import Part

__all__ = ["BlockInfo", "BlockStore", "StorageConfig", "Stored"]


class Stored(NamedTuple):
    """What a write left: `size` in bytes, `checksum` the hex MD5 (of parts: `checksum_of_parts`),
    `mtime` in seconds.
    """

    size: int
    checksum: str
    mtime: int


class BlockInfo(NamedTuple):
    """What a listing or `stat` tells of a block."""

    address: str
    size: int
    mtime: int


class StorageConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What clients are told of a store (lakeFS's `StorageConfig`)."""

    blockstore_type: str
    blockstore_namespace_example: str
    namespace_validity_regex: str
    default_namespace_prefix: str = ""
    pre_sign_support: bool = False
    pre_sign_support_ui: bool = False
    pre_sign_multipart_upload: bool = False
    import_support: bool = False
    import_validity_regex: str = ""


class BlockStore(Protocol):
    """A store of immutable byte strings. Safe for use from many threads.

    Every method raises Invalid for an address that is not this store's or that leaves its
    namespace, and Busy when the store is full or cannot answer now.
    """

    config: StorageConfig

    @property
    def sources(self) -> Sources | None:
        """What may be imported from the store, if it is one that others store in, too."""

    @property
    def checked(self) -> CheckedReads | None:
        """Reads that compare blocks with their MD5, if the blocks are files of this machine; None
        where the store is another machine, which checks its own.
        """

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace can lie in this store."""

    def namespace(self, storage_namespace: str) -> str:
        """Returns what the addresses of a storage namespace begin with: the text itself, unless
        other texts mean the same place. Raises Invalid for one that the store does not accept.
        """

    def put(
        self, address: str, chunks: Iterable[bytes], *, create: bool = False, fresh: bool = False
    ) -> Stored:
        """Stores the chunks, one after another, and returns what they came to.

        Nothing is visible before all of it is durable; when `chunks` raises, nothing stays. With
        `create`, raises AlreadyExists if the address is taken. Who says that it is `fresh` has
        made the address for this block: nobody else knows it yet, and nobody ever puts another
        there. The block may then be seen before it is durable, by who lists.
        """

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields the bytes from `start`, to the end or `length` of them, in pieces of at most
        1 MiB. Raises Gone at once (before the first piece) when there is nothing there or it is
        shorter than asked for.
        """

    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        """Returns the same as `get`, as one string."""

    def read_at_once(self, address: str, start: int, length: int) -> bytes | None:
        """Returns the same as `read` if it waits for no disk and no network, else None; None also
        where `read` would raise that there is nothing or too little.
        """

    def stat(self, address: str) -> BlockInfo | None:
        """Returns what is there, or None."""

    def delete(self, addresses: Iterable[str]) -> None:
        """Removes blocks; those that are not there are passed over."""

    def list(self, prefix: str, after: str = "") -> Iterator[BlockInfo]:
        """Yields the blocks whose address, as it is kept, begins with `prefix`, in order of
        their addresses' bytes, after `after`.
        """

    def copy(self, source: str, destination: str, *, checksum: str | None = None) -> Stored:
        """Copies a block within the store, durably. Raises Gone when there is no source.

        Who knows the source's MD5 gives it as `checksum`; it is then not read to compute it.
        """

    def open_upload(self, address: str) -> str:
        """Opens an upload in parts of the block at an address that nobody else will use; returns
        its id. The methods below raise NotFound (kind upload_not_found) for an id that is not
        known, or not of this address.
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
        """Stores the chunks, one after another, as the part of that number, 1 to 10,000; a part
        that is there is replaced. It is durable when this returns.

        When `chunks` raises, or they have not the hex `md5` (Invalid, kind checksum_mismatch),
        nothing has changed.
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
        """Stores the bytes of another block from `start`, to the end or `length` of them, as a
        part. Raises Gone as `get` does.
        """

    def parts(self, address: str, upload_id: str) -> Sequence[Part]:
        """Returns the parts that are there, by number."""

    def complete_upload(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Stored:
        """Makes a block of parts, given by number and checksum in the order of their numbers.

        Nothing is visible before all of it is durable. It may be asked again, with the same
        parts, until the upload is aborted; where others have won it raises NotFound. Raises
        Invalid (kind part_not_found) for a part that is not there or has another checksum.
        """

    def abort_upload(self, address: str, upload_id: str) -> None:
        """Removes an upload and its parts; a block that it was completed to stays. One that is
        not known is passed over.
        """

    def presign(self, address: str, method: Literal["GET", "PUT"], seconds: int) -> str | None:
        """Returns a URL at which whoever has it can read the block (`GET`), or store it (`PUT`),
        for so long; None if the store answers no requests itself, or nothing signs for it.
        """

    def presign_part(self, address: str, upload_id: str, number: int, seconds: int) -> str | None:
        """Returns a URL at which whoever has it can store a part of an upload (`PUT`), for so
        long; None if the store answers no such requests itself.
        """

    def clean_temporaries(self, older_than_seconds: float) -> int:
        """Removes what killed processes have left behind and nobody has written to for so long;
        returns how many things that were. Uploads in parts stay.
        """

    def qualify(self, address: str) -> str:
        """Returns the address as clients are shown it (a local one names its absolute folder).

        One that is not this store's is returned as it is; nothing is raised.
        """

    def unqualify(self, address: str) -> str:
        """Returns the address as it is kept, given either form. Raises Invalid for an address
        outside the store.
        """

    def local_path(self, address: str) -> str | None:
        """Returns the path of the block's file on this machine, whether it is there or not, or
        None if the store's blocks are no files.
        """

    def close(self) -> None:
        """Finishes what goes on in the background. The store may still be used, more slowly."""
