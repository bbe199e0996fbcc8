"""The installation behind a server: references are asked for over REST, everything else is read
from the stores, of which the credentials are needed.

The server writes down what refers to objects, with the operations that prepare a collection, and
the files are removed when they have been read. It decides what has expired, by its own clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.namespaces import kept_namespace
from anabranch.blocks.table_cache import TableCache
from anabranch.errors import Conflict, Corrupt, NotFound, NotSupported
from anabranch.model.repository import Repository
from anabranch.model.retention import RetentionRules
from anabranch.model.upload import Upload
from anabranch.pipelines.garbage.address_hashes import Hashes, hashes_of
from anabranch.pipelines.garbage.namespace import Namespace
from anabranch.pipelines.garbage.roots import Active, Past, Roots
from anabranch.versioning.identifiers import Identifiers, descending_time
from anabranch.versioning.trees import translated

__all__ = ["Asking", "ServedInstallation"]

_AHEAD_SECONDS = 3600
"""By so much the server's clock may be ahead of ours and the store's."""

_TOMBSTONES = 1000
"""So many a server takes at a time."""

_COLUMNS = "commit_id,expired,metarange_id"


class Asking(Protocol):
    """Requests about repositories, by the segments of their path behind `/repositories`. All raise
    NotFound and the other errors that statuses mean.
    """

    def get(self, *segments: str) -> Any:
        """Returns what an answer in JSON holds."""

    def items(self, *segments: str, **query: str) -> Iterator[Any]:
        """Yields the items of a listing, all pages."""

    def change(
        self,
        method: str,
        *segments: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """Makes a request that changes something; returns what is answered."""


class _Commit(NamedTuple):
    """A commit that the server has written down."""

    id: str
    expired: bool
    metarange_id: str


class ServedInstallation:
    """What the server tells that `asking` speaks to; whoever asks must be allowed to see all of its
    repositories. `blocks` is the server's store, of which `tables` brings files to this machine.
    """

    def __init__(
        self, asking: Asking, blocks: BlockStore, tables: TableCache, identifiers: Identifiers
    ) -> None:
        self._asking = asking
        self._blocks = blocks
        self._tables = tables
        self._identifiers = identifiers
        self._pool = kernel.Tables()

    def run_id(self) -> str:
        """Returns a new name for a run."""
        return self._identifiers.descending_xid()

    def repository(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound."""
        return _repository(self._asking.get(name), self._blocks)

    def repositories(self) -> Iterable[Repository]:
        """Yields all repositories."""
        return (_repository(item, self._blocks) for item in self._asking.items())

    def rules(self, repository: Repository) -> RetentionRules | None:
        """Returns a repository's rules, None without."""
        try:
            told = self._asking.get(repository.id, "settings", "gc_rules")
        except NotFound as error:
            if error.kind == "repository_not_found":
                raise
            return None
        days = {rule["branch_id"]: rule["retention_days"] for rule in told["branches"]}
        return RetentionRules(told["default_retention_days"], days)

    def uncommitted(
        self,
        collected: Repository,
        namespace: Namespace,  # noqa: ARG002  the server knows it
    ) -> Iterator[Hashes]:
        """Yields what uploads and staged changes name."""
        token = ""
        files: set[str] = set()
        while True:
            page = self._prepare(
                *(collected.id, "gc", "prepare_uncommited"), body={"continuation_token": token}
            )
            if page["gc_uncommitted_location"]:
                folder = self._blocks.unqualify(page["gc_uncommitted_location"].rstrip("/"))
                files.update(found.address for found in self._blocks.list(f"{folder}/"))
            token = page.get("continuation_token", "")
            if not token:
                break
        for file in sorted(files):
            yield hashes_of(self._addresses(file))
        self._blocks.delete(files)

    def roots(self, repository: Repository, now: float) -> Roots:
        """Returns what references reach. Raises Conflict where the server's clock is ahead by so
        much that it lets commits go which are not past.
        """
        commits = list(self._commits(repository, now))
        active = [commit for commit in commits if not commit.expired]
        return Roots(
            frozenset(commit.id for commit in active),
            frozenset(commit.metarange_id for commit in active),
            len(commits),
            len(active),
        )

    def staged(self, repository: Repository) -> None:
        """Returns None: a server does not tell which paths staged addresses are at."""

    def active(self, repository: Repository, now: float) -> Iterable[Active]:
        """Returns the active commits; a server does not tell what names them."""
        commits = self._commits(repository, now)
        return [Active(each.id, each.metarange_id) for each in commits if not each.expired]

    def past(self, repository: Repository, now: float) -> Iterable[Past]:
        """Yields the commits that are active no more."""
        expired = {
            commit.id: commit.metarange_id
            for commit in self._commits(repository, now)
            if commit.expired
        }
        if not expired:
            return
        branches = [found["id"] for found in self._asking.items(repository.id, "branches")]
        seen: set[str] = set()
        for branch in sorted(branches, key=lambda name: (name != repository.default_branch, name)):
            for told in self._asking.items(
                repository.id, "refs", branch, "commits", first_parent="true"
            ):
                if told["id"] in seen:
                    break
                seen.add(told["id"])
                if told["id"] in expired:
                    yield Past(branch, expired.pop(told["id"]))
        for tree in expired.values():
            yield Past("", tree)

    def old_uploads(
        self,
        repository: Repository,  # noqa: ARG002
        before: float,  # noqa: ARG002
    ) -> Sequence[Upload]:
        """Returns none: a server does not tell of them."""
        return ()

    def end_upload(
        self,
        repository: Repository,
        upload: Upload,
    ) -> bool:
        """Raises NotSupported."""
        raise NotSupported(
            f"{repository.id}: the upload {upload.id} cannot be ended through a server",
            hint="Collect with the server's settings.",
        )

    def begin_sweep(self, repository: Repository, sweep: str) -> None:
        """Enters a sweep."""
        self._asking.change("PUT", repository.id, "gc", "sweeps", sweep)

    def renew_sweep(self, repository: Repository, sweep: str) -> None:
        """Renews a sweep's lease. Raises Conflict if it has lost it."""
        query = {"renew": "true"}
        self._asking.change("PUT", repository.id, "gc", "sweeps", sweep, query=query)

    def condemn(self, repository: Repository, sweep: str, addresses: Sequence[str]) -> None:
        """Writes tombstones of full addresses."""
        for start in range(0, len(addresses), _TOMBSTONES):
            body = {"addresses": addresses[start : start + _TOMBSTONES]}
            place = (repository.id, "gc", "sweeps", sweep, "tombstones")
            self._asking.change("POST", *place, body=body)

    def spare(self, repository: Repository, sweep: str) -> None:
        """Removes all tombstones of a sweep."""
        self._asking.change("DELETE", repository.id, "gc", "sweeps", sweep, "tombstones")

    def end_sweep(self, repository: Repository, sweep: str) -> None:
        """Removes a sweep and its tombstones."""
        self._asking.change("DELETE", repository.id, "gc", "sweeps", sweep)

    def ranges(self, repository: Repository, metarange_id: str) -> list[kernel.RangeInfo]:
        """Returns the ranges of a tree. Raises Gone, Corrupt."""
        with translated():
            tree = self._pool.tree(metarange_id, lambda table_id: self.locate(repository, table_id))
            return tree.ranges()

    def locate(self, repository: Repository, table_id: str) -> str:
        """Returns the path of a table's file. Raises Gone, Corrupt."""
        return self._tables.locate(repository.storage_namespace, table_id)

    def _commits(self, repository: Repository, now: float) -> Iterator[_Commit]:
        prepared = self._prepare(repository.id, "gc", "prepare_commits", query={"every": "true"})
        ahead = descending_time(prepared["run_id"], now) - now
        if ahead > _AHEAD_SECONDS:
            raise Conflict(
                f"the server's clock is {ahead:.0f} seconds ahead of this machine's or the store's",
                kind="clocks_differ",
                hint="Set the clocks; nothing was removed.",
            )
        place = self._blocks.unqualify(prepared["gc_commits_location"])
        first, *rows = self._blocks.read(place).decode().splitlines()
        self._blocks.delete([place])
        if first != _COLUMNS:
            raise Corrupt(f"{place}: begins with {first!r}, not with {_COLUMNS!r}", path=place)
        for row in rows:
            name, expired, metarange_id = row.split(",")
            yield _Commit(name, expired == "true", metarange_id)

    def _prepare(self, *segments: str, **sent: Mapping[str, Any]) -> Any:
        return json.loads(self._asking.change("POST", *segments, **sent))

    def _addresses(self, file: str) -> pa.StringArray:
        raw = pa.py_buffer(self._blocks.read(file))
        try:
            column = pq.read_table(pa.BufferReader(raw), columns=["physical_address"]).column(0)
        except (pa.ArrowException, OSError) as error:
            raise Corrupt(f"{file}: cannot be read: {error}", path=file) from error
        return column.cast(pa.string()).combine_chunks()


def _repository(told: Mapping[str, Any], blocks: BlockStore) -> Repository:
    """Returns a repository of the wire; the time it was made tells it from others of its name."""
    return Repository(
        id=told["id"],
        storage_namespace=kept_namespace(told["storage_namespace"], blocks),
        default_branch=told["default_branch"],
        creation_date=told["creation_date"],
        instance_uid=str(told["creation_date"]),
        read_only=told.get("read_only", False),
    )
