"""The JSON of responses, and the structures of the library that it stands for.

Fields that only a store knows have neutral values: addresses are full ones, a branch has no staging
area, and times have no fraction of a second.
"""

from __future__ import annotations

from typing import Any

import msgspec

from anabranch.converter import Converter
from anabranch.model.commits.change import Change, ChangeKind
from anabranch.model.commits.commit import Commit
from anabranch.model.commits.conflict import ConflictKind, ContentConflict, OpenConflict
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE, AddressType, Entry
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.repository import Repository

__all__ = [
    "WireCommit",
    "WireConflict",
    "WireDiff",
    "WireObject",
    "WireRef",
    "WireRepository",
    "conflict_from",
]


class WireRepository(msgspec.Struct, frozen=True):
    """A repository."""

    id: str
    storage_namespace: str
    default_branch: str
    creation_date: int
    read_only: bool = False
    storage_id: str = ""

    def repository(self) -> Repository:
        """Returns the repository; its instance is not known."""
        return Repository(
            id=self.id,
            storage_namespace=self.storage_namespace,
            default_branch=self.default_branch,
            creation_date=self.creation_date,
            instance_uid="",
            read_only=self.read_only,
            storage_id=self.storage_id,
        )


class WireRef(msgspec.Struct, frozen=True):
    """A branch or a tag."""

    id: str
    commit_id: str
    hidden: bool = False

    def branch(self) -> Branch:
        """Returns the branch, without its staging area."""
        return Branch(id=self.id, commit_id=self.commit_id, staging_token="", hidden=self.hidden)

    def tag(self) -> Tag:
        """Returns the tag."""
        return Tag(id=self.id, commit_id=self.commit_id)


class WireCommit(msgspec.Struct, frozen=True):
    """A commit."""

    id: str
    committer: str
    message: str
    creation_date: int
    meta_range_id: str
    parents: tuple[str, ...] = ()
    metadata: dict[str, str] | None = None
    version: int = 0
    generation: int = 0

    def commit(self) -> Commit:
        """Returns the commit."""
        return Commit(
            id=self.id,
            committer=self.committer,
            message=self.message,
            creation_date=self.creation_date,
            metarange_id=self.meta_range_id,
            parents=self.parents,
            metadata=self.metadata or {},
            version=self.version,
            generation=self.generation,
        )


class WireObject(msgspec.Struct, frozen=True):
    """An object, or a common prefix of paths."""

    path: str
    path_type: str
    physical_address: str
    checksum: str = ""
    mtime: int = 0
    size_bytes: int = 0
    content_type: str = ""
    metadata: dict[str, str] | None = None

    def stat(self) -> Stat:
        """Returns the properties of the object."""
        entry = Entry(
            address=self.physical_address,
            address_type=AddressType.FULL,
            size=self.size_bytes,
            mtime=self.mtime,
            checksum=self.checksum,
            metadata=self.metadata or {},
            content_type=self.content_type or DEFAULT_CONTENT_TYPE,
        )
        return Stat(self.path, entry, self.physical_address)

    def item(self) -> Stat | CommonPrefix:
        """Returns the item of a listing."""
        return CommonPrefix(self.path) if self.path_type == "common_prefix" else self.stat()


class _Side(msgspec.Struct, frozen=True):
    checksum: str
    mtime: int
    size_bytes: int
    content_type: str = ""
    metadata: dict[str, str] | None = None

    def entry(self) -> Entry:
        return Entry(
            address="",
            address_type=AddressType.FULL,
            size=self.size_bytes,
            mtime=self.mtime,
            checksum=self.checksum,
            metadata=self.metadata or {},
            content_type=self.content_type or DEFAULT_CONTENT_TYPE,
        )


class _Sides(msgspec.Struct, frozen=True):
    left: _Side | None = None
    right: _Side | None = None


class WireDiff(msgspec.Struct, frozen=True):
    """The difference of one path."""

    path: str
    type: ChangeKind
    sides: _Sides = _Sides()

    def change(self) -> Change:
        """Returns the change; where bytes are stored is not part of it."""
        left, right = self.sides.left, self.sides.right
        return Change(
            self.type,
            self.path,
            None if left is None else left.entry(),
            None if right is None else right.entry(),
        )


class WireConflict(msgspec.Struct, frozen=True):
    """A path that both sides of a merge changed."""

    path: str
    kind: ConflictKind
    base: WireObject | None = None
    source: WireObject | None = None
    destination: WireObject | None = None
    strategy: str = ""
    reason: str = ""
    details: tuple[ContentConflict, ...] = ()

    def conflict(self) -> OpenConflict:
        """Returns the conflict."""
        base, source, destination = (
            None if side is None else side.stat()
            for side in (self.base, self.source, self.destination)
        )
        return OpenConflict(
            self.path,
            self.kind,
            base=base,
            source=source,
            destination=destination,
            strategy=self.strategy,
            reason=self.reason,
            details=self.details,
        )


_CONFLICT = Converter(WireConflict)


def conflict_from(document: dict[str, Any]) -> OpenConflict:
    """Returns the conflict of a decoded document. Raises msgspec.ValidationError."""
    return _CONFLICT.convert(document).conflict()
