"""A listing onto a branch: what every engine does before and after it has written the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import msgspec

from anabranch.errors import Invalid, NotFound
from anabranch.model.commit import Commit
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.landing import ImportRequest, Landing, require_clean
from anabranch.versioning.core import Core
from anabranch.versioning.repositories import check_writable

__all__ = [
    "Ground",
    "Imported",
    "LakeGround",
    "ListingRequest",
    "Unfit",
    "WrittenListing",
    "land",
    "refused",
]

Unfit = Literal["fail", "skip"]


class ListingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Where a listing comes, and how it is committed. `unfit` says what becomes of rows that can
    be no objects, `left_out` is a file, Parquet or CSV by its name, for all of those.
    """

    branch: str
    destination: str = ""
    message: str = ""
    metadata: Mapping[str, str] = {}
    committer: str = ""
    unfit: Unfit = "fail"
    left_out: Path | None = None
    force: bool = False

    @property
    def prefix(self) -> str:
        """Returns what every path begins with."""
        if not self.destination or self.destination.endswith("/"):
            return self.destination
        return f"{self.destination}/"

    @property
    def landed(self) -> ImportRequest:
        """Returns the same as every import is asked for."""
        source = ImportSource(type="common_prefix", path="", destination=self.destination)
        return ImportRequest(
            branch=self.branch,
            sources=[source],
            committer=self.committer,
            message=self.message,
            metadata=self.metadata,
        )


class WrittenListing(NamedTuple):
    """A listing as a tree: which of its tables are in the folder, so many objects, and what was
    left out.
    """

    metarange_id: str
    tables: Sequence[str]
    objects: int
    skipped: Mapping[str, int]
    shown: Sequence[tuple[str, str]]


class Imported(NamedTuple):
    """What an import brought: the commit, how many objects, how many rows were left out for each
    reason, and the first of those, as (path, reason).
    """

    commit: Commit
    objects: int
    skipped: Mapping[str, int]
    shown: Sequence[tuple[str, str]]


class Ground(Protocol):
    """The repository that listings land in."""

    def require_clean(self, request: ListingRequest) -> None:
        """Raises what the import would come to in the end: NotFound for the branch,
        ReadOnlyRepository without `force`, DirtyBranch.
        """

    def folder(self) -> AbstractContextManager[str]:
        """Gives a folder for tables, for as long as it is entered."""

    def commit(self, request: ListingRequest, folder: str, written: WrittenListing) -> Commit:
        """Returns the commit that the branch was moved to. Raises as above; the branch is then as
        it was.
        """


class LakeGround:
    """A repository whose stores are open here. If `adopted`, tables come into the repository's
    store from elsewhere: all of them are there but those that are written into the folder.
    """

    def __init__(self, core: Core, repository: str, *, adopted: bool = False) -> None:
        self._core = core
        self._repository = core.repositories.get(repository)
        self._adopted = adopted

    def require_clean(self, request: ListingRequest) -> None:
        """Raises what the import would come to in the end."""
        check_writable(self._repository, force=request.force)
        require_clean(self._core, self._repository, request.branch)

    def folder(self) -> AbstractContextManager[str]:
        """Gives a folder of the cache."""
        return self._core.trees.scratch()

    def commit(self, request: ListingRequest, folder: str, written: WrittenListing) -> Commit:
        """Returns the commit that the branch was moved to."""
        tables = _Tables(written.metarange_id, list(written.tables))
        if self._adopted:
            self._core.trees.adopt(self._repository, folder, tables)
        landing = Landing(
            *(self._core, self._repository, request.landed, folder, tables), adopted=self._adopted
        )
        commit = landing.commit()
        landing.remember(commit.creation_date)
        return commit


class _Tables(NamedTuple):
    metarange_id: str
    tables: list[str]


def land(
    ground: Ground, request: ListingRequest, write: Callable[[str], WrittenListing]
) -> Imported:
    """Puts a listing that `write` writes into a folder onto a branch, in place of all that is
    under the destination.

    Raises NotFound for the branch and an empty listing, ReadOnlyRepository without `force`,
    DirtyBranch, Invalid for rows that can be no objects. The branch is then as it was.
    """
    if request.unfit not in {"fail", "skip"}:
        raise Invalid(
            f"unfit is {request.unfit!r}, neither 'fail' nor 'skip'", kind="invalid_choice"
        )
    ground.require_clean(request)
    with ground.folder() as folder:
        written = write(folder)
        if written.skipped and request.unfit == "fail":
            raise refused(written.skipped, written.shown)
        if not written.objects:
            raise NotFound("the listing has no objects", kind="nothing_to_import")
        commit = ground.commit(request, folder, written)
    return Imported(commit, written.objects, written.skipped, written.shown)


def refused(skipped: Mapping[str, int], shown: Sequence[tuple[str, str]]) -> Invalid:
    """Returns the error that says how many rows can be no objects, why, and which are first."""
    reasons = ", ".join(f"{each} with {reason}" for reason, each in sorted(skipped.items()))
    first = "; ".join(f"{path[:200]!r}: {reason}" for path, reason in shown)
    number = sum(skipped.values())
    return Invalid(
        f"{number} row{'' if number == 1 else 's'} of the listing can be no objects: {reasons}. "
        f"The first: {first}",
        kind="unfit_rows",
        hint="Correct the listing, or leave them out by unfit='skip'.",
    )
