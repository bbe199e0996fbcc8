"""The log of paths: those commits of a log that changed certain objects or prefixes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from anabranch import _kernel as kernel
from anabranch.model.commits.commit import Commit
from anabranch.model.names import encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.history.log import Changed, Limits, filter_changed, log, log_in_graph

__all__ = ["PathLog"]

_MAX_COMPARED = 100
"""How many commits are compared by their trees before a repository's index is loaded."""


class PathLog:
    """Logs of paths, found by the history index. `max_compared` is how many commits are compared by
    their trees before a repository's index is loaded.
    """

    def __init__(
        self, commits: Commits, index: HistoryIndex, *, max_compared: int = _MAX_COMPARED
    ) -> None:
        self._commits = commits
        self._index = index
        self._max_compared = max_compared

    def log(
        self,
        repository: Repository,
        start: Commit,
        changed: Changed,
        objects: Sequence[str],
        prefixes: Sequence[str],
        limits: Limits,
    ) -> Iterator[Commit]:
        """Yields those commits with one parent of the log from `start` on that changed one of these
        objects, or an object under one of these prefixes; `changed` compares a commit with its
        parent.
        """
        read = self._commits.reader(repository)
        if not self._index.is_loaded(repository):
            compared = list(itertools.islice(log(read, start, **limits), self._max_compared))
            yield from filter_changed(read, iter(compared), changed)
            if len(compared) < self._max_compared:
                return
            limits = {**limits, "after": compared[-1].id}
        graph = self._index.graph(repository, start.id)
        if graph is not None:
            try:
                candidates = log_in_graph(
                    *(graph, start, limits),
                    [encode_path(path) for path in objects],
                    [encode_path(prefix) for prefix in prefixes],
                )
                with self._index.completing(repository, graph) as complete:
                    for commit_id in candidates:
                        commit = read(commit_id)
                        limits = {**limits, "after": commit_id}
                        parent = read(commit.parents[0])
                        complete(commit, parent)
                        if changed(commit, parent):
                            yield commit
            except kernel.KernelError:
                pass  # a parent is missing: the plain walk says which
            else:
                return
        yield from filter_changed(read, log(read, start, **limits), changed)
