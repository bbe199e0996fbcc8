"""The records of tables and views that are not in the commits that an installation lists, and the
files that they lead to: in a key-value store with its block store, or as a server lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Conflict, Denied, NotFound
from anabranch.model.names import decode_key, encode_path
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import RECORDS_ROOT, is_record_path
from anabranch.pipelines.garbage.installations.gc_roots import staging_areas
from anabranch.pipelines.garbage.installations.requests import ServerRequests
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.table_files import TableFiles
from anabranch.versioning.records.entries import entry_from

__all__ = ["ServedTableRecords", "StoredTableRecords", "TableRecord"]


class TableRecord(NamedTuple):
    """The record of a table or a view: its path, the full address of its content, and the size of
    that in bytes.
    """

    repository: Repository
    path: str
    address: str
    size: int


class StoredTableRecords:
    """The records of a core's repositories, which are all listed."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def files(self) -> TableFiles:
        """The files of tables."""
        return self._core.record_admission.files

    def staged(self, repository: Repository | None = None) -> Iterator[TableRecord]:
        """Yields the records that are staged in one repository or in all, in each staging area by
        itself, uncached. Raises Corrupt.
        """
        if repository is None:
            for each in self._core.repositories.kept():
                yield from self.staged(each)
            return
        start = encode_path(RECORDS_ROOT)
        for branch in staging_areas(self._core, repository):
            for token in branch.tokens:
                for key, value in self._core.staging.changes([token], start, upper_bound(start)):
                    path = decode_key(key)
                    if value is not None and is_record_path(path):
                        entry = entry_from(value)
                        address = entry.full_address(repository.storage_namespace)
                        yield TableRecord(repository, path, address, entry.size)


class ServedTableRecords:
    """The records that a server lists, for the collection of a repository of this name. `to_model`
    makes a repository of what the server says about it, and `listed` are those that it lists to the
    user.
    """

    def __init__(
        self,
        requests: ServerRequests,
        blocks: BlockStore,
        collected: str,
        to_model: Callable[[Any], Repository],
        listed: Callable[[], Iterable[Repository]],
    ) -> None:
        self._requests = requests
        self._blocks = blocks
        self._collected = collected
        self._to_model = to_model
        self._listed = listed
        self._named: dict[str, dict[str, Repository]] = {}
        self.files = TableFiles(blocks, lambda name: [*self._named.get(name, {}).values()])

    def are_told(self) -> bool:
        """Returns whether the server tells these records: an older one does not, and none does
        without the permission for all repositories.
        """
        try:
            next(iter(self._items()), None)
        except Denied:
            return False
        except NotFound as error:
            if error.kind == "repository_not_found":
                raise
            return False
        return True

    def staged(self, repository: Repository | None = None) -> Iterator[TableRecord]:
        """Yields the records that are staged in one repository or in all, in each staging area by
        itself, and the committed ones of repositories that were deleted and can be restored, which
        a server does not list; uncached. Raises Conflict if the server does not list a repository
        to the user that has been there: its commits are not known.
        """
        # read all pages before the first record: it may lead to files of the last repository
        told: list[TableRecord] = []
        there: set[str] = set()
        for item in self._items():
            found = self._to_model(item["repository"])
            self._note(found)
            if not item["deleted"]:
                there.add(found.partition)
            for record in item["records"] if repository in {None, found} else ():
                address = self._blocks.unqualify(record["physical_address"])
                told.append(TableRecord(found, record["path"], address, record["size_bytes"]))
        for listed in self._listed():
            self._note(listed)  # one that was restored meanwhile may have been told by no page
            there.discard(listed.partition)
        if there:
            raise Conflict(
                f"repositories whose commits are not known: {', '.join(sorted(there))}",
                kind="repository_not_listed",
                hint="Give the user the right to read all repositories; if they were just deleted, "
                "run the collection again.",
            )
        yield from told

    def _note(self, repository: Repository) -> None:
        # all namespaces that a name has had: one may be deleted while its files are read
        self._named.setdefault(repository.id, {})[repository.storage_namespace] = repository

    def _items(self) -> Iterator[Any]:
        return self._requests.items(self._collected, "gc", "table_records")
