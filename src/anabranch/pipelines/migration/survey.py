"""Survey of a lakeFS database, which reads every record once and counts the records.

Only the records of repositories and of access control are kept in memory, so memory does not grow
with the number of commits or changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from anabranch.errors import Corrupt
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.migration import repository_records
from anabranch.pipelines.migration.access_records import AccessRecords
from anabranch.pipelines.migration.report import LeftBehind, Report, RepositoryReport
from anabranch.versioning.records import keys, references

__all__ = ["Source", "Survey", "SurveyedRepository"]

_COUNTED = {
    "branches": "branches",
    "tags": "tags",
    "commits": "commits",
    "imports": "imports",
    "tasks": "tasks",
    "pulls": "pull_requests",
}
_UNKNOWN = "unknown to Anabranch"
_OTHER_PARTITIONS = {
    "cleanup-tokens": ("staging areas to be removed", "lakeFS has already dropped them"),
    "multiparts": ("multipart uploads", "they cannot be continued; upload the objects again"),
    "catalog": ("heartbeats of servers", "only lakeFS's servers use them"),
    "mc-ownership": ("owners of branches", "only lakeFS's servers use them"),
    "usage": ("usage statistics", "Anabranch does not collect them"),
}


class Source(Protocol):
    """A snapshot of a lakeFS database; see `keyvalue.postgres.snapshot`."""

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them."""


class SurveyedRepository(NamedTuple):
    """A repository with its record, its report, and the partitions of its staging areas."""

    repository: Repository
    record: bytes
    report: RepositoryReport
    staging: list[str]


class Survey:
    """Surveys a source and fills the report; only repositories of these `names`, if not empty."""

    def __init__(self, source: Source, report: Report, names: frozenset[str]) -> None:
        self._source = source
        self._report = report
        self._names = names
        self._claimed: set[str] = {keys.GRAVELER, "kv-internal-metadata"}
        self.access = AccessRecords(source, report)
        self.repositories: list[SurveyedRepository] = []

    def run(self, sizes: Iterator[tuple[bytes, int]]) -> None:
        """Fills the report; `sizes` are all partitions with their numbers of keys."""
        for key, record in self._source.scan(keys.GRAVELER):
            repository = self._repository(key, record)
            if repository is None:
                continue
            if not self._names or repository.id in self._names:
                self._survey_repository(repository, record)
            else:
                self._skip(repository)
        self.access.read()
        self._claimed |= self.access.partitions
        self._survey_others(sizes)

    def _repository(self, key: bytes, record: bytes) -> Repository | None:
        if not key.startswith(b"repos/"):
            self._omit("records about repositories", _UNKNOWN)
            return None
        try:
            repository = references.repository_from(record)
        except Corrupt as error:
            self._report.add_unreadable(keys.GRAVELER, key, error.message)
            return None
        if keys.repository(repository.id) == key:
            return repository
        self._report.add_unreadable(
            keys.GRAVELER, key, "the name in the record differs from its key"
        )
        return None

    def _survey_repository(self, repository: Repository, record: bytes) -> None:
        report = RepositoryReport(
            name=repository.id,
            storage_namespace=repository.shown_namespace,
            default_branch=repository.default_branch,
            creation_date=repository.creation_date,
            partition=repository.partition,
            read_only=repository.read_only,
            in_deletion=repository.in_deletion,
        )
        surveyed = SurveyedRepository(repository, record, report, [])
        self.repositories.append(surveyed)
        self._report.repositories.append(report)
        self._claimed.add(repository.partition)
        for key, value in self._source.scan(repository.partition):
            self._survey_record(surveyed, key, value)
        for token in surveyed.staging:
            self._claimed.add(token)
            for key, value in self._source.scan(token):
                try:
                    repository_records.check_staged(key, value)
                except Corrupt as error:
                    self._report.add_unreadable(token, key, error.message)
                report.uncommitted += 1

    def _survey_record(self, surveyed: SurveyedRepository, key: bytes, value: bytes) -> None:
        kind = repository_records.classify(key)
        name, report = surveyed.repository.id, surveyed.report
        if kind is None:
            own = key.startswith(repository_records.OWN_KEYS)
            reason = "written by Anabranch; end its uploads and builds first" if own else _UNKNOWN
            self._omit(key.partition(b"/")[0].decode(errors="replace"), reason, name)
            return
        try:
            kind.check(key, value)
            reason = repository_records.omission(kind, key, value)
            self._check_commit_exists(surveyed, kind.name, value)
        except Corrupt as error:
            self._report.add_unreadable(surveyed.repository.partition, key, error.message)
            return
        if reason:
            self._omit(kind.name, reason, name)
        elif kind.name == "metadata":
            report.metadata = len(references.metadata_from(value))
        elif kind.name == "protection":
            report.protection_rules = len(references.protection_from(value).blocked)
        else:
            counter = _COUNTED[kind.name]
            setattr(report, counter, getattr(report, counter) + 1)

    def _check_commit_exists(self, surveyed: SurveyedRepository, kind: str, value: bytes) -> None:
        """Raises Corrupt if a branch or tag names a commit that does not exist."""
        if kind == "commits" and not repository_records.has_own_digest(value):
            commit = references.commit_from(value).id
            self._report.warn(
                f"commit {commit} of {surveyed.repository.id} has an id that is not the digest of "
                "its content"
            )
        if kind not in {"branches", "tags"}:
            return
        named: Branch | None = None
        if kind == "branches":
            named = references.branch_from(value)
            surveyed.staging.extend(named.tokens)
        commit = (named or references.tag_from(value)).commit_id
        if self._source.get(surveyed.repository.partition, keys.commit(commit)) is None:
            raise Corrupt(f"it names commit {commit}, which does not exist")

    def _skip(self, repository: Repository) -> None:
        """Marks the partitions of a repository that is not migrated as known."""
        self._claimed.add(repository.partition)
        for _, value in self._source.scan(repository.partition, *keys.all_branches()):
            try:
                self._claimed.update(references.branch_from(value).tokens)
            except Corrupt:
                continue

    def _survey_others(self, sizes: Iterator[tuple[bytes, int]]) -> None:
        other_records = 0
        for raw, number in sizes:
            partition = raw.decode("utf-8", "surrogateescape")
            if partition in self._claimed:
                continue
            if partition in _OTHER_PARTITIONS:
                what, reason = _OTHER_PARTITIONS[partition]
                self._omit(what, reason, records=number)
            elif partition in {"actions", "pulls"}:
                continue  # runs of hooks, the index of pull requests: each repository has its part
            elif _is_own(partition):
                self._omit("records of Anabranch", "it has served this database", records=number)
            else:
                other_records += number
        if other_records:
            reason = "of deleted repositories and branches, or of another program"
            self._omit("other records", reason, records=other_records)

    def _omit(self, what: str, reason: str, where: str = "", *, records: int = 1) -> None:
        for index, omitted in enumerate(self._report.left_behind):
            if (omitted.what, omitted.reason, omitted.where) == (what, reason, where):
                total = omitted.records + records
                self._report.left_behind[index] = LeftBehind(what, total, reason, where)
                return
        self._report.left_behind.append(LeftBehind(what, records, reason, where))


def _is_own(partition: str) -> bool:
    names = ("anabranch", "idempotency-keys", "multiparts-finished")
    return partition.startswith(("anabranch-", "multiparts-parts:")) or partition in names
