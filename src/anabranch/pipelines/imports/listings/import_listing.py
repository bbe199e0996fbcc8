"""Import of a listing: the steps before and after writing the tables, which all engines share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import msgspec

from anabranch.actions.changes import Changes
from anabranch.errors import Invalid, NotFound
from anabranch.model.commits.commit import Commit
from anabranch.model.imports import ImportSource
from anabranch.model.names import is_prefix
from anabranch.pipelines.imports.commit_import import ImportCommitter, ImportRequest, require_clean
from anabranch.pipelines.jobs.task_totals import TaskTotals
from anabranch.versioning.core import Core
from anabranch.versioning.repositories.repositories import check_writable

__all__ = [
    "ImportTarget",
    "Imported",
    "LakeTarget",
    "ListingRequest",
    "OnInvalid",
    "Verify",
    "WrittenListing",
    "commit_listing",
    "invalid_rows_error",
]

OnInvalid = Literal["fail", "skip"]
Verify = Literal["none", "sample", "all"]


class ListingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The destination of a listing, and its commit. `on_invalid` selects whether invalid rows
    fail the import or are skipped; all of them are written to the file `rejected_rows`, CSV if its
    name ends with `.csv`, else Parquet. `verify` selects which rows are compared with the store:
    none, a sample, or all.
    """

    branch: str
    destination: str = ""
    message: str = ""
    metadata: Mapping[str, str] = {}
    committer: str = ""
    on_invalid: OnInvalid = "fail"
    rejected_rows: Path | None = None
    verify: Verify = "sample"
    force: bool = False

    @property
    def prefix(self) -> str:
        """The prefix of every path."""
        return self.destination if is_prefix(self.destination) else f"{self.destination}/"

    @property
    def import_request(self) -> ImportRequest:
        """The request to commit the import."""
        source = ImportSource(type="common_prefix", path="", destination=self.destination)
        return ImportRequest(
            branch=self.branch,
            sources=[source],
            committer=self.committer,
            message=self.message,
            metadata=self.metadata,
        )


class WrittenListing(NamedTuple):
    """The tree of a listing: the ids of its tables in the folder, the number of its objects, the
    number of skipped rows by reason, the first of those, as (path, reason), and for each phase the
    seconds that it took and the totals of its tasks, if they were measured.
    """

    metarange_id: str
    tables: Sequence[str]
    objects: int
    skipped: Mapping[str, int]
    shown: Sequence[tuple[str, str]]
    phases: Mapping[str, float] = {}
    tasks: Mapping[str, TaskTotals] = {}


class Imported(NamedTuple):
    """Result of an import: the commit, the number of objects, the number of skipped rows by
    reason, the first of those, as (path, reason), and for each phase the seconds that it took and
    the totals of its tasks, if they were measured.
    """

    commit: Commit
    objects: int
    skipped: Mapping[str, int]
    shown: Sequence[tuple[str, str]]
    phases: Mapping[str, float] = {}
    tasks: Mapping[str, TaskTotals] = {}


class ImportTarget(Protocol):
    """The repository that a listing is imported into."""

    def require_clean(self, request: ListingRequest) -> None:
        """Raises the errors that would fail the commit: NotFound for the branch,
        ReadOnlyRepository unless `force`, ProtectedBranch, DirtyBranch.
        """

    def folder(self) -> AbstractContextManager[str]:
        """Provides a temporary folder for tables."""

    def commit(self, request: ListingRequest, folder: str, written: WrittenListing) -> Commit:
        """Moves the branch to a new commit, and returns it. Raises the errors of `require_clean`,
        and then leaves the branch unchanged.
        """


class LakeTarget:
    """A repository whose stores are open in this process; create it before the first row is read.
    If `adopted`, the tables are already in the repository's store, except those that are written
    into the folder. `changes` runs hooks.
    """

    def __init__(
        self,
        core: Core,
        repository: str,
        *,
        adopted: bool = False,
        changes: Changes | None = None,
    ) -> None:
        self._core = core
        self._repository = core.repositories.get(repository)
        self._adopted = adopted
        self._changes = changes
        self._since = core.sweeps.ended_count()

    def require_clean(self, request: ListingRequest) -> None:
        """Raises the errors that would fail the commit."""
        check_writable(self._repository, force=request.force)
        self._core.protection.require_no_approvals(self._repository, request.branch)
        require_clean(self._core, self._repository, request.branch)

    def folder(self) -> AbstractContextManager[str]:
        """Provides a temporary folder of the cache."""
        return self._core.trees.scratch()

    def commit(self, request: ListingRequest, folder: str, written: WrittenListing) -> Commit:
        """Moves the branch to a new commit, and returns it."""
        tables = _Tables(written.metarange_id, list(written.tables))
        if self._adopted:
            self._core.trees.adopt(self._repository, folder, tables)
        importer = ImportCommitter(
            *(self._core, self._repository, request.import_request, folder, tables),
            adopted=self._adopted,
            since=self._since,
            changes=self._changes,
        )
        commit = importer.commit()
        importer.record_timestamp(commit.creation_date)
        return commit


class _Tables(NamedTuple):
    metarange_id: str
    tables: list[str]


def commit_listing(
    target: ImportTarget, request: ListingRequest, write: Callable[[str], WrittenListing]
) -> Imported:
    """Commits the listing that `write` writes into a folder, in place of all objects under the
    destination.

    Raises NotFound for the branch and for an empty listing, ReadOnlyRepository unless `force`,
    DirtyBranch, Invalid for invalid rows. The branch is then unchanged.
    """
    if request.on_invalid not in {"fail", "skip"}:
        raise Invalid(
            f"on_invalid is {request.on_invalid!r}, neither 'fail' nor 'skip'",
            kind="invalid_choice",
        )
    if request.verify not in {"none", "sample", "all"}:
        raise Invalid(
            f"verify is {request.verify!r}, not 'none', 'sample' or 'all'", kind="invalid_choice"
        )
    target.require_clean(request)
    with target.folder() as folder:
        written = write(folder)
        if written.skipped and request.on_invalid == "fail":
            raise invalid_rows_error(written.skipped, written.shown)
        if not written.objects:
            raise NotFound("the listing has no objects", kind="nothing_to_import")
        commit = target.commit(request, folder, written)
    return Imported(commit, *written[2:])


def invalid_rows_error(skipped: Mapping[str, int], shown: Sequence[tuple[str, str]]) -> Invalid:
    """Returns the error for invalid rows, with their number, the reasons and the first of them."""
    reasons = ", ".join(f"{count} with {reason}" for reason, count in sorted(skipped.items()))
    first = "; ".join(f"{path[:200]!r}: {reason}" for path, reason in shown)
    number = sum(skipped.values())
    return Invalid(
        f"{number} row{' of the listing is' if number == 1 else 's of the listing are'} invalid: "
        f"{reasons}. "
        f"The first: {first}",
        kind="unfit_rows",
        hint="Correct the listing, or skip invalid rows with on_invalid='skip'.",
    )
