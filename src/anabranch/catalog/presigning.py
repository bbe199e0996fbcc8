"""Presigned URLs: where a client reads or stores an object's bytes itself.

They are the block store's own, where it answers requests, so that bytes never pass through here;
else they are our server's, signed. A store that is configured without presigned URLs gives none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.block_urls import BlockUrls, Deed, Method
from anabranch.errors import NotSupported

__all__ = ["PRESIGNED_SECONDS", "Presigned", "Presigning"]

PRESIGNED_SECONDS = 15 * 60.0

_HINT = (
    "Read and write through the API, or have the server's administrator turn presigned URLs on "
    "in the settings of the block store."
)


class Presigned(NamedTuple):
    """A URL, good until `expires`, in seconds since 1970."""

    url: str
    expires: int


class Presigning:
    """Makes presigned URLs, good for so many seconds. `clock` gives seconds since 1970.

    Every method that returns a URL raises NotSupported if the store is configured without
    presigned URLs; `supported` says whether it is.
    """

    def __init__(
        self, blocks: BlockStore, urls: BlockUrls, clock: Callable[[], float], seconds: float
    ) -> None:
        self._blocks = blocks
        self._urls = urls
        self._clock = clock
        self._seconds = int(seconds)

    @property
    def supported(self) -> bool:
        """Whether clients may have presigned URLs at all."""
        return self._blocks.config.pre_sign_support

    def require_parts(self) -> None:
        """Raises NotSupported if parts of uploads cannot go to presigned URLs."""
        if not self._blocks.config.pre_sign_multipart_upload:
            raise NotSupported(
                "presign multipart upload API is not supported",
                kind="presigned_parts_not_supported",
                hint=_HINT,
            )

    def read(self, address: str, server: str, etag: str = "") -> Presigned:
        """Returns a URL to read the block at an address, as clients are shown it; `server` is
        where they reach this server (`http://127.0.0.1:8000`). What must have an ETag is read by
        way of our server, which looks at it.
        """
        self._require_support()
        if etag:
            expires = self._expires()
            return Presigned(
                server + self._urls.sign(Deed("GET", address, expires, etag=etag)), expires
            )
        sources = self._blocks.sources
        imported = sources is not None and sources.owns(address)
        known = address if imported else self._blocks.unqualify(address)
        return self._presigned("GET", known, server)

    def direct(self, address: str) -> str | None:
        """Returns the store's own URL to read the block at an address, as clients are shown it;
        None where it has none, or clients shall use none.
        """
        if not self.supported:
            return None
        return self._blocks.presign(self._blocks.unqualify(address), "GET", self._seconds)

    def store(self, address: str, server: str) -> Presigned:
        """Returns a URL to store a block at an address."""
        self._require_support()
        return self._presigned("PUT", self._blocks.unqualify(address), server)

    def store_part(self, block: str, upload_id: str, number: int, server: str) -> Presigned:
        """Returns a URL to store a part of an upload in parts of a block."""
        self.require_parts()
        expires = self._expires()
        url = self._blocks.presign_part(block, upload_id, number, self._seconds)
        if url is None:
            url = server + self._urls.sign(Deed("PUT", block, expires, upload_id, number))
        return Presigned(url, expires)

    def shown(self, block: str) -> str:
        """Returns the address of a block as clients are shown it."""
        return self._blocks.qualify(block)

    def _presigned(self, method: Method, address: str, server: str) -> Presigned:
        expires = self._expires()
        url = self._blocks.presign(address, method, self._seconds)
        if url is None:
            url = server + self._urls.sign(Deed(method, address, expires))
        return Presigned(url, expires)

    def _require_support(self) -> None:
        if not self.supported:
            store = self._blocks.config.blockstore_type
            raise NotSupported(
                f"{store} adapter presigned URL: operation not supported",
                kind="unsupported_by_store",
                hint=_HINT,
            )

    def _expires(self) -> int:
        return int(self._clock()) + self._seconds
