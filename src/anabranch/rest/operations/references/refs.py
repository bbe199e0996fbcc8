"""References: log, diff of objects and of rows, merge base."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.actors.readable_records import ReadableRecords
from anabranch.access.policies.permissions import Action
from anabranch.brevity import about_to_take_long
from anabranch.http.execution import Execution
from anabranch.http.response import Response
from anabranch.model.commits.row_difference import MatchedBy, RowDifference
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.rest.operations.commits.commit_rows import CommitRows
from anabranch.rest.operations.commits.commits import Commit
from anabranch.rest.operations.commits.merges import MERGE_PATH, MergeRefs
from anabranch.rest.operations.queries.table_needs import of_compared_table
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount, AtRef, InRepository
from anabranch.rest.protocol.resources import (
    on_logged_paths,
    on_object,
    on_ref,
    on_repository,
)
from anabranch.rest.protocol.responses import JSON, encode
from anabranch.rest.schemas.diffs import DiffList, IncludeSides, diff_list
from anabranch.rest.schemas.pagination import (
    Pagination,
    brief_page_amount,
    page_amount,
    to_pagination,
)
from anabranch.tables.formats import FORMAT_NAMES

__all__ = ["EXTENSIONS", "OPERATIONS"]

_rows = CommitRows()


class CommitList(msgspec.Struct, frozen=True):
    """A page of commits."""

    pagination: Pagination
    results: list[Commit]


class RowDifferenceList(msgspec.Struct, frozen=True):
    """A page of the rows that differ. A row is an object with a member for each column, null if
    that side does not have it; `columns` are those that differ if both sides have the row. Rows are
    matched by the columns `key`, given or found, or by all their columns if it is empty. `notes`
    say how each side was read, `left` and `right`: its encoding, and what was repaired.
    """

    pagination: Pagination
    results: list[RowDifference]
    key: list[str]
    matched_by: MatchedBy
    notes: dict[str, list[str]]


class FindMergeBaseResult(msgspec.Struct, frozen=True):
    """The commits of a merge. As in lakeFS, the two sides' names are swapped."""

    base_commit_id: str
    destination_commit_id: str
    source_commit_id: str


class LogCommits(AtRef, frozen=True, kw_only=True):
    """Parameters of logCommits."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    objects: Annotated[
        tuple[str, ...], Meta(description="only commits that changed these paths")
    ] = ()
    prefixes: Annotated[
        tuple[str, ...], Meta(description="only commits that changed paths with these prefixes")
    ] = ()
    limit: Annotated[bool, Meta(description="do not check whether more commits follow")] = False
    first_parent: bool = False
    since: Annotated[datetime, Meta(tz=True, extra={"empty": "absent"})] | UnsetType = UNSET
    stop_at: Annotated[str, Meta(description="the last commit to show")] = ""


class DiffRefs(InRepository, frozen=True, kw_only=True):
    """Parameters of diffRefs."""

    left_ref: str = msgspec.field(name="leftRef")
    right_ref: str = msgspec.field(name="rightRef")
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    prefix: str = ""
    delimiter: str = ""
    type: Literal["two_dot", "three_dot"] = "three_dot"
    include_right_stats: bool = False
    include_sides: IncludeSides = False


class DiffRows(InRepository, frozen=True, kw_only=True):
    """Parameters of diffRows."""

    left_ref: str = msgspec.field(name="leftRef")
    right_ref: str = msgspec.field(name="rightRef")
    path: Annotated[
        str, Meta(min_length=1, description="an object, or the folder of a Delta or Iceberg table")
    ]
    key: Annotated[
        tuple[str, ...],
        Meta(
            description="the columns that identify a row; if there are none, columns are found, "
            "or whole rows are compared"
        ),
    ] = ()
    whole_rows: Annotated[
        bool, Meta(description="compare whole rows, which are added and removed; without a key")
    ] = False
    format: Annotated[
        str,
        Meta(
            description="the format of the table, if neither its path nor its content tells it: "
            f"{FORMAT_NAMES}"
        ),
    ] = ""
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    type: Literal["two_dot", "three_dot"] = "three_dot"


def log_commits(call: Call[LogCommits, None]) -> Response:
    """Returns a page of history: a `CommitList` as JSON."""
    params = call.params
    if params.after or params.objects or params.prefixes:
        about_to_take_long()
    page = call.services.catalog.commits.log(
        params.repository,
        params.ref,
        after=params.after,
        amount=brief_page_amount(params.amount),
        limit=params.limit,
        first_parent=params.first_parent,
        since=None if params.since is UNSET else params.since,
        stop_at=params.stop_at,
        objects=params.objects,
        prefixes=params.prefixes,
    )
    before = b'{"pagination":%b,"results":' % encode(to_pagination(page))
    return Response(200, _rows.join(page.items, before, b"}\n"), content_type=JSON)


def diff_refs(call: Call[DiffRefs, None]) -> DiffList:
    """Returns a page of the differences between two references."""
    params = call.params
    page = call.services.catalog.refs.diff(
        params.repository,
        params.left_ref,
        params.right_ref,
        two_dot=params.type == "two_dot",
        prefix=params.prefix,
        after=params.after,
        delimiter=params.delimiter,
        amount=page_amount(params.amount),
        readable=call.readable_paths("", params.prefix),
    )
    return diff_list(
        page, include_right_stats=params.include_right_stats, include_sides=params.include_sides
    )


def diff_rows(call: Call[DiffRows, None]) -> RowDifferenceList:
    """Returns a page of the rows of a table that differ between two references."""
    params = call.params
    page = call.services.catalog.refs.diff_rows(
        params.repository,
        params.left_ref,
        params.right_ref,
        params.path,
        two_dot=params.type == "two_dot",
        key=params.key,
        whole_rows=params.whole_rows,
        file_format=params.format,
        after=params.after,
        amount=page_amount(params.amount),
        readable=call.readable_paths("", ""),
        records=ReadableRecords(call.authenticated, params.repository),
        of_catalog=not isinstance(call.authenticated, ConfinedActor),
    )
    return RowDifferenceList(to_pagination(page), page.items, page.key, page.matched_by, page.notes)


def find_merge_base(call: Call[MergeRefs, None]) -> FindMergeBaseResult:
    """Returns the commits that a merge would use."""
    params = call.params
    source, destination, base = call.services.catalog.refs.merge_base(
        params.repository, params.source_ref, params.destination_branch
    )
    return FindMergeBaseResult(
        base_commit_id=base, destination_commit_id=source, source_commit_id=destination
    )


_REFS = "/repositories/{repository}/refs"

OPERATIONS = (
    Operation(
        id="logCommits",
        tag="refs",
        method="GET",
        path=_REFS + "/{ref}/commits",
        summary="get commit log from ref",
        permission=(
            Need(Action.READ_BRANCH, on_ref),
            Need(Action.READ_OBJECT, on_logged_paths),
        ),
        params=LogCommits,
        response=CommitList,
        execution=Execution.BRIEF_READ,
        handler=log_commits,
    ),
    Operation(
        id="diffRefs",
        tag="refs",
        method="GET",
        path=_REFS + "/{leftRef}/diff/{rightRef}",
        summary="diff references",
        permission=(Need(Action.LIST_OBJECTS, on_repository),),
        params=DiffRefs,
        response=DiffList,
        handler=diff_refs,
    ),
    Operation(
        id="findMergeBase",
        tag="refs",
        method="GET",
        path=MERGE_PATH,
        summary="find the merge base of two references",
        permission=(Need(Action.LIST_COMMITS, on_repository),),
        params=MergeRefs,
        response=FindMergeBaseResult,
        handler=find_merge_base,
    ),
)

EXTENSIONS = (
    Operation(
        id="diffRows",
        tag="refs",
        method="GET",
        path=_REFS + "/{leftRef}/diff/{rightRef}/rows",
        summary="diff the rows of a table",
        permission=(Need(Action.READ_OBJECT, on_object, of=of_compared_table),),
        params=DiffRows,
        response=RowDifferenceList,
        handler=diff_rows,
    ),
)
"""Operations that lakeFS does not have."""
