"""Copies of objects: when a copy refers to the bytes of its source, and how the store makes others.

Every repository owns the bytes in its storage namespace, and may be deleted with them. So a copy
in another repository has bytes of its own, unless the caller asks for a shallow one.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.etag_pinned_reads import pinned_etag, verify_etag
from anabranch.catalog.objects.own_checksums import own_md5, unverified_address
from anabranch.errors import AnabranchError, Gone
from anabranch.model.image import PINNED
from anabranch.model.objects.entry import AddressType, Entry, physical_address, relative_address
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.identifiers import Identifiers

__all__ = ["ByteCopies", "Sharing"]


class Sharing(enum.Enum):
    """Which bytes of its source a copy refers to instead of having bytes of its own."""

    NOTHING = "nothing"
    OWN_BYTES = "own bytes"
    """Those in the namespace of its repository."""
    OWN_OBJECTS = "own objects"
    """Those that another object of its repository refers to, wherever they are stored."""
    EVERYTHING = "everything"
    """All: the copy is lost if they are removed with the repository that owns them."""

    def allows(self, entry: Entry, source: Repository, destination: Repository) -> bool:
        """Returns whether a copy of an entry may refer to the entry's bytes. Bytes that others may
        replace are always copied.
        """
        if self is Sharing.NOTHING or pinned_etag(entry):
            return False
        if self is Sharing.EVERYTHING:
            return True
        if source.partition != destination.partition:
            return False
        if self is Sharing.OWN_OBJECTS:
            return True
        physical = physical_address(source.storage_namespace, entry.address, entry.address_type)
        return (
            physical != entry.address
            or relative_address(destination.storage_namespace, physical) is not None
        )


class ByteCopies:
    """Copies the bytes of objects within a store, without reading them here if the store can."""

    def __init__(self, identifiers: Identifiers, blocks: BlockStore) -> None:
        self._identifiers = identifiers
        self._blocks = blocks

    def copy(self, entry: Entry, source: Repository, destination: Repository) -> Entry:
        """Returns an entry of the destination with bytes of its own; its checksum is that of the
        source. Raises Gone if the bytes are missing or were replaced; nothing is stored then.
        """
        original = physical_address(source.storage_namespace, entry.address, entry.address_type)
        address = self._identifiers.data_address()
        if not own_md5(entry):
            address = unverified_address(address)
        copy = msgspec.structs.replace(
            entry,
            address=address,
            address_type=int(AddressType.RELATIVE),
            metadata={key: text for key, text in entry.metadata.items() if key != PINNED},
        )
        try:
            with verify_etag(self._blocks, original, pinned_etag(entry)):
                stored = self._blocks.copy(
                    original,
                    self.physical(copy, destination),
                    checksum=entry.checksum,
                )
                if stored.size != entry.size:
                    raise Gone(
                        f"{original}: the object was replaced: it has {stored.size:,} bytes, not "
                        f"{entry.size:,}",
                        kind="source_replaced",
                        hint="Import it again to copy the current object.",
                    )
        except AnabranchError:
            self.discard([copy], destination)
            raise
        return copy

    def discard(self, entries: Sequence[Entry], repository: Repository) -> None:
        """Removes the bytes of copies that nothing refers to."""
        self._blocks.delete([self.physical(entry, repository) for entry in entries])

    @staticmethod
    def physical(entry: Entry, repository: Repository) -> str:
        """Returns the full address of a repository's entry."""
        return physical_address(repository.storage_namespace, entry.address, entry.address_type)
