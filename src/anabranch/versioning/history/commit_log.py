"""The log of a long history, by pages: a page continues where the one before ended.

The plain walk reads all commits up to there again, one by one. Where they are many, the history
index walks instead, in memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from anabranch import _kernel as kernel
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.history.log import Limits, log, log_in_graph

__all__ = ["CommitLog"]

_MAX_REPEATED = 1_000


class CommitLog:
    """Logs of repositories. `max_repeated` is how many commits of earlier pages are read again
    before a repository's index is loaded.
    """

    def __init__(
        self, commits: Commits, index: HistoryIndex, *, max_repeated: int = _MAX_REPEATED
    ) -> None:
        self._commits = commits
        self._index = index
        self._max_repeated = max_repeated

    def log(self, repository: Repository, start: Commit, limits: Limits) -> Iterator[Commit]:
        """Yields what `history.log.log` yields for these limits. Raises what that raises, and
        TakesLong where the call must be brief and the records to read are long.
        """
        read, after = self._commits.brief_reader(repository), limits["after"]
        if after is None:
            return log(read, start, **limits)
        if not self._index.is_loaded(repository):
            all_pages: Limits = {**limits, "after": None}
            commits = log(read, start, **all_pages)
            repeated = itertools.islice(commits, self._max_repeated)
            if any(commit.id == after for commit in repeated):
                return commits
        return self._of_index(repository, start, limits)

    def _of_index(self, repository: Repository, start: Commit, limits: Limits) -> Iterator[Commit]:
        read = self._commits.reader(repository)
        graph = self._index.graph(repository, start.id)
        if graph is not None:
            try:
                for commit_id in log_in_graph(graph, start, limits):
                    yield read(commit_id)
                    limits = {**limits, "after": commit_id}
            except kernel.KernelError:
                pass  # a parent is missing: the plain walk says which
            else:
                return
        yield from log(read, start, **limits)
