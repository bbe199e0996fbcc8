"""Admission of records of tables: none names a file that garbage collection removes or has removed.

A record names metadata, and these lead to all files of a table, which no entry has. A sweep writes
tombstones of files in areas as it does of objects. While one runs, a new record is admitted on
condition that no file that it leads to has a tombstone. Once a sweep has removed files of tables,
it is admitted only if those files are stored. What the record that it replaces leads to needs no
check: the branch has not ceased to need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Conflict, Gone, Invalid, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import RECORDS_ROOT, is_record_path
from anabranch.tables.iceberg.named_files import NamedFiles
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.garbage.table_files import TableFiles, read_record
from anabranch.versioning.records.entries import Value, entry_from
from anabranch.versioning.trees.trees import Trees

__all__ = ["RecordAdmission", "RecordChange", "written_rows"]

_PARTITION = "anabranch-swept"
_SWEPT_KEY = b"tables"
"""Trees in this partition have a storage namespace in their keys."""
_THREADS = 8
_PAGE = 1000


class RecordChange(NamedTuple):
    """A new record at a path, and the one that it replaces."""

    path: str
    before: Entry | None
    after: Entry


class _Found(NamedTuple):
    """The addresses that a record leads to and the one before it does not: `texts` of its metadata,
    which may be no files, and `files`. `unread` says which of them cannot be read.
    """

    texts: set[str]
    files: set[str]
    unread: str = ""


class RecordAdmission:
    """Admits records of tables and views."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        sweeps: SweepRecords,
        blocks: BlockStore,
        trees: Trees,
        files: TableFiles,
    ) -> None:
        self._keyvalue = keyvalue
        self._sweeps = sweeps
        self._blocks = blocks
        self._trees = trees
        self.files = files

    def record_swept(self) -> None:
        """Records that a sweep may remove files of tables, before it removes any. It counts for all
        repositories, since a table may have files of another one.
        """
        self._keyvalue.apply([Write(_PARTITION, _SWEPT_KEY, b"-")])

    def is_swept(self) -> bool:
        """Returns whether a sweep may have removed files of tables."""
        return self._keyvalue.get(_PARTITION, _SWEPT_KEY) is not None

    def admit(self, repository: Repository, changes: Iterable[RecordChange]) -> Sequence[Expect]:
        """Returns the conditions of changes of paths of a branch; only those of records matter.

        Raises Conflict: kind being_removed for a file that a sweep is about to remove,
        table_file_removed for one that is gone, sweep_under_way if it is not known which files a
        record leads to while a sweep runs.
        """
        records = [each for each in changes if is_record_path(each.path)]
        return self._admit(repository, records) if records else ()

    def admit_tree(self, repository: Repository, head: str, tree: str) -> Sequence[Expect]:
        """Returns the conditions of replacing the tree of a branch's head by another one. Raises as
        `admit` does.
        """
        sweep_ids, unchanged = self._sweeps.running()
        if unchanged.value is None or not (sweep_ids or self.is_swept()):
            return [unchanged]
        return [unchanged, *self.admit(repository, self._changes(repository, head, tree))]

    def leads_to(self, repository: Repository, path: str, entry: Entry) -> list[str]:
        """Returns the full addresses that the files have which a record leads to, as far as they
        can be read.
        """
        found = self._find(repository, RecordChange(path, None, entry))
        return self._stored_at(repository, found.texts | found.files)

    def missing_file(self, repository: Repository, change: RecordChange) -> str:
        """Returns which file of a table that a record leads to is missing, as a phrase; "" if all
        are stored, or if no sweep has removed any.
        """
        if not self.is_swept():
            return ""
        found = self._find(repository, change)
        if found.unread:
            return f"the files of {change.path} are not known: {found.unread}"
        missing = self._first_missing(repository, found.files)
        return f"the file {missing} of {change.path} was removed" if missing else ""

    def _admit(self, repository: Repository, records: Sequence[RecordChange]) -> list[Expect]:
        sweep_ids, unchanged = self._sweeps.running()
        # after the record of sweeps was read: a sweep that begins later fails the condition
        is_swept = unchanged.value is not None and self.is_swept()
        expect = [unchanged]
        if not sweep_ids and not is_swept:
            return expect
        for change in records:
            found = self._find(repository, change)
            if sweep_ids and found.unread:
                raise Conflict(
                    f"{change.path}: garbage collection is removing files of tables, and those of "
                    f"this one are not known: {found.unread}",
                    kind="sweep_under_way",
                    hint="Try again when it is over.",
                )
            if sweep_ids:
                places = self._stored_at(repository, found.texts | found.files)
                expect += self._sweeps.admit_addresses(places)[1]
            missing = self._first_missing(repository, found.files) if is_swept else ""
            if missing:
                raise Conflict(
                    f"{change.path}: garbage collection has removed {missing}",
                    kind="table_file_removed",
                    hint="Nothing referred to the file for longer than the collection waits. Write "
                    "it again, or restore it from quarantine (anabranch gc restore).",
                )
        return expect

    def _stored_at(self, repository: Repository, addresses: Iterable[str]) -> list[str]:
        places = (self.files.stored_at(repository, each) for each in sorted(addresses))
        return list(dict.fromkeys(place for each in places for place in each))

    def _changes(self, repository: Repository, head: str, tree: str) -> Iterator[RecordChange]:
        """Yields the records of a tree that another one does not have."""
        root = encode_path(RECORDS_ROOT)
        for key, old, new in written_rows(self._trees, repository, head, tree, root):
            replaced = None if old is None else entry_from(old)
            yield RecordChange(decode_key(key), replaced, entry_from(new))

    def _find(self, repository: Repository, change: RecordChange) -> _Found:
        """Returns what a record leads to and the one before it does not."""
        if change.before is not None and change.before.address == change.after.address:
            return _Found(set(), set())
        texts, files = set[str](), set[str]()
        try:
            after = self._named(repository, change.after)
            before = self._named_before(repository, change.before)
            if after is None:
                return _Found(texts, files)  # no record: nothing follows it
            address, named = after
            files.add(address)
            texts |= named.texts - before.texts
            files |= set(named.statistics) - set(before.statistics)
            lists = [each for each in named.manifest_lists if each not in before.manifest_lists]
            files.update(lists)
            known = self._known_manifests(repository, before) if lists else set()
            manifests = set(named.manifests) - set(before.manifests)
            for each in lists:
                manifests.update(self.files.manifest_list(repository, each))
            manifests -= known
            files |= manifests
            for each in sorted(manifests):
                files |= self.files.manifest(repository, each)
        except NotFound:
            return _Found(texts, files)  # it is among `files`, and found missing there
        except Invalid as error:
            return _Found(texts, files, error.message)
        return _Found(texts, files)

    def _named(self, repository: Repository, entry: Entry) -> tuple[str, NamedFiles] | None:
        """Returns the address of the metadata that a record names, and what they name; None for an
        entry that is no record.
        """
        address = entry.full_address(repository.storage_namespace)
        try:
            record = read_record(self._blocks, address, entry.size)
        except Gone:
            return None
        if record is None:
            return None
        try:
            return record.metadata, self.files.metadata(repository, record.metadata)
        except NotFound:
            return record.metadata, NamedFiles()  # found missing later

    def _named_before(self, repository: Repository, entry: Entry | None) -> NamedFiles:
        try:
            found = None if entry is None else self._named(repository, entry)
        except Invalid:
            return NamedFiles()
        return NamedFiles() if found is None else found[1]

    def _known_manifests(self, repository: Repository, before: NamedFiles) -> set[str]:
        """Returns the manifests of the newest snapshot of the record before: all others that a new
        snapshot has are examined.
        """
        try:
            newest = before.manifest_lists[-1:]
            return {name for each in newest for name in self.files.manifest_list(repository, each)}
        except (Invalid, NotFound):
            return set()

    def _first_missing(self, repository: Repository, files: Iterable[str]) -> str:
        """Returns the address of a file that is not stored, "" if all are."""
        ordered = iter(sorted(files))
        with ThreadPoolExecutor(_THREADS) as pool:
            while page := list(islice(ordered, _PAGE)):
                stored = pool.map(lambda each: self.files.exists(repository, each), page)
                for address, is_stored in zip(page, stored, strict=True):
                    if not is_stored:
                        return address
        return ""


def written_rows(
    trees: Trees, repository: Repository, head: str, tree: str, prefix: bytes
) -> Iterator[tuple[bytes, Value | None, Value]]:
    """Yields the keys below a prefix that a tree has and the tree `head` has not, or with another
    value, each with the values of both.
    """
    before, after = trees.open(repository, head), trees.open(repository, tree)
    last, more = b"", True
    while more:
        page = trees.read(before.diff, after, prefix=prefix, after=last, amount=_PAGE)
        for _, key, old, new in page.rows:
            last = key
            if new is not None:
                yield key, old, new
        more = page.has_more
