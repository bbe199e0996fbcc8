"""Presigned URLs: where a client reads or stores an object's bytes itself.

They are the block store's own, where it answers requests, so that bytes never pass through here;
else they are our server's, signed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.block_urls import BlockUrls, Deed, Method

__all__ = ["PRESIGNED_SECONDS", "Presigned", "Presigning"]

PRESIGNED_SECONDS = 15 * 60.0


class Presigned(NamedTuple):
    """A URL, good until `expires`, in seconds since 1970."""

    url: str
    expires: int


class Presigning:
    """Makes presigned URLs, good for so many seconds. `clock` gives seconds since 1970."""

    def __init__(
        self, blocks: BlockStore, urls: BlockUrls, clock: Callable[[], float], seconds: float
    ) -> None:
        self._blocks = blocks
        self._urls = urls
        self._clock = clock
        self._seconds = int(seconds)

    def read(self, address: str, server: str, etag: str = "") -> Presigned:
        """Returns a URL to read the block at an address, as clients are shown it; `server` is
        where they reach this server (`http://127.0.0.1:8000`). What must have an ETag is read by
        way of our server, which looks at it.
        """
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
        if not self._blocks.config.pre_sign_support:
            return None
        return self._blocks.presign(self._blocks.unqualify(address), "GET", self._seconds)

    def store(self, address: str, server: str) -> Presigned:
        """Returns a URL to store a block at an address."""
        return self._presigned("PUT", self._blocks.unqualify(address), server)

    def store_part(self, block: str, upload_id: str, number: int, server: str) -> Presigned:
        """Returns a URL to store a part of an upload in parts of a block."""
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

    def _expires(self) -> int:
        return int(self._clock()) + self._seconds
