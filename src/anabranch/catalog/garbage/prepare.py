"""Writes the lists of objects in use that collectors without access to the database need, such as
lakeFS's Spark client.

The lists are stored under `_lakefs/retention/gc/` of a storage namespace:
`commits/run_id=RUN/commits.csv` has the active commits with their trees;
`uncommitted/RUN/uncommitted/XID` are Parquet files with the addresses of objects that multipart
uploads and staged changes reference or that were restored recently. Anabranch's own collector reads
these lists if it has access to a server but not to its key-value store
(`pipelines.garbage.installations.served`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.garbage.deleted_references import committed_entries
from anabranch.catalog.garbage.staged_changes import (
    StagedChange,
    StagedPlace,
    decode_position,
    encode_position,
    repositories_in_order,
    staged_in,
)
from anabranch.catalog.garbage.table_records import TableRecords
from anabranch.catalog.images.images import Images
from anabranch.errors import Invalid, NotFound
from anabranch.model.objects.entry import AddressType, Entry
from anabranch.model.repositories.preparation import Preparation
from anabranch.model.repositories.repository import Repository
from anabranch.records.parquet import parquet_table
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.stored_rules import RETENTION
from anabranch.versioning.records.entries import entry_from

__all__ = ["LOCATION_COLUMNS", "GarbagePreparation", "UncommittedPage"]

_PAGE_BYTES = 20 << 20
_PAGE_SECONDS = 60.0
_ROW_BYTES = 12
"""Bytes of a row apart from its address: the length of the address and the date."""
_LOCATION_BYTES = 12
"""Bytes of a row's repository, branch and path apart from their text."""

_CREATED_BY = "anabranch"

LOCATION_COLUMNS = ("repository", "branch", "path")
"""Columns that say where an address is staged; all are empty for multipart uploads."""


class UncommittedPage(NamedTuple):
    """A written page. `location` is the folder of the run's files, or empty if the page has no
    rows; `continuation_token` requests the next page and is empty after the last.
    """

    run_id: str
    location: str
    continuation_token: str


class GarbagePreparation:
    """Writes the lists for a collection. `clock` returns seconds since 1970."""

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        clock: Callable[[], float],
        images: Images,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock
        self._images = images
        self.table_records = TableRecords(core, blocks)

    def commits(self, repository: str, *, include_expired: bool = False) -> Preparation:
        """Writes the list of active commits, including those that images reference. With
        `include_expired`, the list also has all other commits, marked as expired, and without rules
        all commits are active. Raises NotFound if there are no rules and `include_expired` is not
        set, and Gone for a missing commit.
        """
        stored_repository = self._core.repositories.get(repository)
        rules = self._core.rules.find(stored_repository)
        if rules is None and not include_expired:
            raise NotFound("get gc rules: not found", kind="gc_rules_not_found")
        pinned = self._core.pins.commits(stored_repository)
        self._core.operation_retention.compact(stored_repository)
        _, _, graph, active = self._core.rules.read_commits(
            stored_repository, rules, self._clock(), pinned
        )
        active |= graph.keys() & self._images.pinned_commits(stored_repository).keys()
        rows = [
            f"{name},{'false' if name in active else 'true'},{graph[name].metarange_id}\n"
            for name in sorted(graph if include_expired else active)
        ]
        run_id = self._core.identifiers.descending_xid()
        address = _address(stored_repository, f"commits/run_id={run_id}/commits.csv")
        self._blocks.put(address, [b"commit_id,expired,metarange_id\n", "".join(rows).encode()])
        return Preparation(
            run_id=run_id,
            commits=self._blocks.qualify(address),
            addresses=self._blocks.qualify(_address(stored_repository, "addresses/")),
        )

    def uncommitted(
        self,
        repository: str,
        continuation_token: str = "",
        *,
        paths: bool = False,
        page_bytes: int = _PAGE_BYTES,
    ) -> UncommittedPage:
        """Writes a page of the addresses in a repository's namespace that multipart uploads and
        staged changes, of any repository, reference. With `paths`, a page also has the repository,
        branch and path of each staged object, which are empty for uploads. A page ends when it has
        `page_bytes` or took a minute. Raises Invalid for an invalid token.
        """
        stored_repository = self._core.repositories.get(repository)
        run_id, after = self._core.identifiers.descending_xid(), None
        if continuation_token:
            run_id, *names = decode_position(continuation_token, 4)
            after = StagedPlace(*names)
            if not run_id.isalnum():  # it becomes a part of addresses
                raise Invalid("invalid continuation token", kind="invalid_continuation_token")
        folder = _address(stored_repository, f"uncommitted/{run_id}/uncommitted/")
        file = self._core.identifiers.xid()
        # a completed upload is removed when its object is staged, so uploads are read first
        found = () if after else self._without_location(stored_repository)
        addresses = [address for address in found if address is not None]
        dates = [0] * len(addresses)
        locations = [("", "", "")] * len(addresses)
        token, size, deadline = "", 0, time.monotonic() + _PAGE_SECONDS
        previous: StagedPlace | None = None
        for in_repository, (place, entry) in self._staged_changes(stored_repository, after):
            full = size >= page_bytes or time.monotonic() > deadline
            if full and previous not in {None, place}:
                token = encode_position(run_id, *previous)
                break
            previous = place
            address = self._collected_address(stored_repository, in_repository, entry)
            if address is not None:
                addresses.append(address)
                dates.append(entry.mtime)
                size += len(address) + _ROW_BYTES
                if paths:
                    location = (place.repository or stored_repository.id, place.branch, place.path)
                    locations.append(location)
                    size += sum(map(len, location)) + _LOCATION_BYTES
        if not addresses:
            return UncommittedPage(run_id, "", token)
        columns: dict[str, Sequence[str] | Sequence[int]] = {
            "physical_address": addresses,
            "creation_date": dates,
        }
        if paths:
            columns |= zip(LOCATION_COLUMNS, zip(*locations, strict=True), strict=True)
        self._blocks.put(folder + file, [parquet_table(columns, _CREATED_BY)])
        return UncommittedPage(run_id, self._blocks.qualify(folder), token)

    def _without_location(self, collected: Repository) -> Iterator[str | None]:
        """Yields the addresses of objects that were recently restored from quarantine, of
        unfinished and recently finished uploads, including those whose repository is unknown, and
        of committed objects of deleted repositories; None for one outside of the namespace.
        """
        for full in self._core.restored.addresses():
            yield self._relative(collected, full)
        for upload in self._core.uploads.all():
            yield self._relative(collected, upload.block) if upload.partition else upload.address
        for deleted in self._core.repositories.deleted.all():
            for _, value in committed_entries(self._core, deleted.repository):
                yield self._collected_address(collected, deleted.repository, entry_from(value))

    def _staged_changes(
        self, collected: Repository, after: StagedPlace | None
    ) -> Iterator[tuple[Repository, StagedChange]]:
        """Yields the staged objects of all repositories after a place, in order; the collected
        repository comes first.
        """
        for name, repository in repositories_in_order(self._core, collected):
            for change in staged_in(self._core, name, repository, after):
                yield repository, change

    def _collected_address(
        self, collected: Repository, repository: Repository, entry: Entry
    ) -> str | None:
        """Returns an entry's address relative to the collected namespace, or None if it is outside
        of it.
        """
        if (
            entry.address_type == AddressType.RELATIVE
            and repository.partition == collected.partition
        ):
            return entry.address
        return self._relative(collected, entry.full_address(repository.storage_namespace))

    def _relative(self, collected: Repository, address: str) -> str | None:
        namespace = collected.storage_namespace
        for root in (namespace, self._blocks.qualify(namespace.rstrip("/"))):
            root_prefix = f"{root.rstrip('/')}/"
            if address.startswith(root_prefix):
                return address.removeprefix(root_prefix)
        return None


def _address(repository: Repository, name: str) -> str:
    return f"{repository.storage_namespace.rstrip('/')}/{RETENTION}/{name}"
