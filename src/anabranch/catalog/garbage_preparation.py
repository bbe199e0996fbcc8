"""Prepares garbage collections by others: writes down what lives, for lakeFS's own Spark client.

Under `_lakefs/retention/gc/` of a storage namespace it finds `commits/run_id=RUN/commits.csv`, the
active commits with their trees, and `uncommitted/RUN/uncommitted/XID`, Parquet files of the
addresses of objects that uploads in parts and staged changes name. Our own collections read the
same where they have no key-value store, only a server (`pipelines.garbage.served_installation`).
"""

from __future__ import annotations

import base64
import binascii
import heapq
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images import Images
from anabranch.errors import Invalid, NotFound
from anabranch.model.entry import AddressType, Entry, physical_address
from anabranch.model.names import key_of, path_of
from anabranch.model.preparation import Preparation
from anabranch.model.repository import Repository
from anabranch.records.parquet import parquet_table
from anabranch.versioning.core import Core
from anabranch.versioning.entries import entry_from
from anabranch.versioning.retention import active_commits, lines_of
from anabranch.versioning.stored_rules import RETENTION

__all__ = ["GarbagePreparation", "UncommittedPage"]

_PAGE_BYTES = 20 << 20
_PAGE_SECONDS = 60.0
_ROW_BYTES = 12
"""What a row takes beside its address: the address' length and the date."""
_CREATED_BY = "anabranch"


class UncommittedPage(NamedTuple):
    """What was written: `location` is the folder of the run's files, empty where there was nothing
    to write; the token continues, empty at the end.
    """

    run_id: str
    location: str
    continuation_token: str


class _Position(msgspec.Struct, frozen=True):
    """Where a page ended: behind a path of a branch of a repository, the prepared one if that is
    empty. `key` is the file that it went to.
    """

    branch: str
    path: str
    run_id: str
    key: str
    repository: str = ""


class _Staged(NamedTuple):
    """A staged object, and where it is."""

    repository: str
    branch: str
    path: str
    address: str | None
    mtime: int

    def is_at(self, other: _Staged) -> bool:
        """Returns whether both are at one path."""
        return self[:3] == other[:3]


class GarbagePreparation:
    """The use cases of preparing. `clock` gives seconds since 1970."""

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

    def commits(self, repository: str, *, every: bool = False) -> Preparation:
        """Writes down the active commits, those that images hold among them; `every` other commit,
        too, as one that has expired, and all are active without rules. Raises NotFound without
        rules otherwise, Gone for a commit that is missing.
        """
        found = self._core.repositories.get(repository)
        rules = self._core.rules.find(found)
        if rules is None and not every:
            raise NotFound("get gc rules: not found", kind="gc_rules_not_found")
        pinned = self._core.pins.commits(found)  # first: they become what branches and tags name
        branches = list(self._core.branches.all(found))
        tagged = [tag.commit_id for tag in self._core.tags.all(found)]
        # commits last: every commit that a branch or a tag named is among them
        lines = lines_of(self._core.commits, found)
        active = active_commits(lines, branches, tagged, rules, self._clock())
        active |= lines.keys() & (pinned | self._images.pinned_commits(found).keys())
        rows = [
            f"{name},{'false' if name in active else 'true'},{lines[name].metarange_id}\n"
            for name in sorted(lines if every else active)
        ]
        run_id = self._core.identifiers.descending_xid()
        address = _address(found, f"commits/run_id={run_id}/commits.csv")
        self._blocks.put(address, [b"commit_id,expired,metarange_id\n", "".join(rows).encode()])
        return Preparation(
            run_id=run_id,
            commits=self._blocks.qualify(address),
            addresses=self._blocks.qualify(_address(found, "addresses/")),
        )

    def uncommitted(self, repository: str, continuation_token: str = "") -> UncommittedPage:
        """Writes down the addresses in a repository's namespace of objects that uploads in parts
        and staged changes name, those of any repository, a page at a time. Raises Invalid for a
        token that is none of ours.
        """
        found = self._core.repositories.get(repository)
        position = _position_from(continuation_token) if continuation_token else None
        run_id = position.run_id if position else self._core.identifiers.descending_xid()
        folder = _address(found, f"uncommitted/{run_id}/uncommitted/")
        file = self._core.identifiers.xid()
        # what an upload becomes is staged when the upload is gone: uploads come first
        addresses = [] if position else list(self._uploading(found))
        dates = [0] * len(addresses)
        token, size, until = "", 0, time.monotonic() + _PAGE_SECONDS
        last: _Staged | None = None
        for staged in self._staged(found, position):
            full = size >= _PAGE_BYTES or time.monotonic() > until
            if full and last is not None and not staged.is_at(last):
                token = _token(_Position(last.branch, last.path, run_id, file, last.repository))
                break
            last = staged
            if staged.address is not None:
                addresses.append(staged.address)
                dates.append(staged.mtime)
                size += len(staged.address) + _ROW_BYTES
        if not addresses:
            return UncommittedPage(run_id, "", token)
        table = parquet_table({"physical_address": addresses, "creation_date": dates}, _CREATED_BY)
        self._blocks.put(folder + file, [table])
        return UncommittedPage(run_id, self._blocks.qualify(folder), token)

    def _uploading(self, collected: Repository) -> Iterator[str]:
        """Yields the addresses of uploads that are under way or were a while ago, also of those of
        which it is not known to what repository they belong.
        """
        for upload in self._core.uploads.all():
            address = (
                self._relative(collected, upload.block) if upload.partition else upload.address
            )
            if address is not None:
                yield address

    def _staged(self, collected: Repository, after: _Position | None) -> Iterator[_Staged]:
        """Yields the staged objects of all repositories behind a position, in order: those of the
        collected one first.
        """
        others = (found for found in self._core.repositories.all() if found.id != collected.id)
        if after is None or not after.repository:
            yield from self._staged_in(collected, collected, "", after)
            after = None
        for repository in others:
            if after is None or repository.id >= after.repository:
                same = after is not None and repository.id == after.repository
                yield from self._staged_in(
                    collected, repository, repository.id, after if same else None
                )

    def _staged_in(
        self, collected: Repository, repository: Repository, name: str, after: _Position | None
    ) -> Iterator[_Staged]:
        for branch in self._core.branches.all(repository):
            start = b""
            if after is not None:
                if branch.id < after.branch:
                    continue
                start = key_of(after.path) + b"\x00" if branch.id == after.branch else b""
            # each area for itself: what a newer one hides will still be committed if it is sealed
            areas = [self._core.staging.changes([token], start) for token in branch.tokens]
            for key, value in heapq.merge(*areas, key=lambda change: change[0]):
                if value is not None:
                    entry = entry_from(value)
                    address = self._address_in(collected, repository, entry)
                    yield _Staged(name, branch.id, path_of(key), address, entry.mtime)

    def _address_in(
        self, collected: Repository, repository: Repository, entry: Entry
    ) -> str | None:
        """Returns an entry's address in the collected namespace, None for one elsewhere."""
        if entry.address_type == AddressType.RELATIVE and repository.id == collected.id:
            return entry.address
        full = physical_address(repository.storage_namespace, entry.address, entry.address_type)
        return self._relative(collected, full)

    def _relative(self, collected: Repository, address: str) -> str | None:
        namespace = collected.storage_namespace
        for root in (namespace, self._blocks.qualify(namespace.rstrip("/"))):
            stem = f"{root.rstrip('/')}/"
            if address.startswith(stem):
                return address.removeprefix(stem)
        return None


def _address(repository: Repository, name: str) -> str:
    return f"{repository.storage_namespace.rstrip('/')}/{RETENTION}/{name}"


def _token(position: _Position) -> str:
    raw = msgspec.json.encode(
        {name: key_of(text).hex() for name, text in msgspec.structs.asdict(position).items()}
    )
    return base64.b64encode(raw).decode()


def _position_from(token: str) -> _Position:
    try:
        fields = msgspec.json.decode(base64.b64decode(token, validate=True), type=dict[str, str])
        texts = {name: path_of(bytes.fromhex(text)) for name, text in fields.items()}
        return msgspec.convert(texts, _Position)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise Invalid("invalid continuation token", kind="invalid_continuation_token") from error
