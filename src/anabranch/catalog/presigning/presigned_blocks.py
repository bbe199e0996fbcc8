"""Use cases of this server's presigned URLs: read a block, store a block or a part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.etag_pinned_reads import PinnedRead
from anabranch.catalog.presigning.presigned_urls import PresignedUrls, UrlGrant
from anabranch.errors import AlreadyExists, Gone
from anabranch.model.objects.md5 import md5_of

__all__ = ["OpenBlock", "PresignedBlocks"]


class OpenBlock:
    """A block open for reading. `size` is in bytes, `mtime` in seconds since 1970."""

    def __init__(
        self, blocks: BlockStore, address: str, size: int, mtime: int, etag: str = ""
    ) -> None:
        self.size = size
        self.mtime = mtime
        self._blocks = blocks
        self._address = address
        self._etag = etag

    def read(self, start: int, length: int) -> Iterator[bytes]:
        """Yields `length` bytes from `start` on. Raises Gone."""
        if self._etag:
            return PinnedRead(self._blocks, self._address, self._etag).get(start, length)
        return self._blocks.get(self._address, start, length)


class PresignedBlocks:
    """Use cases of this server's presigned URLs. All methods raise Denied unless the signature
    matches the grant and the grant has not expired.
    """

    def __init__(self, blocks: BlockStore, urls: PresignedUrls) -> None:
        self._blocks = blocks
        self._urls = urls

    def open(self, grant: UrlGrant, signature: str) -> OpenBlock:
        """Returns the block, open for reading. Raises Gone."""
        self._urls.verify(grant, signature)
        info = self._blocks.stat(grant.address)
        if info is None:
            raise Gone("no data found")
        return OpenBlock(self._blocks, grant.address, info.size, info.mtime, grant.etag)

    def store(self, grant: UrlGrant, signature: str, chunks: Iterable[bytes]) -> str:
        """Stores a block or a part of a multipart upload; returns its hex MD5.

        An existing block is never replaced: storing the same content again succeeds and changes
        nothing. Raises AlreadyExists for other content, and what `chunks` raises.
        """
        self._urls.verify(grant, signature)
        blocks = self._blocks
        if grant.part:
            return blocks.put_part(grant.address, grant.upload_id, grant.part, chunks).checksum
        if blocks.stat(grant.address) is None:
            return blocks.put(grant.address, chunks, if_absent=True).checksum
        checksum = md5_of(chunks)
        if checksum != md5_of(blocks.get(grant.address)):
            raise AlreadyExists(
                "other content is already stored at this address", kind="block_exists"
            )
        return checksum
