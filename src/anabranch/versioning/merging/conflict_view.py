"""What a strategy sees of a conflict, by the rights of the merge's caller."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from anabranch import errors
from anabranch.model.names import decode_key, encode_path
from anabranch.versioning.merging.conflicts import MergeTrees
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.merging.stored_version import StoredVersion
from anabranch.versioning.merging.table_files import TableFiles
from anabranch.versioning.records.entries import entry_from
from anabranch.versioning.strategies.contract import Side

__all__ = ["ConflictView"]

_PAGE_SIZE = 10_000


class ConflictView:
    """`PathConflict`, by the rights of the merge's caller. Objects of other stores are copied
    into `folder`.
    """

    def __init__(self, trees: MergeTrees, path: str, folder: Path, rights: ContentRights) -> None:
        self.path = path
        self.repository = trees.repository.id
        self.commits = trees.commits
        self.work_folder = str(folder)
        self.reads_others = False
        self._trees = trees
        self._folder = folder
        self._rights = rights
        self._table_files = TableFiles(trees.blocks, trees.repository)
        self._readable_areas: set[str] = set()
        self.base = self._version("base", path)
        self.source = self._version("source", path)
        self.destination = self._version("destination", path)

    def read(self, side: Side, path: str) -> StoredVersion | None:
        """Returns an object of a tree. Raises Conflict for one that the caller may not read."""
        self.reads_others = True
        self._require_readable(path)
        return self._version(side, path)

    def list(self, side: Side, prefix: str) -> Iterator[str]:
        """Yields the paths of a tree that begin with a prefix. Raises Conflict for one that the
        caller may not read: a table that lacked some of its files would be merged wrongly.
        """
        self.reads_others = True
        key, after, has_more = encode_path(prefix), b"", True
        while has_more:
            page = self._trees.tree(side).listing(prefix=key, after=after, amount=_PAGE_SIZE)
            page.feed([], last=True)
            for after, _ in page.rows():
                listed = decode_key(after)
                self._require_readable(listed)
                yield listed
            has_more = page.has_more

    def read_table_file(self, area: str, path: str) -> StoredVersion | None:
        """Returns a file of a table. Raises Conflict for one that the caller may not read."""
        self.reads_others = True
        if area not in self._readable_areas:
            if not self._table_files.may_read(area, self._rights):
                raise _unreadable()
            self._readable_areas.add(area)
        return self._table_files.find(area, path, self._folder)

    def _require_readable(self, path: str) -> None:
        if not self._rights.may_read(path):
            raise _unreadable()

    def _version(self, side: Side, path: str) -> StoredVersion | None:
        value = self._trees.get(side, path)
        if value is None:
            return None
        entry = entry_from(value)
        return StoredVersion(self._trees.blocks, self._trees.address(entry), entry, self._folder)


def _unreadable() -> errors.Conflict:
    # the path is not named: listings hide it, too
    return errors.Conflict(
        "the strategy needs another object, which you may not read",
        kind="merge_failed",
        hint="Ask for the permission, or choose another strategy for the path.",
    )
