"""Commits in the key-value store: read, found by the beginning of their id, added."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence

from anabranch import _kernel as kernel
from anabranch.errors import NotFound
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.commit import Commit
from anabranch.model.page import upper_bound
from anabranch.model.repository import Repository
from anabranch.versioning import encoding, keys

__all__ = ["ID_LENGTH", "Commits"]

ID_LENGTH = 64
_CACHED = 50_000
_HEX = frozenset("0123456789abcdef")


class Commits:
    """The commits of all repositories. They never change, so what was read once is kept."""

    def __init__(self, keyvalue: KeyValueStore, clock: Callable[[], float]) -> None:
        self._keyvalue = keyvalue
        self._clock = clock
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[str, str], Commit] = OrderedDict()

    def get(self, repository: Repository, commit_id: str) -> Commit:
        """Returns a commit by its full id. Raises NotFound."""
        found = self.find(repository, commit_id)
        if found is None:
            raise NotFound("commit not found", kind="commit_not_found")
        return found

    def find(self, repository: Repository, commit_id: str) -> Commit | None:
        """Returns a commit by its full id, or None."""
        if len(commit_id) != ID_LENGTH:
            return None
        name = (repository.partition, commit_id)
        cached = self._cache.get(name)
        if cached is not None:
            return cached
        raw = self._keyvalue.get(repository.partition, keys.commit(commit_id))
        if raw is None:
            return None
        commit = encoding.commit_from(raw)
        self.remember(repository, commit)
        return commit

    def remember(self, repository: Repository, commit: Commit) -> None:
        """Keeps a commit that is stored, so that it need not be read."""
        with self._lock:
            self._cache[repository.partition, commit.id] = commit
            while len(self._cache) > _CACHED:
                self._cache.popitem(last=False)

    def reader(self, repository: Repository) -> Callable[[str], Commit]:
        """Returns the function by which walks over a repository's history read commits."""
        return lambda commit_id: self.get(repository, commit_id)

    def with_prefix(self, repository: Repository, prefix: str) -> Commit | None:
        """Returns the one commit whose id begins so; None when there is none or several."""
        if not prefix or len(prefix) > ID_LENGTH or not _HEX.issuperset(prefix):
            return None
        start = keys.commit(prefix)
        found = list(self._keyvalue.scan(repository.partition, start, upper_bound(start), limit=2))
        return encoding.commit_from(found[0][1]) if len(found) == 1 else None

    def all(self, repository: Repository) -> Iterator[Commit]:
        """Yields all commits of a repository, by id; none of them is remembered."""
        for _, raw in self._keyvalue.scan(repository.partition, *keys.all_commits()):
            yield encoding.commit_from(raw)

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
        """Returns a new commit, not stored yet; `date` in seconds, the clock's time if None."""
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

    def write(self, repository: Repository, commit: Commit) -> Write:
        """Returns the write that adds a commit."""
        return Write(repository.partition, keys.commit(commit.id), encoding.commit_bytes(commit))
