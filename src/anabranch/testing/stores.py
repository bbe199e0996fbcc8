"""Stores with injected faults, for tests of the code that uses them.

Each wraps a real store and calls `before(operation, subject)` ahead of each step, with the name of
the contract's method and its address or partition; a put also has a step "chunk" for each chunk.
The store raises what `before` raises, so `before` can count, fail or delay steps.
"""

# the contract has the docstrings of the methods
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from anabranch.blocks.checked_reads import CheckedReads
from anabranch.blocks.contract import BlockInfo, BlockStore, Stored
from anabranch.blocks.quarantine import Outcome, Quarantine, Removal
from anabranch.keyvalue.contract import Expect, KeyRange, KeyValueStore, Row, Write
from anabranch.model.uploads.part import Part

__all__ = ["Before", "FaultyBlocks", "FaultyQuarantine", "FaultyStore", "fail_at"]

Before = Callable[[str, str], None]


def fail_at(operation: str, number: int, error: Exception) -> Before:
    """Returns a `before` that raises the error at the n-th (from 1) step of this name."""
    remaining = number

    def before(step: str, _subject: str) -> None:
        nonlocal remaining
        if step == operation:
            remaining -= 1
            if remaining == 0:
                raise error

    return before


class FaultyBlocks:
    """A `BlockStore` that passes calls to another, unless `before` raises."""

    def __init__(self, store: BlockStore, before: Before) -> None:
        self.config = store.config
        self.sources = store.sources
        self.checked: CheckedReads | None = None  # so that `before` is called for every read
        self.quarantine: Quarantine | None = None
        if store.quarantine is not None:
            self.quarantine = FaultyQuarantine(store.quarantine, self._before)
        self.store = store
        self.before = before

    def accepts(self, storage_namespace: str) -> bool:
        return self.store.accepts(storage_namespace)

    def namespace(self, storage_namespace: str) -> str:
        return self.store.namespace(storage_namespace)

    def put(
        self,
        address: str,
        chunks: Iterable[bytes],
        *,
        if_absent: bool = False,
        unique_address: bool = False,
        storage_class: str = "",
    ) -> Stored:
        self.before("put", address)
        chunks = self._chunks(address, chunks)
        return self.store.put(
            address,
            chunks,
            if_absent=if_absent,
            unique_address=unique_address,
            storage_class=storage_class,
        )

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        self.before("get", address)
        return self.store.get(address, start, length)

    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        self.before("read", address)
        return self.store.read(address, start, length)

    def read_if_cached(self, address: str, start: int, length: int) -> bytes | None:
        self.before("read", address)
        return self.store.read_if_cached(address, start, length)

    def stat(self, address: str) -> BlockInfo | None:
        self.before("stat", address)
        return self.store.stat(address)

    def storage_class(self, address: str) -> str | None:
        self.before("storage_class", address)
        return self.store.storage_class(address)

    def delete(self, addresses: Iterable[str]) -> None:
        for address in addresses:
            self.before("delete", address)
            self.store.delete([address])

    def list(self, prefix: str, after: str = "") -> Iterator[BlockInfo]:
        self.before("list", prefix)
        return self.store.list(prefix, after)

    def copy(self, source: str, destination: str, *, checksum: str | None = None) -> Stored:
        self.before("copy", destination)
        return self.store.copy(source, destination, checksum=checksum)

    def presign(self, address: str, method: Literal["GET", "PUT"], seconds: int) -> str | None:
        return self.store.presign(address, method, seconds)

    def presign_part(self, address: str, upload_id: str, number: int, seconds: int) -> str | None:
        return self.store.presign_part(address, upload_id, number, seconds)

    def open_upload(self, address: str) -> str:
        self.before("open_upload", address)
        return self.store.open_upload(address)

    def put_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        *,
        md5: str | None = None,
    ) -> Part:
        self.before("put_part", address)
        chunks = self._chunks(address, chunks)
        return self.store.put_part(address, upload_id, number, chunks, md5=md5)

    def copy_part(
        self,
        address: str,
        upload_id: str,
        number: int,
        source: str,
        start: int = 0,
        length: int | None = None,
    ) -> Part:
        self.before("copy_part", address)
        return self.store.copy_part(address, upload_id, number, source, start, length)

    def parts(self, address: str, upload_id: str) -> Sequence[Part]:
        self.before("parts", address)
        return self.store.parts(address, upload_id)

    def complete_upload(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Stored:
        self.before("complete_upload", address)
        return self.store.complete_upload(address, upload_id, parts)

    def abort_upload(self, address: str, upload_id: str) -> None:
        self.before("abort_upload", address)
        self.store.abort_upload(address, upload_id)

    def qualify(self, address: str) -> str:
        return self.store.qualify(address)

    def unqualify(self, address: str) -> str:
        return self.store.unqualify(address)

    def local_path(self, address: str) -> str | None:
        return self.store.local_path(address)

    def clean_temporaries(self, older_than_seconds: float) -> int:
        return self.store.clean_temporaries(older_than_seconds)

    def close(self) -> None:
        self.store.close()

    def _before(self, operation: str, subject: str) -> None:
        self.before(operation, subject)  # looked up at each call: tests replace it

    def _chunks(self, address: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.before("chunk", address)
            yield chunk


class FaultyQuarantine:
    """A `Quarantine` that passes calls to another, one block at a time, unless `before` raises."""

    def __init__(self, quarantine: Quarantine, before: Before) -> None:
        self.quarantine = quarantine
        self.before = before

    def require(self, stem: str) -> None:
        self.before("require", stem)
        self.quarantine.require(stem)

    def size_and_version(self, address: str) -> tuple[int, str] | None:
        self.before("size_and_version", address)
        return self.quarantine.size_and_version(address)

    def remove(self, removals: Sequence[Removal]) -> None:
        for removal in removals:
            self.before("remove", removal.address)
            self.quarantine.remove([removal])

    def restore(self, removal: Removal) -> Outcome:
        self.before("restore", removal.address)
        return self.quarantine.restore(removal)

    def purge(self, removal: Removal, before: float) -> int | None:
        self.before("purge", removal.address)
        return self.quarantine.purge(removal, before)


class FaultyStore:
    """A `KeyValueStore` that passes calls to another, unless `before` raises."""

    def __init__(self, store: KeyValueStore, before: Before) -> None:
        self.store = store
        self.before = before

    def get(self, partition: str, key: bytes) -> bytes | None:
        self.before("get", partition)
        return self.store.get(partition, key)

    def get_many(self, partition: str, keys: Sequence[bytes]) -> list[bytes | None]:
        self.before("get_many", partition)
        return self.store.get_many(partition, keys)

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        self.before("scan", partition)
        return self.store.scan(partition, start, end, limit=limit)

    def snapshot(self, partition: str, ranges: Sequence[KeyRange]) -> list[list[Row]]:
        self.before("snapshot", partition)
        return self.store.snapshot(partition, ranges)

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        self.before("apply", writes[0].partition if writes else "")
        return self.store.apply(writes, expect)

    def drop(self, partition: str) -> None:
        self.before("drop", partition)
        self.store.drop(partition)

    def close(self) -> None:
        self.store.close()
