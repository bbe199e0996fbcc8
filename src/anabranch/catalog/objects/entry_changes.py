"""Changes of entries, and what admits the addresses of new ones."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone, NotFound
from anabranch.model.objects.entry import Entry, user_metadata
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["AdmitShared", "ChangeUserMetadata", "KeepChecksums"]


class AdmitShared(msgspec.Struct, frozen=True):
    """The conditions on which a copy may share the bytes of an object at a reference."""

    core: Core
    blocks: BlockStore
    source: Repository
    reference: str
    address: str

    def writes_for(self, _: None, /) -> ExtraWrites:
        """Returns the conditions. Raises Conflict for bytes that garbage collection is removing,
        Gone for those that a sweep has removed.
        """
        admitted = self.core.sweeps.admit_addresses([self.address])
        tree = self.core.references.commit(self.source, self.reference).metarange_id
        swept = self.core.swept_trees.has(self.source, tree)
        if swept and self.blocks.stat(self.address) is None:
            raise Gone(
                f"{self.address}: garbage collection has removed this object",
                kind="object_removed",
                hint="Nothing referred to it for longer than the retention rules say.",
            )
        return admitted


class ChangeUserMetadata(msgspec.Struct, frozen=True):
    """Replaces the user metadata of the object at `place`."""

    place: str
    change: Callable[[dict[str, str]], dict[str, str]]

    def apply(self, current: Entry | None) -> Entry:
        """Returns the entry with other metadata. Raises NotFound."""
        if current is None:
            raise NotFound(
                f"update user metadata on {self.place}: not found", kind="object_not_found"
            )
        metadata = user_metadata(self.change(dict(current.metadata)))
        return msgspec.structs.replace(current, metadata=metadata)


class KeepChecksums(msgspec.Struct, frozen=True):
    """Stages an entry. If the current one has the same bytes, its stored checksums are kept."""

    entry: Entry

    def apply(self, current: Entry | None) -> Entry:
        """Returns the entry."""
        if current is None or _content_identity(current) != _content_identity(self.entry):
            return self.entry
        return msgspec.structs.replace(self.entry, system_metadata=current.system_metadata)


def _content_identity(entry: Entry) -> tuple[str, int, int, str]:
    """Returns the fields that identify the bytes of an entry."""
    return entry.address, entry.address_type, entry.size, entry.checksum
