"""The bucket of a simulated world: blocks in memory, whose removed versions can be brought back.

What `VersionedQuarantine` does is what S3 does: a removed block is a version beneath a delete
marker, which one request removes; another removes the version, whether the marker is still there or
not. So who purges has to know that nobody restores meanwhile. [AWS, "Amazon S3 API reference":
DeleteObject]
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from anabranch.blocks.external_objects import ExternalObject, base_length
from anabranch.blocks.memory import MemoryBlocks
from anabranch.blocks.quarantine import Outcome, Removal
from anabranch.errors import NotFound

__all__ = ["BucketSources", "SharedBlocks", "VersionedQuarantine"]


class SharedBlocks(MemoryBlocks):
    """The blocks of all servers. Planted faults replace its methods."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        super().__init__(clock=clock)
        self.config = msgspec.structs.replace(self.config, import_support=True)
        self.sources = BucketSources(self)
        self.quarantine = VersionedQuarantine(self)
        self.versions: dict[str, str] = {}
        """The versions of the blocks that are at their addresses."""
        self.hidden: dict[tuple[str, str], Any] = {}
        """The blocks beneath delete markers, by address and version."""
        self._hidden_at: dict[str, float] = {}
        self._numbers = itertools.count(1)

    def put(self, address: str, chunks: Iterable[bytes], **options):
        stored = super().put(address, chunks, **options)
        self.versions[address] = str(next(self._numbers))
        return stored

    def has_data(self, address: str) -> bool:
        """Returns whether a block is at its address, or can be brought back."""
        return address in self._blocks or any(name == address for name, _ in self.hidden)

    def hide(self, address: str) -> None:
        """Puts a delete marker above a block, if there is one."""
        block = self._blocks.get(address)
        if block is not None:
            super().delete([address])
            self.hidden[address, self.versions.pop(address)] = block
            self._hidden_at[address] = self._clock()

    def is_hidden(self, address: str, version: str, before: float) -> bool:
        """Returns whether a version is beneath a delete marker that was put there before a time."""
        return (address, version) in self.hidden and self._hidden_at[address] < before

    def show(self, address: str, version: str) -> bool:
        """Removes the delete marker above a version; returns whether there is such a version."""
        block = self.hidden.pop((address, version), None)
        if block is None:
            return False
        super().put(address, [block.body])
        self._blocks[address] = block  # with its old time
        self.versions[address] = version
        return True


class BucketSources:
    """The objects of all buckets, as imports list them."""

    def __init__(self, blocks: SharedBlocks) -> None:
        self._blocks = blocks

    def check(self, address: str) -> None:
        """Does nothing: each bucket may be imported from."""

    def owns(self, _address: str) -> bool:
        """Returns False: all objects are those of the store."""
        return False

    def list(self, prefix: str) -> Iterator[ExternalObject]:
        """Yields the objects whose addresses begin so."""
        for block in self._blocks.list(prefix):
            name = block.address[base_length(prefix) :].encode()
            body = self._blocks.read(block.address)
            etag = hashlib.md5(body, usedforsecurity=False).hexdigest()
            yield ExternalObject(name, block.address, block.size, block.mtime * 10**9, etag)

    def find(self, address: str) -> ExternalObject:
        """Returns an object. Raises NotFound."""
        for found in self.list(address):
            if found.address == address:
                return found._replace(name=b"")
        raise NotFound(address, kind="source_not_found")


class VersionedQuarantine:
    """The quarantine of a versioned bucket. `purge` makes two requests, as S3's does."""

    def __init__(self, blocks: SharedBlocks) -> None:
        self._blocks = blocks

    def require(self, stem: str) -> None:
        """Does nothing: the bucket keeps versions."""

    def size_and_version(self, address: str) -> tuple[int, str] | None:
        """Returns the size and the version of the block at an address, None without."""
        info = self._blocks.stat(address)
        return None if info is None else (info.size, self._blocks.versions[address])

    def remove(self, removals: Sequence[Removal]) -> None:
        """Puts delete markers above blocks."""
        for removal in removals:
            self._blocks.hide(removal.address)

    def restore(self, removal: Removal) -> Outcome:
        """Removes the delete marker above a block's version."""
        version = self._blocks.versions.get(removal.address)
        if version is not None:
            return "present" if version == removal.version else "replaced"
        return "restored" if self._blocks.show(removal.address, removal.version) else "gone"

    def is_beneath(self, removal: Removal, before: float) -> bool:
        """Returns whether a version was removed before a time: the first request of a purge."""
        return self._blocks.is_hidden(removal.address, removal.version, before)

    def remove_version(self, removal: Removal) -> int | None:
        """Removes a version, wherever it is, and returns its size: the second request."""
        block = self._blocks.hidden.pop((removal.address, removal.version), None)
        if block is None and self._blocks.versions.get(removal.address) == removal.version:
            size = len(self._blocks.read(removal.address))
            self._blocks.delete([removal.address])
            return size
        return None if block is None else len(block.body)

    def purge(self, removal: Removal, before: float) -> int | None:
        """Removes a version that was removed before a time, for good."""
        return self.remove_version(removal) if self.is_beneath(removal, before) else None
