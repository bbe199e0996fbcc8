"""Reading of records at a reference, and the objects that hold new ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.readable_listing import list_objects
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.catalog.tables.iceberg.recent_values import RecentValues
from anabranch.errors import AnabranchError, Corrupt
from anabranch.model.names import decode_key
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core

__all__ = ["RecordStore"]

_PAGE = 1_000
_CACHED_BYTES = 8 << 20
_LARGEST = 1 << 20
"""The most bytes of a record: everybody who may write to its path can store more."""
_CONTENT_TYPE = "application/json"


class RecordStore:
    """The objects of records."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks
        self._contents: RecentValues[bytes] = RecentValues(_CACHED_BYTES, _LARGEST)

    def find(self, place: Place, path: str) -> bytes | None:
        """Returns the content of the record at a path, None without one. Raises NotFound for the
        repository and the reference.
        """
        repository = self._core.repositories.get(place.repository)
        resolved = self._core.references.resolve(repository, place.reference)
        entry = self._core.objects.entry_at(repository, resolved, path)
        return None if entry is None else self.content(repository, entry)

    def content(self, repository: Repository, entry: Entry) -> bytes:
        """Returns the bytes of a record, which never change at their address. Raises Corrupt for an
        object that is too large to be one.
        """
        address = physical_address(repository.storage_namespace, entry.address, entry.address_type)
        known = self._contents.get(("", address))
        if known is None:
            if entry.size > _LARGEST:
                raise Corrupt(
                    f"a record of {entry.size:,} bytes, at most {_LARGEST:,}", kind="damaged_record"
                )
            # as many bytes as the entry says: who stages an object by its address says how many
            known = self._blocks.read(address, 0, entry.size) if entry.size else b""
            self._contents.put(("", address), known, len(known))
        return known

    def store(self, repository: Repository, content: bytes) -> Entry:
        """Stores the content of a record, and returns its entry, which is on no branch yet."""
        address = self._core.identifiers.data_address()
        physical = f"{repository.storage_namespace.rstrip('/')}/{address}"
        stored = self._blocks.put(physical, [content], unique_address=True)
        return Entry(
            address=address,
            size=stored.size,
            mtime=stored.mtime,
            checksum=stored.checksum,
            content_type=_CONTENT_TYPE,
        )

    def discard(self, repository: Repository, entry: Entry) -> None:
        """Removes the bytes of an entry that is on no branch, as far as the store can."""
        address = physical_address(repository.storage_namespace, entry.address, entry.address_type)
        with suppress(AnabranchError):
            self._blocks.delete([address])

    def paths(
        self,
        place: Place,
        prefix: str,
        after: str,
        readable: ReadablePaths | None,
        *,
        page: int = _PAGE,
    ) -> Iterator[str]:
        """Yields the readable paths below a prefix, after a path. They are read in pages."""
        repository = self._core.repositories.get(place.repository)
        resolved = self._core.references.resolve(repository, place.reference)
        while True:
            listing = list_objects(
                *(self._core, repository, resolved, readable),
                prefix=prefix,
                after=after,
                delimiter="",
                amount=page,
            )
            yield from (decode_key(key) for key, _ in listing.rows())
            if not listing.has_more:
                return
            after = decode_key(listing.last_key())
