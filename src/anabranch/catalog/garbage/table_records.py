"""Records of tables that no commit of an existing repository has, for collectors without access to
the database: those that are staged, and all of deleted repositories that can be restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.garbage.deleted_references import committed_entries
from anabranch.catalog.garbage.staged_changes import (
    END_OF_REPOSITORY,
    StagedPlace,
    decode_position,
    encode_position,
    is_deleted,
    repositories_in_order,
    staged_in,
)
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import Entry
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import (
    RECORDS_ROOT,
    is_record_below,
    is_record_path,
)
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.table_files import records_prefix
from anabranch.versioning.records.entries import entry_from

__all__ = ["FoundRecord", "RepositoryRecords", "TableRecords"]

_ROOT = encode_path(RECORDS_ROOT)


class FoundRecord(NamedTuple):
    """A record: its path, the full address of its content, and the size of that in bytes."""

    path: str
    address: str
    size: int


class RepositoryRecords(NamedTuple):
    """Records of a repository, which may have more of them on the next page, and whether it is
    `deleted` and can be restored.
    """

    repository: Repository
    deleted: bool
    records: Sequence[FoundRecord]


class TableRecords:
    """The records of tables and views of all repositories."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks

    def page(self, after: str, amount: int) -> Page[RepositoryRecords]:
        """Returns a page of repositories with their records: all repositories, also those without
        any, in which files of tables may be. What is staged on each branch is listed when that is
        read, so a collector must read all pages before it reads commits. A page has at most
        `amount` repositories and records, apart from the committed ones of a deleted repository.
        Raises Invalid for `after`, which is the token of an earlier page; Gone and Corrupt.
        """
        position = StagedPlace(*decode_position(after, 3)) if after else None
        found: list[RepositoryRecords] = []
        last: StagedPlace | None = None
        for name, repository in repositories_in_order(self._core):
            if position is not None and name < position.repository:
                continue
            begins = position is None or name != position.repository
            if position is not None and not begins and position.branch == END_OF_REPOSITORY:
                continue
            if amount <= 0:
                return _page(found, last)
            records: list[FoundRecord] = []
            deleted = is_deleted(name)
            found.append(RepositoryRecords(repository, deleted, records))
            if begins and deleted:
                records += self._committed(repository)
            amount, last = amount - 1, StagedPlace(name, END_OF_REPOSITORY, "")
            previous = None
            for place, entry in staged_in(self._core, name, repository, position, _ROOT):
                if is_record_path(place.path):
                    # areas of a branch may have one path several times, of which none is left out
                    if amount <= 0 and previous not in {None, place}:
                        return _page(found, previous)
                    records.append(self._found(repository, place.path, entry))
                    amount, previous = amount - 1, place
        return Page(found, has_more=False)

    def _committed(self, repository: Repository) -> Iterator[FoundRecord]:
        """Yields the records in all commits of a repository, each once."""
        seen: set[FoundRecord] = set()
        for key, value in committed_entries(self._core, repository, records_prefix(repository)):
            path = decode_key(key)
            if is_record_below(path):
                found = self._found(repository, path, entry_from(value))
                if found not in seen:
                    seen.add(found)
                    yield found

    def _found(self, repository: Repository, path: str, entry: Entry) -> FoundRecord:
        address = entry.full_address(repository.storage_namespace)
        return FoundRecord(path, self._blocks.qualify(address), entry.size)


def _page(found: list[RepositoryRecords], last: StagedPlace | None) -> Page[RepositoryRecords]:
    assert last is not None  # noqa: S101  a page has one repository at least
    return Page(found, has_more=True, next_offset=encode_position(*last))
