"""The installation behind a server: references are asked for over REST, everything else is read
from the stores, of which the credentials are needed.

The server writes down what refers to objects, with the operations that prepare a collection, and
the files are removed when they have been read. It decides what has expired, by its own clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.namespaces import kept_namespace
from anabranch.errors import Conflict, Corrupt, NotFound, NotSupported
from anabranch.model.repository import Repository
from anabranch.model.retention import RetentionRules
from anabranch.model.uploads.upload import Upload
from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.installations.gc_roots import Active, ExpiredCommits, Roots
from anabranch.pipelines.garbage.installations.installation import StagedRows
from anabranch.pipelines.garbage.installations.requests import Asking
from anabranch.pipelines.garbage.installations.served_uncommitted import ServedUncommitted
from anabranch.versioning.identifiers import Identifiers, descending_time
from anabranch.versioning.trees import translate_errors

__all__ = ["ServedInstallation"]

_AHEAD_SECONDS = 3600
"""By so much the server's clock may be ahead of ours and the store's."""

_TOMBSTONES = 1000
"""So many a server takes at a time."""

_COLUMNS = "commit_id,expired,metarange_id"


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
        self._uncommitted = ServedUncommitted(asking, blocks)

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
        """Returns what uploads and staged changes name."""
        return self._uncommitted.hashes(collected)

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

    def staged(
        self,
        collected: Repository,
        namespace: Namespace,  # noqa: ARG002  the server knows it
    ) -> Iterator[StagedRows] | None:
        """Returns the staged entries of all repositories; None where the server does not tell."""
        return self._uncommitted.rows(collected)

    def active(self, repository: Repository, now: float) -> Iterable[Active]:
        """Returns the active commits, those that something names first; a server does not tell of
        pins.
        """
        names: dict[str, list[str]] = {}
        for branch in self._asking.items(repository.id, "branches", show_hidden="true"):
            names.setdefault(branch["commit_id"], []).append(f"branch {branch['id']}")
        for tag in self._asking.items(repository.id, "tags"):
            names.setdefault(tag["commit_id"], []).append(f"tag {tag['id']}")
        # commits last: every commit that a branch or a tag named is among them
        commits = [each for each in self._commits(repository, now) if not each.expired]
        commits.sort(key=lambda each: (each.id not in names, each.id))
        return [
            Active(each.id, each.metarange_id, tuple(names.get(each.id, ()))) for each in commits
        ]

    def past(self, repository: Repository, now: float) -> Iterable[ExpiredCommits]:
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
                    yield ExpiredCommits(branch, expired.pop(told["id"]))
        for tree in expired.values():
            yield ExpiredCommits("", tree)

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
        with translate_errors():
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
