"""The commit store: reads commits, finds them by a prefix of their id, adds new ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from anabranch import _kernel as kernel
from anabranch.brevity import BriefBytes
from anabranch.errors import Conflict, NotFound
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.proposal_records import read_proposal, read_proposals

__all__ = ["ID_LENGTH", "Commits"]

ID_LENGTH = 64
_CACHE_SIZE = 50_000
_HEX = frozenset("0123456789abcdef")
_NONE: Mapping[tuple[str, str], Commit] = {}


class Commits:
    """The commits of all repositories. They never change, so those that were read are cached."""

    def __init__(self, keyvalue: KeyValueStore, clock: Callable[[], float]) -> None:
        self._keyvalue = keyvalue
        self._clock = clock
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[str, str], Commit] = OrderedDict()
        self._assumed: ContextVar[Mapping[tuple[str, str], Commit]] = ContextVar(
            "assumed", default=_NONE
        )

    def get(self, repository: Repository, commit_id: str) -> Commit:
        """Returns a commit by its full id. Raises NotFound."""
        commit = self.find(repository, commit_id)
        if commit is None:
            raise NotFound("commit not found", kind="commit_not_found")
        return commit

    def find(self, repository: Repository, commit_id: str) -> Commit | None:
        """Returns a commit by its full id, also one that is examined before it is made; or None."""
        if len(commit_id) != ID_LENGTH:
            return None
        cached = self._cache.get((repository.partition, commit_id))
        if cached is not None:
            return cached
        assumed = self._assumed.get().get((repository.partition, commit_id))
        if assumed is not None:
            return assumed
        raw = self._keyvalue.get(repository.partition, keys.commit(commit_id))
        if raw is None:
            return read_proposal(self._keyvalue, repository, commit_id)  # not cached: it may go
        commit = references.commit_from(raw)
        self.remember(repository, commit)
        return commit

    def is_cached(self, repository: Repository, commit_id: str) -> bool:
        """Returns whether a stored commit is in the cache, under its full id."""
        return (repository.partition, commit_id) in self._cache

    @contextmanager
    def assuming(self, repository: Repository, commits: Iterable[Commit]) -> Iterator[None]:
        """Within the context, this thread finds commits also if they are still being written."""
        assumed = {(repository.partition, commit.id): commit for commit in commits}
        token = self._assumed.set(assumed)
        try:
            yield
        finally:
            self._assumed.reset(token)

    def require_no_id(self, repository: Repository, name: str) -> None:
        """Raises Conflict for a new reference's name if it is a commit's full id."""
        if self.find(repository, name) is not None:
            raise Conflict(f"commit ID {name}: conflict found", kind="name_is_a_commit")

    def remember(self, repository: Repository, commit: Commit) -> None:
        """Puts a stored commit into the cache."""
        with self._lock:
            self._cache[repository.partition, commit.id] = commit
            while len(self._cache) > _CACHE_SIZE:
                self._cache.popitem(last=False)

    def reader(self, repository: Repository) -> Callable[[str], Commit]:
        """Returns a function that reads a repository's commits, for walks over its history."""
        return self._cached_or(repository, partial(self.get, repository))

    def brief_reader(self, repository: Repository) -> Callable[[str], Commit]:
        """Returns the same, for walks that may have to be brief: then it raises TakesLong once it
        has read more than BRIEF_BYTES that were not in memory.
        """
        bound = BriefBytes()

        def read(commit_id: str) -> Commit:
            commit = self.get(repository, commit_id)
            bound.add(_text_length(commit))
            return commit

        return self._cached_or(repository, read)

    def _cached_or(
        self, repository: Repository, read: Callable[[str], Commit]
    ) -> Callable[[str], Commit]:
        partition, cache = repository.partition, self._cache

        def find(commit_id: str) -> Commit:
            cached = cache.get((partition, commit_id))
            return read(commit_id) if cached is None else cached

        return find

    def with_prefix(self, repository: Repository, prefix: str) -> Commit | None:
        """Returns the only commit whose id has this prefix; None if there is none or several."""
        if not prefix or len(prefix) > ID_LENGTH or not _HEX.issuperset(prefix):
            return None
        start = keys.commit(prefix)
        rows = list(self._keyvalue.scan(repository.partition, start, upper_bound(start), limit=2))
        return references.commit_from(rows[0][1]) if len(rows) == 1 else None

    def all(self, repository: Repository) -> Iterator[Commit]:
        """Yields all commits of a repository, by id; does not cache them."""
        for _, raw in self.records(repository):
            yield references.commit_from(raw)

    def records(self, repository: Repository) -> Iterator[tuple[str, bytes]]:
        """Yields the ids and records of all commits of a repository, in order of the ids."""
        start, end = keys.all_commits()
        for key, raw in self._keyvalue.scan(repository.partition, start, end):
            yield key[len(start) :].decode("utf-8", "surrogateescape"), raw

    def proposals(self, repository: Repository) -> Iterator[Commit]:
        """Yields the commits of a repository that are examined before they are made."""
        return read_proposals(self._keyvalue, repository)

    def is_made(self, repository: Repository, commit_id: str) -> bool:
        """Returns whether a commit exists that is not only a proposal."""
        if self.is_cached(repository, commit_id):
            return True
        return self._keyvalue.get(repository.partition, keys.commit(commit_id)) is not None

    def make(
        self,
        *,
        committer: str,
        message: str,
        metarange_id: str,
        metadata: Mapping[str, str],
        parents: Sequence[Commit],
        date: int | None = None,
    ) -> Commit:
        """Returns a new commit, which is not stored yet. `date` is in seconds since 1970, None for
        the current time.
        """
        now = self._clock() if date is None else date
        seconds = int(now)
        parent_ids = tuple(parent.id for parent in parents)
        return Commit(
            id=kernel.commit_id(
                committer, message, metarange_id, seconds, metadata, list(parent_ids)
            ),
            committer=committer,
            message=message,
            creation_date=seconds,
            nanos=int((now - seconds) * 1e9),
            metarange_id=metarange_id,
            metadata=dict(metadata),
            parents=parent_ids,
            generation=1 + max((parent.generation for parent in parents), default=0),
        )

    def make_from(
        self, fields: CommitFields, metarange_id: str, parents: Sequence[Commit]
    ) -> Commit:
        """Returns a new commit with the given fields, which is not stored yet."""
        return self.make(
            committer=fields.committer,
            message=fields.message,
            metarange_id=metarange_id,
            metadata=fields.metadata,
            parents=parents,
            date=fields.date,
        )

    def write(self, repository: Repository, commit: Commit) -> Write:
        """Returns the write that adds a commit."""
        return Write(repository.partition, keys.commit(commit.id), references.commit_bytes(commit))


def _text_length(commit: Commit) -> int:
    """Returns about how long the record of a commit is: the texts that clients choose."""
    metadata = sum(len(key) + len(value) for key, value in commit.metadata.items())
    return len(commit.message) + len(commit.committer) + metadata
