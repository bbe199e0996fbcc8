"""The installation of a server: references are read over REST, everything else directly from the
object store, which requires its credentials.

The server writes lists of references to the store, with the operations that prepare a collection;
the files are removed after they have been read. The server decides by its own clock which commits
have expired.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.namespaces import kept_namespace
from anabranch.errors import Conflict, Corrupt, Gone, NotFound, NotSupported
from anabranch.model.repositories.repository import Repository
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.uploads.upload import Upload
from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.installations.gc_roots import (
    ActiveCommit,
    ExpiredCommit,
    Roots,
    StagedRows,
)
from anabranch.pipelines.garbage.installations.requests import ServerRequests
from anabranch.pipelines.garbage.installations.served_sweep import ServedSweep
from anabranch.pipelines.garbage.installations.served_uncommitted import ServedUncommitted
from anabranch.pipelines.garbage.installations.table_records import ServedTableRecords
from anabranch.versioning.garbage.removal_counts import NamespaceSweeps
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS
from anabranch.versioning.identifiers import Identifiers, descending_time
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["ServedInstallation"]

_COLUMNS = "commit_id,expired,metarange_id"


class _ListedCommit(NamedTuple):
    """A commit in the server's list."""

    id: str
    expired: bool
    metarange_id: str


class ServedInstallation:
    """The installation of the server that `requests` are sent to. Their user must be allowed to
    read all repositories. `blocks` is the server's store, `tables` a local cache of its tables.
    """

    def __init__(
        self,
        requests: ServerRequests,
        blocks: BlockStore,
        tables: TableCache,
        identifiers: Identifiers,
    ) -> None:
        self._requests = requests
        self._blocks = blocks
        self._tables = tables
        self._identifiers = identifiers
        self._pool = kernel.Tables()
        self._uncommitted = ServedUncommitted(requests, blocks)

    def run_id(self) -> str:
        """Returns a new id for a run."""
        return self._identifiers.descending_xid()

    def repository(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound."""
        return _repository(self._requests.get(name), self._blocks)

    def repositories(self) -> Iterable[Repository]:
        """Yields all repositories, uncached. Those that were deleted and can be restored are not
        listed: `uncommitted_hashes` and `table_records` have what they reference.
        """
        return (_repository(item, self._blocks) for item in self._requests.items())

    def exists(self, repository: Repository) -> bool:
        """Returns whether a repository is still there."""
        try:
            return self.repository(repository.id).partition == repository.partition
        except (NotFound, Gone):
            return False

    def rules(self, repository: Repository) -> RetentionRules | None:
        """Returns a repository's retention rules, or None."""
        try:
            rules = self._requests.get(repository.id, "settings", "gc_rules")
        except NotFound as error:
            if error.kind == "repository_not_found":
                raise
            return None
        days = {rule["branch_id"]: rule["retention_days"] for rule in rules["branches"]}
        return RetentionRules(rules["default_retention_days"], days)

    def uncommitted_hashes(
        self,
        collected: Repository,
        namespace: Namespace,  # noqa: ARG002  the server knows it
    ) -> Iterator[Hashes]:
        """Yields the hashes of addresses that uploads and staged changes reference."""
        return self._uncommitted.hashes(collected)

    def roots(self, repository: Repository, now: float) -> Roots:
        """Returns a repository's roots. Raises Conflict (kind clocks_differ) if the server's clock
        is so far ahead that commits may have expired only by that clock.
        """
        commits = list(self._commits(repository, now))
        active = [commit for commit in commits if not commit.expired]
        return Roots(
            frozenset(commit.id for commit in active),
            frozenset(commit.metarange_id for commit in active),
            len(commits),
            len(active),
        )

    def staged_entries(
        self,
        collected: Repository,
        namespace: Namespace,  # noqa: ARG002  the server knows it
    ) -> Iterator[StagedRows] | None:
        """Returns the staged entries of all repositories, or None if the server does not list
        them.
        """
        return self._uncommitted.rows(collected)

    def table_records(self, collected: Repository) -> ServedTableRecords | None:
        """Returns the records of tables, or None if the server does not tell them."""
        records = ServedTableRecords(
            *(self._requests, self._blocks, collected.id),
            lambda response: _repository(response, self._blocks),
            self.repositories,
        )
        return records if records.are_told() else None

    def active_commits(self, repository: Repository, now: float) -> Iterable[ActiveCommit]:
        """Returns the active commits, those with references first. Pins are not among the
        references, because a server does not list them.
        """
        names: dict[str, list[str]] = {}
        for branch in self._requests.items(repository.id, "branches", show_hidden="true"):
            names.setdefault(branch["commit_id"], []).append(f"branch {branch['id']}")
        for tag in self._requests.items(repository.id, "tags"):
            names.setdefault(tag["commit_id"], []).append(f"tag {tag['id']}")
        # commits last, so that each commit of a branch or a tag is among them
        commits = [commit for commit in self._commits(repository, now) if not commit.expired]
        commits.sort(key=lambda commit: (commit.id not in names, commit.id))
        return [
            ActiveCommit(commit.id, commit.metarange_id, tuple(names.get(commit.id, ())))
            for commit in commits
        ]

    def expired_commits(self, repository: Repository, now: float) -> Iterable[ExpiredCommit]:
        """Yields the expired commits."""
        expired = {
            commit.id: commit.metarange_id
            for commit in self._commits(repository, now)
            if commit.expired
        }
        if not expired:
            return
        branches = [branch["id"] for branch in self._requests.items(repository.id, "branches")]
        seen: set[str] = set()
        for branch in sorted(branches, key=lambda name: (name != repository.default_branch, name)):
            for commit in self._requests.items(
                repository.id, "refs", branch, "commits", first_parent="true"
            ):
                if commit["id"] in seen:
                    break
                seen.add(commit["id"])
                if commit["id"] in expired:
                    yield ExpiredCommit(branch, expired.pop(commit["id"]))
        for tree in expired.values():
            yield ExpiredCommit("", tree)

    def old_uploads(
        self,
        repository: Repository,  # noqa: ARG002
        before: float,  # noqa: ARG002
    ) -> Sequence[Upload]:
        """Returns an empty sequence: a server does not list uploads."""
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

    def sweeps_of(self, repository: Repository) -> NamespaceSweeps:
        """Returns the sweeps of a repository."""
        sweeps = self._requests.get(repository.id, "gc", "sweeps")
        return NamespaceSweeps(sweeps["repository_begun"], sweeps["repository_running"])

    def sweep(self, repository: Repository, sweep: str) -> ServedSweep:
        """Returns what is done to the records of a sweep of a repository."""
        return ServedSweep(self._requests, repository.id, sweep)

    def ranges(self, repository: Repository, metarange_id: str) -> list[kernel.RangeInfo]:
        """Returns the ranges of a tree. Raises Gone, Corrupt."""
        with translate_errors():
            tree = self._pool.tree(metarange_id, lambda table_id: self.locate(repository, table_id))
            return tree.ranges()

    def locate(self, repository: Repository, table_id: str) -> str:
        """Returns the path of a table's local file. Raises Gone, Corrupt."""
        return self._tables.locate(repository.storage_namespace, table_id)

    def _commits(self, repository: Repository, now: float) -> Iterator[_ListedCommit]:
        prepared = self._prepare(repository.id, "gc", "prepare_commits", query={"every": "true"})
        ahead = descending_time(prepared["run_id"], now) - now
        if ahead > CLOCK_SKEW_SECONDS:
            raise Conflict(
                f"the server's clock is {ahead:.0f} seconds ahead of this machine's or the store's",
                kind="clocks_differ",
                hint="Set the clocks; nothing was removed.",
            )
        address = self._blocks.unqualify(prepared["gc_commits_location"])
        header, *rows = self._blocks.read(address).decode().splitlines()
        self._blocks.delete([address])
        if header != _COLUMNS:
            message = f"{address}: begins with {header!r}, not with {_COLUMNS!r}"
            raise Corrupt(message, path=address)
        for row in rows:
            name, expired, metarange_id = row.split(",")
            yield _ListedCommit(name, expired == "true", metarange_id)

    def _prepare(self, *segments: str, **parameters: Mapping[str, Any]) -> Any:
        return json.loads(self._requests.change("POST", *segments, **parameters))


def _repository(response: Mapping[str, Any], blocks: BlockStore) -> Repository:
    """Returns the repository of a response. Its creation date serves as instance id, which
    distinguishes it from earlier and later repositories of the same name.
    """
    return Repository(
        id=response["id"],
        storage_namespace=kept_namespace(response["storage_namespace"], blocks),
        default_branch=response["default_branch"],
        creation_date=response["creation_date"],
        instance_uid=str(response["creation_date"]),
        read_only=response.get("read_only", False),
    )
