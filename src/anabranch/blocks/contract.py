"""What every block store does.

An address is a URI: the scheme of the store, a namespace, a key (`local://name/data/…`,
`s3://bucket/…`). What is stored under an address never changes, it is only removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import msgspec

__all__ = ["BlockInfo", "BlockStore", "StorageConfig", "Stored"]


class Stored(NamedTuple):
    """What a write left: `size` in bytes, `checksum` the hex MD5, `mtime` in seconds."""

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

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace can lie in this store."""

    def put(self, address: str, chunks: Iterable[bytes], *, create: bool = False) -> Stored:
        """Stores the chunks, one after another, and returns what they came to.

        Nothing is visible before all of it is durable; when `chunks` raises, nothing stays. With
        `create`, raises AlreadyExists if the address is taken.
        """

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields the bytes from `start`, to the end or `length` of them, in pieces of at most
        1 MiB. Raises Gone at once (before the first piece) when there is nothing there or it is
        shorter than asked for.
        """

    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        """Returns the same as `get`, as one string."""

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

    def clean_temporaries(self, older_than_seconds: float) -> int:
        """Removes what killed processes have left behind and nobody has written to for so long;
        returns how many things that were.
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
