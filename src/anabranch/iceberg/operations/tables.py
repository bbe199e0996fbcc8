"""Tables: list, create, load, check, drop, rename; keys of their files, and metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from anabranch.access.policies.permissions import Action, Permission
from anabranch.catalog.tables.iceberg.changes import Writing
from anabranch.catalog.tables.iceberg.identifiers import TABLE_FILE, Identifier, record_path
from anabranch.catalog.tables.iceberg.metadata_files import MetadataFile
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.catalog.tables.iceberg.tables import FoundTable
from anabranch.errors import Corrupt, Invalid, NotFound
from anabranch.http.response import Response
from anabranch.iceberg.answers import (
    json_response,
    named_snapshots,
    not_modified,
    table_response,
)
from anabranch.iceberg.call import Call
from anabranch.iceberg.delegation import file_settings, table_keys
from anabranch.iceberg.operation import Operation
from anabranch.iceberg.operations.paging import read_page
from anabranch.iceberg.operations.recorded_tables import answer_table, no_content, record_table
from anabranch.tables.iceberg.commits.encoded_metadata import encode_metadata

__all__ = ["OPERATIONS", "begin_creation", "find_table", "to_rename", "writing_properties"]


class _Creation(msgspec.Struct, rename="kebab"):
    name: str
    stage_create: bool = False


class _Named(msgspec.Struct):
    namespace: list[str]
    name: str


class _Renaming(msgspec.Struct):
    source: _Named
    destination: _Named


_object = msgspec.json.Decoder(dict[str, Any])
_creation = msgspec.json.Decoder(_Creation)
_renaming = msgspec.json.Decoder(_Renaming)


def list_tables(call: Call) -> Response:
    """Returns the tables of a namespace."""
    return list_records(call, TABLE_FILE)


def list_records(call: Call, file: str) -> Response:
    """Returns the tables or the views of a namespace, by the name of their files."""
    namespaces, place = call.services.catalog.iceberg.namespaces, call.place
    readable = call.readable(place)
    namespaces.require(place, call.namespace, readable)

    def names(after: str) -> Iterator[str]:
        return namespaces.names(place, call.namespace, file, readable, after)

    page, token = read_page(call, names)
    named = list(call.named)
    identifiers = [{"namespace": named, "name": name} for name in page]
    return json_response({"identifiers": identifiers, "next-page-token": token})


def create_table(call: Call) -> Response:
    """Creates a table, or prepares one that a commit creates. A location that the client asks for
    is not used: the catalog chooses it, and tells it in the response.
    """
    tables, place = call.services.catalog.iceberg.tables, call.place
    body = call.body(_creation)
    identifier, request, writing = begin_creation(call, body.name)
    area = tables.new_area(place, identifier)
    metadata = tables.describe(area, request)
    path = record_path(identifier)
    if body.stage_create:
        content = encode_metadata(metadata)
        return table_response(call, area, path, MetadataFile("", content))
    file = tables.store(area, metadata)
    record_table(call, lambda: file.location, area)
    tables.create(place, identifier, tables.new_record(area, metadata, file), writing)
    return table_response(call, area, path, file)


def begin_creation(call: Call, name: str) -> tuple[Identifier, dict[str, Any], Writing]:
    """Returns the identifier of a new table or view, the request that describes it, and how it is
    written. Raises Invalid, Denied.
    """
    request, place = call.body(_object), call.place
    properties = request.get("properties") or {}
    call.check_mode(properties)
    writing = call.writing(place, [properties, call.namespace_properties(place, call.namespace)])
    return Identifier(call.namespace, name), request, writing


def load_table(call: Call) -> Response:
    """Returns a table: of its snapshots all, or those that its branches and tags name."""
    found = find_table(call, Action.READ_OBJECT)
    same = not_modified(call, found.record)
    if same is not None:
        return same
    wanted = call.query.get("snapshots", "all")
    if wanted not in {"all", "refs"}:
        raise Invalid("snapshots is all or refs", kind="invalid_snapshots")
    file = call.services.catalog.iceberg.tables.metadata(found)
    content = named_snapshots(file.content) if wanted == "refs" else file.content
    return table_response(
        *(call, found.area, found.path, file),
        has_keys=not found.record.registered,
        content=content,
    )


def load_credentials(call: Call) -> Response:
    """Returns keys for the files of a table."""
    found = find_table(call, Action.READ_OBJECT)
    credentials = []
    if not found.record.registered:
        config = file_settings(call) | table_keys(call, found.area, found.path)
        credentials.append({"prefix": f"{found.area.location}/", "config": config})
    return json_response({"storage-credentials": credentials})


def table_exists(call: Call) -> Response:
    """Returns a response without a body."""
    find_table(call, Action.READ_OBJECT)
    return Response(204)


def report_metrics(_: Call) -> Response:
    """Accepts metrics of a scan or a commit, which nothing is done with."""
    return Response(204)


def drop_table(call: Call) -> Response:
    """Removes a table from its branch; its files stay for others."""
    found = find_table(call, Action.DELETE_OBJECT)
    place, tables = call.place, call.services.catalog.iceberg.tables
    writing = call.writing(place, writing_properties(call, found, place))
    purge = call.query.get("purgeRequested", "false").lower() == "true"
    tables.drop(place, found, writing, purge=purge)
    return Response(204)


def rename_table(call: Call) -> Response:
    """Gives a table another name on its branch."""
    return rename_record(call, TABLE_FILE)


def rename_record(call: Call, file: str) -> Response:
    """Gives a table or a view another name, by the name of their files."""
    body = call.body(_renaming)
    source, target = tuple(body.source.namespace), tuple(body.destination.namespace)
    place = call.scope.place(source)
    if call.scope.place(target) != place:
        raise Invalid("a table stays on its branch when it is renamed", kind="other_reference")
    tables = call.services.catalog.iceberg.tables
    identifier = Identifier(call.scope.inner(source), body.source.name)
    found = tables.get_record(place, identifier, file)
    actions = (Action.DELETE_OBJECT, Action.WRITE_OBJECT)
    if found.area.path != found.path:
        call.authorize_at(place, found.area.path, *actions)
    name = Identifier(call.scope.inner(target), body.destination.name)
    writing = call.writing(place, writing_properties(call, found, place))
    tables.rename(place, found, name, file, writing)
    return Response(204)


def find_table(call: Call, *actions: Action, file: str = TABLE_FILE) -> FoundTable:
    """Returns the table of a call, to whose area the caller has rights too. Raises NotFound."""
    tables = call.services.catalog.iceberg.tables
    return call.authorize_area(tables.get_record(call.place, call.identifier, file), *actions)


def writing_properties(call: Call, found: FoundTable, place: Place) -> list[dict[str, str]]:
    """Returns the properties that say how a change of a table is made: its own, and those of its
    namespace.
    """
    try:
        decoded = call.services.catalog.iceberg.tables.decoded(found)
        own = decoded.get("properties") or {}
    except (NotFound, Corrupt, Invalid):  # a table with lost or damaged metadata can be dropped
        own = {}
    return [own, dict(call.namespace_properties(place, found.identifier.namespace))]


def _to_create(call: Call) -> list[Permission]:
    return [call.creating(record_path(Identifier(call.namespace, call.body(_creation).name)))]


def to_rename(call: Call, file: str = TABLE_FILE) -> list[Permission]:
    """Returns the permissions that renaming needs, at both names."""
    body = call.body(_renaming)
    source, target = tuple(body.source.namespace), tuple(body.destination.namespace)
    before = record_path(Identifier(call.scope.inner(source), body.source.name), file)
    after = record_path(Identifier(call.scope.inner(target), body.destination.name), file)
    place, destination = call.scope.place(source), call.scope.place(target)
    return [
        call.on_path(Action.READ_OBJECT, before, place),
        call.on_path(Action.DELETE_OBJECT, before, place),
        call.creating(after, destination),
    ]


def _to_read(call: Call) -> list[Permission]:
    return [call.on_table(Action.READ_OBJECT)]


_ROUTE = "/v1/{prefix}/namespaces/{namespace}/tables"
_ONE = f"{_ROUTE}/{{table}}"

OPERATIONS = (
    Operation(
        id="iceberg listTables",
        method="GET",
        route=_ROUTE,
        needs=lambda call: [call.listing(Action.LIST_TABLES, call.full)],
        handler=list_tables,
    ),
    Operation(
        id="iceberg createTable",
        method="POST",
        route=_ROUTE,
        needs=_to_create,
        handler=create_table,
        answer=answer_table,
    ),
    Operation(id="iceberg loadTable", method="GET", route=_ONE, needs=_to_read, handler=load_table),
    Operation(
        id="iceberg tableExists", method="HEAD", route=_ONE, needs=_to_read, handler=table_exists
    ),
    Operation(
        id="iceberg loadCredentials",
        method="GET",
        route=f"{_ONE}/credentials",
        needs=_to_read,
        handler=load_credentials,
    ),
    Operation(
        id="iceberg reportMetrics",
        method="POST",
        route=f"{_ONE}/metrics",
        needs=_to_read,
        handler=report_metrics,
    ),
    Operation(
        id="iceberg dropTable",
        method="DELETE",
        route=_ONE,
        needs=lambda call: [call.on_table(Action.DELETE_OBJECT)],
        handler=drop_table,
        answer=no_content,
    ),
    Operation(
        id="iceberg renameTable",
        method="POST",
        route="/v1/{prefix}/tables/rename",
        needs=to_rename,
        handler=rename_table,
        answer=no_content,
    ),
)
