"""The list of tables at a reference: those of the Iceberg catalog and its views, and tables in
folders.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.model.tables.table_record import RECORDS_ROOT
from anabranch.rest.operations.commits.commits import Commit, to_commit
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount, AtRef
from anabranch.rest.protocol.resources import on_repository
from anabranch.rest.schemas.pagination import Pagination, page_amount, to_pagination

__all__ = ["OPERATIONS"]


class ListTables(AtRef, frozen=True, kw_only=True):
    """Parameters of listTables."""

    prefix: Annotated[
        str, Meta(description="of the paths: `_tables/city/` for a namespace, or a folder")
    ] = ""
    search: Annotated[
        str, Meta(description="a part of the names of tables, in upper or lower case")
    ] = ""
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT


class ListedTable(msgspec.Struct, frozen=True):
    """A table or a view. `path` is what other operations call it: the path of the record of one of
    the Iceberg catalog, or the folder of a table that is not `in_catalog`, of Delta Lake or one of
    Iceberg that is not registered. `commit` is the last that changed it, null if it is not
    committed.
    """

    type: Literal["table", "view"]
    format: Literal["iceberg", "delta"]
    in_catalog: bool
    path: str
    namespace: list[str]
    name: str
    commit: Commit | None


class TableList(msgspec.Struct, frozen=True):
    """A page of tables, in the order of their paths. It may have fewer than asked for, or none,
    while more follow: a request looks at 2,000 folders at most.
    """

    pagination: Pagination
    results: list[ListedTable]


def list_tables(call: Call[ListTables, None]) -> TableList:
    """Returns a page of the tables that the caller may read."""
    params = call.params
    page = call.services.catalog.listed_tables.page(
        params.repository,
        params.ref,
        prefix=params.prefix,
        search=params.search,
        after=params.after,
        amount=page_amount(params.amount),
        readable=call.readable_paths(params.ref, params.prefix),
        records=call.readable_paths(params.ref, RECORDS_ROOT),
    )
    results = [
        ListedTable(
            "view" if each.table.is_view else "table",
            each.table.format,
            each.table.in_catalog,
            each.table.path,
            list(each.table.namespace),
            each.table.name,
            None if each.commit is None else to_commit(each.commit),
        )
        for each in page.items
    ]
    return TableList(to_pagination(page), results)


OPERATIONS = (
    Operation(
        id="listTables",
        tag="objects",
        method="GET",
        path="/repositories/{repository}/refs/{ref}/tables",
        summary="list Iceberg and Delta tables, and views, with the last commit that changed each",
        permission=(
            Need(Action.LIST_OBJECTS, on_repository),
            Need(Action.LIST_COMMITS, on_repository),
        ),
        params=ListTables,
        response=TableList,
        handler=list_tables,
    ),
)
