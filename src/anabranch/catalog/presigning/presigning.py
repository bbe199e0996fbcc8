"""Presigned URLs, by which clients read or store an object's bytes directly.

They are URLs of the block store if it has an HTTP interface, so that no bytes pass through this
server; otherwise signed URLs of this server. A store can be configured without presigned URLs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.presigning.presigned_urls import Method, PresignedUrls, UrlGrant
from anabranch.errors import NotSupported

__all__ = ["PRESIGNED_SECONDS", "Presigned", "Presigner"]

PRESIGNED_SECONDS = 15 * 60.0

_HINT = (
    "Read and write through the API, or ask the server's administrator to enable presigned URLs "
    "in the settings of the block store."
)


class Presigned(NamedTuple):
    """A URL, valid until `expires`, in seconds since 1970."""

    url: str
    expires: int


class Presigner:
    """Makes presigned URLs that are valid for `seconds`. `clock` returns seconds since 1970.

    All methods that return a URL raise NotSupported if the store is configured without presigned
    URLs; see `supported`.
    """

    def __init__(
        self, blocks: BlockStore, urls: PresignedUrls, clock: Callable[[], float], seconds: float
    ) -> None:
        self._blocks = blocks
        self._urls = urls
        self._clock = clock
        self._seconds = int(seconds)

    @property
    def supported(self) -> bool:
        """Whether presigned URLs are enabled."""
        return self._blocks.config.pre_sign_support

    def require_multipart(self) -> None:
        """Raises NotSupported if parts of uploads cannot be stored by presigned URLs."""
        if not self._blocks.config.pre_sign_multipart_upload:
            raise NotSupported(
                "presign multipart upload API is not supported",
                kind="presigned_parts_not_supported",
                hint=_HINT,
            )

    def read_url(self, address: str, server: str, etag: str = "") -> Presigned:
        """Returns a URL to read the block at an address, in the form that clients see. `server` is
        the URL of this server (`http://127.0.0.1:8000`). A block with a required `etag` is read
        through this server, which checks it.
        """
        self._require_support()
        if etag:
            expires = self._expiry()
            return Presigned(
                server + self._urls.sign(UrlGrant("GET", address, expires, etag=etag)), expires
            )
        sources = self._blocks.sources
        imported = sources is not None and sources.owns(address)
        known = address if imported else self._blocks.unqualify(address)
        return self._presign("GET", known, server)

    def direct_read_url(self, address: str) -> str | None:
        """Returns the store's own URL to read the block at an address, in the form that clients
        see; None if the store has no URLs or they are disabled.
        """
        if not self.supported:
            return None
        return self._blocks.presign(self._blocks.unqualify(address), "GET", self._seconds)

    def store_url(self, address: str, server: str) -> Presigned:
        """Returns a URL to store a block at an address."""
        self._require_support()
        return self._presign("PUT", self._blocks.unqualify(address), server)

    def store_part_url(self, block: str, upload_id: str, number: int, server: str) -> Presigned:
        """Returns a URL to store a part of a multipart upload of a block."""
        self.require_multipart()
        expires = self._expiry()
        url = self._blocks.presign_part(block, upload_id, number, self._seconds)
        if url is None:
            url = server + self._urls.sign(UrlGrant("PUT", block, expires, upload_id, number))
        return Presigned(url, expires)

    def client_address(self, block: str) -> str:
        """Returns the address of a block in the form that clients see."""
        return self._blocks.qualify(block)

    def _presign(self, method: Method, address: str, server: str) -> Presigned:
        expires = self._expiry()
        url = self._blocks.presign(address, method, self._seconds)
        if url is None:
            url = server + self._urls.sign(UrlGrant(method, address, expires))
        return Presigned(url, expires)

    def _require_support(self) -> None:
        if not self.supported:
            store = self._blocks.config.blockstore_type
            raise NotSupported(
                f"{store} adapter presigned URL: operation not supported",
                kind="unsupported_by_store",
                hint=_HINT,
            )

    def _expiry(self) -> int:
        return int(self._clock()) + self._seconds
