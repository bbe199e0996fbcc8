"""The paths that both sides of a merge changed differently."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.model.commits.commit import Commit
from anabranch.model.commits.conflict import ConflictKind, ContentConflict, OpenConflict
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.objects.stat import Stat
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records.entries import Value, entry_from
from anabranch.versioning.strategies.contract import Side
from anabranch.versioning.trees.trees import Trees

__all__ = ["Conflict", "MergeTrees", "SideTree"]

_VERSION_DIGITS = 32


class Conflict(msgspec.Struct, frozen=True):
    """A path that both sides changed differently, with its values in the three trees; None if a
    tree does not have it.
    """

    key: bytes
    base: Value | None
    source: Value | None
    destination: Value | None

    @property
    def path(self) -> str:
        """The path of the object."""
        return decode_key(self.key)

    @property
    def kind(self) -> ConflictKind:
        """What both sides did."""
        if self.base is None:
            return "added_twice"
        if self.source is None:
            return "deleted_changed"
        return "both_changed" if self.destination is not None else "changed_deleted"

    def value(self, side: Side) -> Value | None:
        """Returns the value in one of the trees."""
        if side == "base":
            return self.base
        return self.source if side == "source" else self.destination


class SideTree(NamedTuple):
    """A side of a merge: the id of its tree, and of the commit that has it, "" if there is none."""

    metarange_id: str
    commit_id: str = ""

    @classmethod
    def of(cls, commit: Commit) -> SideTree:
        """Returns the side with the tree of a commit."""
        return cls(commit.metarange_id, commit.id)


class MergeTrees:
    """The three trees of a merge, of a repository whose objects are in `blocks`. `commits` are the
    ids of their commits.
    """

    def __init__(
        self,
        blocks: BlockStore,
        repository: Repository,
        trees: Trees,
        *,
        base: kernel.Tree,
        source: kernel.Tree,
        destination: kernel.Tree,
        commits: Mapping[Side, str],
    ) -> None:
        self.blocks = blocks
        self.repository = repository
        self._trees = trees
        self.base = base
        self.source = source
        self.destination = destination
        self.commits = commits

    def tree(self, side: Side) -> kernel.Tree:
        """Returns one of the trees."""
        if side == "base":
            return self.base
        return self.source if side == "source" else self.destination

    def get(self, side: Side, path: str) -> Value | None:
        """Returns the value of a path in one of the trees."""
        return self._trees.read(self.tree(side).get, encode_path(path))

    def conflicts(
        self, *, prefix: str = "", after: str = "", amount: int
    ) -> tuple[list[Conflict], bool]:
        """Returns at most `amount` conflicts after a path, and whether more follow."""
        rows, has_more = self._trees.read(
            self.destination.conflicts,
            self.source,
            self.base,
            prefix=encode_path(prefix),
            after=encode_path(after),
            amount=amount,
        )
        return [Conflict(*row) for row in rows], has_more

    def have_conflicts(self) -> bool:
        """Returns whether there are conflicts."""
        return bool(self.conflicts(amount=1)[0])

    def conflict_page(self, *, prefix: str, after: str, amount: int) -> Page[OpenConflict]:
        """Returns a page of the conflicts with their objects."""
        found, has_more = self.conflicts(prefix=prefix, after=after, amount=amount)
        items = [self.report(conflict) for conflict in found]
        return Page(items, has_more, items[-1].path if has_more else "")

    def report(
        self,
        conflict: Conflict,
        strategy: str = "",
        reason: str = "",
        details: Sequence[ContentConflict] = (),
    ) -> OpenConflict:
        """Returns a conflict as a merge reports it."""
        path = conflict.path
        return OpenConflict(
            path,
            conflict.kind,
            base=self._stat(path, conflict.base),
            source=self._stat(path, conflict.source),
            destination=self._stat(path, conflict.destination),
            strategy=strategy,
            reason=reason,
            details=tuple(details),
        )

    def _stat(self, path: str, value: Value | None) -> Stat | None:
        if value is None:
            return None
        entry = entry_from(value)
        return Stat(path, entry, self.blocks.qualify(self.address(entry)))

    def address(self, entry: Entry) -> str:
        """Returns the full address of an object's bytes, in the store's form."""
        namespace = self.repository.storage_namespace
        return physical_address(namespace, entry.address, entry.address_type)

    def versions(self, conflict: Conflict) -> dict[str, str | None]:
        """Returns what tells the versions of a conflict from others, by side; None where a side
        does not have the object.
        """
        sides: tuple[Side, ...] = ("base", "source", "destination")
        return {side: _version(conflict.value(side)) for side in sides}

    def counts(self) -> tuple[int, int, int, int]:
        """Returns how many paths the merge adds, changes and removes, conflicts apart, and the
        number of conflicts.
        """
        return self._trees.read(self.destination.merge_counts, self.source, self.base)


def _version(value: Value | None) -> str | None:
    if value is None:
        return None
    entry = entry_from(value)
    about = msgspec.json.encode([entry.address, entry.address_type, entry.size, entry.checksum])
    return hashlib.sha256(about).hexdigest()[:_VERSION_DIGITS]
