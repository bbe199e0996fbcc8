"""Merges: merge, dry run, conflicts, also of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.policies.permissions import Action
from anabranch.model.commits.commit import Commit
from anabranch.model.commits.conflict import MergePreview
from anabranch.model.commits.row_conflict import RowConflict
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation, OtherResponse
from anabranch.rest.protocol.parameters import Amount, InRepository
from anabranch.rest.protocol.resources import (
    on_destination_branch,
    on_object,
    on_repository,
    on_resolved_content,
    on_resolved_objects,
    on_resolved_sources,
)
from anabranch.rest.protocol.unreadable_conflicts import ToldPaths
from anabranch.rest.schemas.merge_conflicts import (
    ConflictEntry,
    ConflictList,
    MergeConflictResult,
    Resolutions,
    conflict_entry,
    described_conflicts,
)
from anabranch.rest.schemas.pagination import Pagination, page_amount, to_pagination
from anabranch.versioning.merging.settlement import MAX_CONFLICTS
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = [
    "EXTENSIONS",
    "MERGE_NEEDS",
    "MERGE_PATH",
    "OPERATIONS",
    "Merge",
    "MergeRefs",
    "MergeResult",
    "dry_run",
    "merge_refs",
    "to_merge_result",
]


MERGE_NEEDS = (
    Need(Action.READ_OBJECT, on_resolved_content),
    Need(Action.WRITE_OBJECT, on_resolved_objects),
    Need(Action.IMPORT_FROM_STORAGE, on_resolved_sources),
)
"""What the resolutions of a merge, a revert, a cherry-pick or a rebase need."""


class Merge(Body, frozen=True, kw_only=True):
    """Options of a merge; `strategy` is empty, dest-wins or source-wins. `resolutions` choose for
    single paths. A dry run responds with what the merge would do, and changes nothing.
    """

    message: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    strategy: str = ""
    force: bool = False
    allow_empty: bool = False
    squash_merge: bool = False
    resolutions: Resolutions = field(default_factory=list)
    dry_run: bool = False


class MergeSummary(msgspec.Struct, frozen=True):
    """How many paths a merge would add, change and remove, conflicts apart."""

    added: int
    changed: int
    removed: int


class SettledPath(msgspec.Struct, frozen=True):
    """A conflict that a rule settles, and its strategy; `physical_address` for a given object."""

    path: str
    strategy: str


class MergeResult(msgspec.Struct, frozen=True):
    """A successful merge; `reference` is its commit, "" for a dry run, which has all other fields.
    Of `settled` and `conflicts`, the first 1,000 are listed.
    """

    reference: str
    summary: MergeSummary | UnsetType = UNSET
    settled: list[SettledPath] | UnsetType = UNSET
    settled_count: int | UnsetType = UNSET
    conflicts: list[ConflictEntry] | UnsetType = UNSET
    conflict_count: int | UnsetType = UNSET


class MergeRefs(InRepository, frozen=True, kw_only=True):
    """Parameters of mergeIntoBranch and findMergeBase."""

    source_ref: str = msgspec.field(name="sourceRef")
    destination_branch: str = msgspec.field(name="destinationBranch")


class ListMergeConflicts(MergeRefs, frozen=True, kw_only=True):
    """Parameters of listMergeConflicts."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    prefix: Annotated[str, Meta(description="only paths with this prefix")] = ""


class ListRowConflicts(MergeRefs, frozen=True, kw_only=True):
    """Parameters of listRowConflicts."""

    path: Annotated[str, Meta(description="the object, which both sides changed")]
    key: Annotated[
        tuple[str, ...],
        Meta(description="the columns that identify a row; without them, one is found"),
    ] = ()
    format: Annotated[
        str, Meta(description="the format, if neither the path nor the content tells it")
    ] = ""
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT


class RowConflictList(msgspec.Struct, frozen=True):
    """A page of the rows in conflict, which are matched by the columns `key`. A row is an object
    with a member for each column, null if that side does not have it. Choices for them name the
    `versions`.
    """

    pagination: Pagination
    results: list[RowConflict]
    key: list[str]
    versions: dict[str, str | None]


def merge_into_branch(call: Call[MergeRefs, Merge]) -> MergeResult:
    """Merges a reference into a branch, or responds with what that would do."""
    body = call.body
    if body.dry_run:
        preview = call.services.catalog.refs.preview_merge(
            call.params.repository,
            call.params.source_ref,
            call.params.destination_branch,
            strategy=body.strategy,
            resolutions=body.resolutions,
            rights=call.object_rights,
        )
        return dry_run(call, preview)
    return MergeResult(merge_refs(call, call.recording(to_merge_result)))


def to_merge_result(commit: Commit) -> MergeResult:
    """Returns the schema of a merge that was made."""
    return MergeResult(commit.id)


def merge_refs(call: Call[MergeRefs, Merge], extra_writes: Sequence[ExtraWritesFor[Commit]]) -> str:
    """Merges a reference into a branch; returns the id of the commit. `extra_writes` adds writes to
    those of the commit.
    """
    body = call.body
    with described_conflicts(call):
        return call.services.catalog.refs.merge(
            call.params.repository,
            call.params.source_ref,
            call.params.destination_branch,
            committer=call.committer,
            message=body.message,
            metadata=body.metadata,
            strategy=body.strategy,
            resolutions=body.resolutions,
            rights=call.object_rights,
            squash=body.squash_merge,
            allow_empty=body.allow_empty,
            force=body.force,
            extra_writes=extra_writes,
        )


def dry_run(call: Call[Any, Any], preview: MergePreview) -> MergeResult:
    """Returns the schema of what a merge would do, with the paths that the caller may read."""
    told = ToldPaths(call)
    settled = [each for each in preview.settled if each.path in told]
    return MergeResult(
        reference="",
        summary=MergeSummary(preview.added, preview.changed, preview.removed),
        settled=[SettledPath(*each) for each in settled[:MAX_CONFLICTS]],
        settled_count=len(preview.settled),
        conflicts=[conflict_entry(each) for each in told.conflicts(preview.conflicts)],
        conflict_count=preview.conflict_count,
    )


def list_merge_conflicts(call: Call[ListMergeConflicts, None]) -> ConflictList:
    """Returns a page of the paths that both sides of a merge changed differently."""
    params = call.params
    page = call.services.catalog.refs.merge_conflicts(
        params.repository,
        params.source_ref,
        params.destination_branch,
        prefix=params.prefix,
        after=params.after,
        amount=page_amount(params.amount),
        readable=call.readable_paths("", params.prefix),
    )
    return ConflictList(to_pagination(page), [conflict_entry(each) for each in page.items])


def list_row_conflicts(call: Call[ListRowConflicts, None]) -> RowConflictList:
    """Returns a page of the rows of a table that both sides of a merge changed differently."""
    params = call.params
    page = call.services.catalog.refs.row_conflicts(
        params.repository,
        params.source_ref,
        params.destination_branch,
        params.path,
        key=params.key,
        file_format=params.format,
        after=params.after,
        amount=page_amount(params.amount),
        rights=call.object_rights,
    )
    return RowConflictList(to_pagination(page), page.items, page.key, dict(page.versions))


MERGE_PATH = "/repositories/{repository}/refs/{sourceRef}/merge/{destinationBranch}"

OPERATIONS = (
    Operation(
        id="mergeIntoBranch",
        tag="refs",
        method="POST",
        path=MERGE_PATH,
        summary="merge references",
        permission=(
            Need(Action.CREATE_COMMIT, on_destination_branch),
            *MERGE_NEEDS,
        ),
        params=MergeRefs,
        body=Merge,
        body_optional=True,
        response=MergeResult,
        others=(OtherResponse(status=409, description="Conflict", type=MergeConflictResult),),
        keyed=True,
        handler=merge_into_branch,
    ),
)

EXTENSIONS = (
    Operation(
        id="listMergeConflicts",
        tag="refs",
        method="GET",
        path=MERGE_PATH + "/conflicts",
        summary="list the conflicts of a merge",
        permission=(Need(Action.LIST_OBJECTS, on_repository),),
        params=ListMergeConflicts,
        response=ConflictList,
        handler=list_merge_conflicts,
    ),
    Operation(
        id="listRowConflicts",
        tag="refs",
        method="GET",
        path=MERGE_PATH + "/conflicts/rows",
        summary="list the rows in conflict of a table",
        permission=(Need(Action.READ_OBJECT, on_object),),
        params=ListRowConflicts,
        response=RowConflictList,
        handler=list_row_conflicts,
    ),
)
"""Operations that lakeFS does not have."""
