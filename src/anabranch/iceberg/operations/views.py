"""Views: list, create, load, check, replace, drop and rename."""

from __future__ import annotations

from typing import Any

import msgspec

from anabranch.access.policies.permissions import Action, Permission
from anabranch.catalog.tables.iceberg.identifiers import VIEW_FILE, Identifier, record_path
from anabranch.catalog.tables.iceberg.table_commits import TableCommit
from anabranch.http.response import Response
from anabranch.iceberg.answers import table_response
from anabranch.iceberg.call import Call
from anabranch.iceberg.operation import Operation
from anabranch.iceberg.operations.recorded_tables import answer_table, no_content, record_table
from anabranch.iceberg.operations.tables import (
    begin_creation,
    find_table,
    list_records,
    rename_record,
    to_rename,
    writing_properties,
)

__all__ = ["OPERATIONS"]

_Objects = list[dict[str, Any]]


class _Creation(msgspec.Struct):
    name: str


class _Commit(msgspec.Struct):
    updates: _Objects
    requirements: _Objects = []


_creation = msgspec.json.Decoder(_Creation)
_commit = msgspec.json.Decoder(_Commit)


def list_views(call: Call) -> Response:
    """Returns the views of a namespace."""
    return list_records(call, VIEW_FILE)


def create_view(call: Call) -> Response:
    """Creates a view, at a location that the catalog chooses."""
    tables, place = call.services.catalog.iceberg.tables, call.place
    identifier, request, writing = begin_creation(call, call.body(_creation).name)
    area = tables.new_area(place, identifier, VIEW_FILE)
    metadata = tables.describe_view(area, request)
    file = tables.store(area, metadata)
    record_table(call, lambda: file.location, area, has_keys=False)
    new = tables.new_record(area, metadata, file)
    tables.create(place, identifier, new, writing, verb="create view", kind=VIEW_FILE)
    return table_response(call, area, record_path(identifier, VIEW_FILE), file, has_keys=False)


def load_view(call: Call) -> Response:
    """Returns a view."""
    found = find_table(call, Action.READ_OBJECT, file=VIEW_FILE)
    file = call.services.catalog.iceberg.tables.metadata(found)
    return table_response(call, found.area, found.path, file, has_keys=False)


def view_exists(call: Call) -> Response:
    """Returns a response without a body."""
    find_table(call, Action.READ_OBJECT, file=VIEW_FILE)
    return Response(204)


def replace_view(call: Call) -> Response:
    """Commits to a view, mostly a new version of it."""
    body, place = call.body(_commit), call.place
    call.check_new_modes(body.updates)
    found = find_table(call, Action.READ_OBJECT, Action.WRITE_OBJECT, file=VIEW_FILE)
    writing = call.writing(place, writing_properties(call, found, place))
    commit = TableCommit(
        identifier=call.identifier,
        requirements=body.requirements,
        updates=body.updates,
        area=found.area.id,
        is_view=True,
    )
    tables = call.services.catalog.iceberg.tables
    change = tables.begin(place, [commit])
    record_table(call, lambda: change.files[commit.path].location, found.area, has_keys=False)
    tables.commit(place, change, writing)
    return table_response(call, found.area, found.path, change.files[commit.path], has_keys=False)


def drop_view(call: Call) -> Response:
    """Removes a view from its branch."""
    found = find_table(call, Action.DELETE_OBJECT, file=VIEW_FILE)
    place = call.place
    writing = call.writing(place, writing_properties(call, found, place))
    call.services.catalog.iceberg.tables.drop(place, found, writing)
    return Response(204)


def rename_view(call: Call) -> Response:
    """Gives a view another name on its branch."""
    return rename_record(call, VIEW_FILE)


def _to_create(call: Call) -> list[Permission]:
    path = record_path(Identifier(call.namespace, call.body(_creation).name), VIEW_FILE)
    return [call.creating(path)]


def _to_read(call: Call) -> list[Permission]:
    return [call.on_table(Action.READ_OBJECT, VIEW_FILE)]


def _to_replace(call: Call) -> list[Permission]:
    return [*_to_read(call), call.on_table(Action.WRITE_OBJECT, VIEW_FILE)]


_ROUTE = "/v1/{prefix}/namespaces/{namespace}/views"
_ONE = f"{_ROUTE}/{{view}}"

OPERATIONS = (
    Operation(
        id="iceberg listViews",
        method="GET",
        route=_ROUTE,
        needs=lambda call: [call.listing(Action.LIST_VIEWS, call.full)],
        handler=list_views,
    ),
    Operation(
        id="iceberg createView",
        method="POST",
        route=_ROUTE,
        needs=_to_create,
        handler=create_view,
        answer=answer_table,
    ),
    Operation(id="iceberg loadView", method="GET", route=_ONE, needs=_to_read, handler=load_view),
    Operation(
        id="iceberg viewExists", method="HEAD", route=_ONE, needs=_to_read, handler=view_exists
    ),
    Operation(
        id="iceberg replaceView",
        method="POST",
        route=_ONE,
        needs=_to_replace,
        handler=replace_view,
        answer=answer_table,
    ),
    Operation(
        id="iceberg dropView",
        method="DELETE",
        route=_ONE,
        needs=lambda call: [call.on_table(Action.DELETE_OBJECT, VIEW_FILE)],
        handler=drop_view,
        answer=no_content,
    ),
    Operation(
        id="iceberg renameView",
        method="POST",
        route="/v1/{prefix}/views/rename",
        needs=lambda call: to_rename(call, VIEW_FILE),
        handler=rename_view,
        answer=no_content,
    ),
)
