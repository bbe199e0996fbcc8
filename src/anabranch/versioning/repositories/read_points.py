"""Reads of single objects by the names of a repository and a reference.

A read looks up the repository, the branch, its staging areas and the commit. Clients make many
reads of one branch, so what its name stands for is kept until anything is written to the store, by
this process or another: a read point. After some reads it is found out, once, whether anything is
staged: where nothing is, a read looks into the commit's tree alone.

Kept are full ids of commits and names of branches. All else, such as `main~1`, is resolved each
time.
"""

from __future__ import annotations

from typing import NamedTuple

from anabranch.keyvalue.versioned_reads import VersionedReads
from anabranch.model.names import check_path, encode_path
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.objects.objects import Objects, no_object
from anabranch.versioning.records.entries import entry_from
from anabranch.versioning.references.references import References, Resolved
from anabranch.versioning.repositories.repositories import Repositories
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.trees.trees import Trees

__all__ = ["ReadPoints"]

_MAX_POINTS = 1_024
_READS_BEFORE_SCAN = 8
"""So many reads of a branch look for a staged change of their path alone."""


class _ReadPoint:
    """What a reference of a repository names."""

    __slots__ = ("metarange_id", "reads", "repository", "resolved")

    def __init__(self, repository: Repository, resolved: Resolved) -> None:
        self.repository = repository
        self.resolved = resolved
        self.metarange_id: str | None = None
        """The commit's tree, once it is known that no change is staged."""
        self.reads = 0


class _Kept(NamedTuple):
    """The points of a version of the store. Replaced as one object, so that no thread combines a
    version with the points of another.
    """

    version: object | None
    points: dict[tuple[str, str], _ReadPoint]


class ReadPoints:
    """Finds entries, and keeps read points where the store has versions (`versions`). Safe for use
    from many threads.
    """

    def __init__(
        self,
        versions: VersionedReads | None,
        repositories: Repositories,
        references: References,
        commits: Commits,
        staging: Staging,
        trees: Trees,
        objects: Objects,
    ) -> None:
        self._versions = versions
        self._repositories = repositories
        self._references = references
        self._commits = commits
        self._staging = staging
        self._trees = trees
        self._objects = objects
        self._kept = _Kept(None, {})

    def entry(
        self, repository: str, reference: str, path: str, *, at: Resolved | None = None
    ) -> tuple[Repository, Entry]:
        """Returns a repository and the entry at a path, at a reference or `at` what it named
        before. Raises what `Repositories.get_for_reading` and `Objects.get` raise.
        """
        version = None if self._versions is None or at is not None else self._versions.version()
        if version is None:
            found = self._repositories.get_for_reading(repository, reference)
            return found, self._objects.get(found, reference, path, at=at)
        kept = self._kept
        point = kept.points.get((repository, reference)) if kept.version == version else None
        if point is None:
            found = self._repositories.get_for_reading(repository, reference)
            check_path(path)  # an error that comes before those of the reference
            resolved = self._references.resolve(found, reference)
            point = self._keep(version, found, reference, resolved)
            if point is None:
                return found, self._objects.get(found, reference, path, at=resolved)
        return point.repository, self._entry(point, path)

    def _entry(self, point: _ReadPoint, path: str) -> Entry:
        check_path(path)
        metarange_id = point.metarange_id
        if metarange_id is None:
            point.reads += 1
            tokens = point.resolved.tokens
            if not tokens or (point.reads == _READS_BEFORE_SCAN and self._staging.is_empty(tokens)):
                # not before: a staged change is found also if the commit is lost
                commit = self._commits.get(point.repository, point.resolved.commit_id)
                point.metarange_id = commit.metarange_id
            return self._objects.get(point.repository, "", path, at=point.resolved)
        tree = self._trees.open(point.repository, metarange_id)
        value = self._trees.read(tree.get, encode_path(path))
        if value is None:
            raise no_object(path)
        return entry_from(value)

    def _keep(
        self, version: object, repository: Repository, reference: str, resolved: Resolved
    ) -> _ReadPoint | None:
        """Returns the point of a reference that was resolved after the version was read; None for
        one that is not kept.
        """
        if resolved.branch is None:
            # one that is only examined may not be found by other threads
            is_kept = resolved.commit_id == reference and self._commits.is_cached(
                repository, reference
            )
        else:
            is_kept = resolved.branch.branch.id == reference
        if not is_kept:
            return None
        point = _ReadPoint(repository, resolved)
        kept = self._kept
        if kept.version != version or len(kept.points) >= _MAX_POINTS:
            kept = self._kept = _Kept(version, {})
        kept.points[repository.id, reference] = point
        return point
