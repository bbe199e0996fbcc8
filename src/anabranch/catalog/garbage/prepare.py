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

import base64
import binascii
import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.garbage.deleted_references import committed_entries
from anabranch.catalog.images.images import Images
from anabranch.converter import Converter
from anabranch.errors import Invalid, NotFound
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import AddressType, Entry
from anabranch.model.repositories.preparation import Preparation
from anabranch.model.repositories.repository import Repository
from anabranch.records.parquet import parquet_table
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.stored_rules import RETENTION
from anabranch.versioning.records.entries import entry_from

__all__ = ["LOCATION_COLUMNS", "GarbagePreparation", "UncommittedPage"]

_TOKEN_DECODER = msgspec.json.Decoder(dict[str, str])

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


class _Position(msgspec.Struct, frozen=True):
    """The end of a page: after `path` of a branch of a repository. An empty `repository` is the one
    that the lists are prepared for. `key` is the name of the page's file.
    """

    branch: str
    path: str
    run_id: str
    key: str
    repository: str = ""


_CONVERTER = Converter(_Position)


class _Staged(NamedTuple):
    """A staged object with its location."""

    repository: str
    branch: str
    path: str
    address: str | None
    mtime: int

    def is_at(self, other: _Staged) -> bool:
        """Returns whether both have the same location."""
        return self[:3] == other[:3]


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
        position = _position_from(continuation_token) if continuation_token else None
        run_id = position.run_id if position else self._core.identifiers.descending_xid()
        folder = _address(stored_repository, f"uncommitted/{run_id}/uncommitted/")
        file = self._core.identifiers.xid()
        # a completed upload is removed when its object is staged, so uploads are read first
        found = () if position else self._without_location(stored_repository)
        addresses = [address for address in found if address is not None]
        dates = [0] * len(addresses)
        locations = [("", "", "")] * len(addresses)
        token, size, deadline = "", 0, time.monotonic() + _PAGE_SECONDS
        previous: _Staged | None = None
        for staged in self._staged_changes(stored_repository, position):
            full = size >= page_bytes or time.monotonic() > deadline
            if full and previous is not None and not staged.is_at(previous):
                token = _token(
                    _Position(previous.branch, previous.path, run_id, file, previous.repository)
                )
                break
            previous = staged
            if staged.address is not None:
                addresses.append(staged.address)
                dates.append(staged.mtime)
                size += len(staged.address) + _ROW_BYTES
                if paths:
                    location = (
                        staged.repository or stored_repository.id,
                        staged.branch,
                        staged.path,
                    )
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
            for value in committed_entries(self._core, deleted.repository):
                yield self._collected_address(collected, deleted.repository, entry_from(value))

    def _staged_changes(self, collected: Repository, after: _Position | None) -> Iterator[_Staged]:
        """Yields the staged objects of all repositories after a position, in order; the collected
        repository comes first.
        """
        others = self._others(collected)
        if after is None or not after.repository:
            yield from self._staged_in(collected, collected, "", after)
            after = None
        for name, repository in others:
            if after is None or name >= after.repository:
                same = after is not None and name == after.repository
                yield from self._staged_in(collected, repository, name, after if same else None)

    def _others(self, collected: Repository) -> Iterator[tuple[str, Repository]]:
        """Yields the other repositories with names that are in order: first those that exist, since
        one that is deleted meanwhile is found then. A tilde is in no name of a repository.
        """
        for repository in self._core.repositories.all():
            if repository.id != collected.id:
                yield repository.id, repository
        for deleted in self._core.repositories.deleted.all():
            repository = deleted.repository
            yield f"~{repository.id}~{repository.instance_uid}", repository

    def _staged_in(
        self, collected: Repository, repository: Repository, name: str, after: _Position | None
    ) -> Iterator[_Staged]:
        self._core.operation_retention.compact(repository)
        for branch, tokens in self._areas(repository):
            start = b""
            if after is not None:
                if branch < after.branch:
                    continue
                start = encode_path(after.path) + b"\x00" if branch == after.branch else b""
            # areas are read separately: an entry of a sealed area is committed even if a newer
            # area replaces it
            areas = [self._core.staging.changes([token], start) for token in tokens]
            for key, value in heapq.merge(*areas, key=lambda change: change[0]):
                if value is not None:
                    entry = entry_from(value)
                    address = self._collected_address(collected, repository, entry)
                    yield _Staged(name, branch, decode_key(key), address, entry.mtime)

    def _areas(self, repository: Repository) -> Iterator[tuple[str, Sequence[str]]]:
        """Yields the names of branches, in order, with their staging areas and those that
        operations can bring back to a branch with this name.
        """
        # records before and after branches: what moves from one to the other meanwhile is in both
        found = self._kept_areas(repository)
        found |= {(branch.id, branch.tokens) for branch in self._core.branches.all(repository)}
        found |= self._kept_areas(repository)
        for branch, areas in groupby(sorted(found), key=itemgetter(0)):
            yield branch, list(dict.fromkeys(token for _, tokens in areas for token in tokens))

    def _kept_areas(self, repository: Repository) -> set[tuple[str, tuple[str, ...]]]:
        return {
            (former.id, former.tokens)
            for former in self._core.operation_retention.kept(repository).branches
            if former.staging_token
        }

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


def _token(position: _Position) -> str:
    raw = msgspec.json.encode(
        {name: encode_path(text).hex() for name, text in msgspec.structs.asdict(position).items()}
    )
    return base64.b64encode(raw).decode()


def _position_from(token: str) -> _Position:
    try:
        fields = _TOKEN_DECODER.decode(base64.b64decode(token, validate=True))
        texts = {name: decode_key(bytes.fromhex(text)) for name, text in fields.items()}
        return _CONVERTER.convert(texts)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise Invalid("invalid continuation token", kind="invalid_continuation_token") from error
