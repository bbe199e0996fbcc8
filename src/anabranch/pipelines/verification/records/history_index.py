"""The check of the history index: the paths that its records leave out cannot be found in the log.

A record may name paths that a commit has not changed, since what matches is verified in the trees.
It must not leave out one that the commit has changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch import _kernel as kernel
from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding, Mend
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.versioning.records import keys, references

__all__ = ["CHECK", "check_history_index"]

CHECK = "history index"
_SAMPLED_COMMITS = 200
_MAX_PATHS = 1000


def check_history_index(
    inspected: Inspected, progress: Progress, *, check_all: bool
) -> Iterator[Finding]:
    """Yields records that are damaged, of no commit, or leave out paths: of all commits, or of a
    sample of each repository.
    """
    progress.begin("checking the history index", 0)
    for repository in inspected.repositories:
        bounds = keys.all_changed_paths()
        total = sum(1 for _ in inspected.store.scan(repository.partition, *bounds))
        step = 1 if check_all else max(1, total // _SAMPLED_COMMITS)
        for number, (key, raw, record) in enumerate(_with_commits(inspected, repository)):
            commit_id = keys.changed_paths_commit(key)
            walk = number % step == 0
            problem = _problem(inspected, repository, commit_id, raw, record, walk=walk)
            progress.advance(1)
            if problem:
                yield Finding(
                    *(CHECK, "history_index", f"{repository.id} {commit_id}"),
                    problem,
                    Mend(
                        "remove the record, which is made again when it is needed",
                        [Write(repository.partition, key, None)],
                        [Expect(repository.partition, key, raw)],
                    ),
                )


def _with_commits(
    inspected: Inspected, repository: Repository
) -> Iterator[tuple[bytes, bytes, bytes | None]]:
    """Yields the keys and records of the index, each with the record of its commit, or None. Both
    are sorted by the ids of commits.
    """
    commits = inspected.store.scan(repository.partition, *keys.all_commits())
    row = next(commits, None)
    for key, raw in inspected.store.scan(repository.partition, *keys.all_changed_paths()):
        wanted = keys.all_commits()[0] + key.removeprefix(keys.all_changed_paths()[0])
        while row is not None and row[0] < wanted:
            row = next(commits, None)
        yield key, raw, row[1] if row is not None and row[0] == wanted else None


def _problem(
    inspected: Inspected,
    repository: Repository,
    commit_id: str,
    raw: bytes,
    record: bytes | None,
    *,
    walk: bool,
) -> str:
    if record is None:
        return "the commit of this record does not exist"
    try:
        commit = references.commit_from(record)
        parents = [_record(inspected, repository, each) for each in commit.parents if walk]
        graph = kernel.CommitGraph()
        graph.add([*(each for each in parents if each), record])
    except (AnabranchError, kernel.KernelError):
        return ""  # the commit's own record is damaged
    if graph.set_changed([(commit_id, raw)]) != 1:
        return "the record is damaged"
    if len(parents) != 1 or not parents[0]:
        return ""
    return _left_out(inspected, repository, commit, references.commit_from(parents[0]), graph)


def _left_out(
    inspected: Inspected,
    repository: Repository,
    commit: Commit,
    parent: Commit,
    graph: kernel.CommitGraph,
) -> str:
    trees = inspected.core.trees
    try:
        before, after = (trees.open(repository, each.metarange_id) for each in (parent, commit))
        page = trees.read(before.diff, after, amount=_MAX_PATHS)
    except (AnabranchError, kernel.KernelError):
        return ""  # the check of tables says what is damaged
    for _, path, _, _ in page.rows:
        if not _names(graph, commit, path):
            return f"the record leaves out {path!r}, which the commit has changed"
    return ""


def _names(graph: kernel.CommitGraph, commit: Commit, path: bytes) -> bool:
    """Returns whether the record of a commit names a path."""
    try:
        return graph.last_candidate(commit.id, [path], [])[0] == commit.id
    except kernel.KernelError:
        return False  # the walk went on to a parent that the graph does not have


def _record(inspected: Inspected, repository: Repository, commit_id: str) -> bytes:
    return inspected.store.get(repository.partition, keys.commit(commit_id)) or b""
