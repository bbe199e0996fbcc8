"""Records of tables that collectors without access to the database need. lakeFS does not have this
operation.

It tells paths of all repositories, and where their data are, so it needs the permission to prepare
collections of all of them, as `prepareGarbageCollectionUncommitted` with paths does.
"""

from __future__ import annotations

from typing import Any

import msgspec

from anabranch.access.policies.permissions import Action, AllBelow, repository_arn
from anabranch.model.page import MAX_AMOUNT
from anabranch.rest.operations.repositories.repositories import Repository, to_repository
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount, InRepository
from anabranch.rest.protocol.resources import on_repository
from anabranch.rest.schemas.pagination import Pagination, page_amount, to_pagination

__all__ = ["OPERATIONS"]


class ListTableRecords(InRepository, frozen=True, kw_only=True):
    """Parameters of listTableRecords: the page after one that was returned as `next_offset`."""

    after: str = ""
    amount: Amount = MAX_AMOUNT


class TableRecord(msgspec.Struct, frozen=True):
    """A record of a table or a view: its path, and its content's full address and bytes."""

    path: str
    physical_address: str
    size_bytes: int


class TableRecordsOfRepository(msgspec.Struct, frozen=True):
    """Records that are staged in a repository, and all committed ones if it is `deleted` and can be
    restored. The next page may have more of them.
    """

    repository: Repository
    deleted: bool
    records: list[TableRecord]


class TableRecordList(msgspec.Struct, frozen=True):
    """A page of all repositories with their records."""

    pagination: Pagination
    results: list[TableRecordsOfRepository]


def on_all_repositories(_: Call[Any, Any]) -> str:
    """All repositories."""
    return AllBelow(repository_arn(""))


def list_table_records(call: Call[ListTableRecords, None]) -> TableRecordList:
    """Returns a page of all repositories with the records that are in no commit of them."""
    params, catalog = call.params, call.services.catalog
    catalog.repositories.get(params.repository)
    page = catalog.garbage_preparation.table_records.page(params.after, page_amount(params.amount))
    return TableRecordList(
        pagination=to_pagination(page),
        results=[
            TableRecordsOfRepository(
                to_repository(found.repository),
                found.deleted,
                [TableRecord(*record) for record in found.records],
            )
            for found in page.items
        ],
    )


OPERATIONS = (
    Operation(
        id="listTableRecords",
        tag="internal",
        method="GET",
        path="/repositories/{repository}/gc/table_records",
        summary="list the records of tables that no commit of an existing repository has, of all "
        "repositories",
        permission=(
            Need(Action.PREPARE_GARBAGE_COLLECTION_UNCOMMITTED, on_repository),
            Need(Action.PREPARE_GARBAGE_COLLECTION_UNCOMMITTED, on_all_repositories),
        ),
        params=ListTableRecords,
        response=TableRecordList,
        handler=list_table_records,
    ),
)
