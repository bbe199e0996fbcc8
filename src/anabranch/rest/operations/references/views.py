"""A view of the Iceberg catalog: its SQL in each dialect, its columns and its versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action
from anabranch.access.policies.table_permissions import record_permission
from anabranch.catalog.tables.iceberg.identifiers import (
    VIEW_FILE,
    Identifier,
    identifier_at,
    record_path,
)
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.errors import Corrupt, Invalid
from anabranch.rest.operations.queries.table_needs import of_record
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtRef
from anabranch.rest.protocol.resources import on_object
from anabranch.tables.iceberg.commits.view_shapes import VIEW
from anabranch.tables.iceberg.type_texts import type_text

__all__ = ["OPERATIONS"]


class GetView(AtRef, frozen=True, kw_only=True):
    """Parameters of getView."""

    path: Annotated[
        str, Meta(min_length=1, description="of the view's record, as listTables returns it")
    ]


class ViewColumn(msgspec.Struct, frozen=True):
    """A column of a view, with its type in Iceberg."""

    name: str
    type: str
    required: bool
    comment: str


class ViewSql(msgspec.Struct, frozen=True):
    """The definition of a view in a dialect of SQL."""

    dialect: str
    sql: str


class ViewVersion(msgspec.Struct, frozen=True):
    """A version of a view; `time` is in milliseconds since 1970."""

    version: str
    time: int
    sql: list[ViewSql]


class View(msgspec.Struct, frozen=True):
    """A view at a reference: the columns and the SQL of its current version, and all versions, the
    newest first. Names in the SQL without a catalog or a namespace are those of `default_catalog`,
    else of the catalog of the query, and of `default_namespace`.
    """

    namespace: list[str]
    name: str
    version: str
    schema: list[ViewColumn]
    sql: list[ViewSql]
    default_catalog: str | None
    default_namespace: list[str]
    properties: dict[str, str]
    versions: list[ViewVersion]


def get_view(call: Call[GetView, None]) -> View:
    """Returns a view."""
    params, tables = call.params, call.services.catalog.iceberg.tables
    identifier = identifier_at(params.path)
    if identifier is None or params.path != record_path(identifier, VIEW_FILE):
        raise Invalid(
            f"{params.path} is not the path of a view's record",
            kind="no_view",
            hint="listTables returns the paths of views: _tables/NAMESPACE/VIEW/view.json.",
        )
    found = tables.get_record(Place(params.repository, params.ref), identifier, VIEW_FILE)
    if found.area.path != found.path:  # it has been renamed
        reading = record_permission(Action.READ_OBJECT, params.repository, found.area.path, "")
        authorize(call.actor, [reading])
    try:
        return _to_view(identifier, tables.decoded(found))
    except (LookupError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise Corrupt(
            f"{params.path}: not the metadata of a view: {error!r}", kind="damaged_record"
        ) from error


def _to_view(identifier: Identifier, metadata: Mapping[str, Any]) -> View:
    """Returns a view by its metadata. Raises LookupError, TypeError, AttributeError and
    ValidationError for damaged ones: who may write the record chooses them.
    """
    VIEW.convert(metadata)
    versions = sorted(metadata["versions"], key=lambda each: each["version-id"], reverse=True)
    current = {each["version-id"]: each for each in versions}[metadata["current-version-id"]]
    schemas = {each["schema-id"]: each for each in metadata["schemas"]}
    return View(
        list(identifier.namespace),
        identifier.name,
        str(current["version-id"]),
        [_column(each) for each in schemas[current["schema-id"]]["fields"]],
        _sql(current),
        current.get("default-catalog"),
        current["default-namespace"],
        metadata.get("properties") or {},
        [
            ViewVersion(str(each["version-id"]), each["timestamp-ms"], _sql(each))
            for each in versions
        ],
    )


def _column(field: dict[str, Any]) -> ViewColumn:
    required, comment = bool(field.get("required")), field.get("doc") or ""
    return ViewColumn(field["name"], type_text(field["type"]), required, comment)


def _sql(version: dict[str, Any]) -> list[ViewSql]:
    return [ViewSql(each["dialect"], each["sql"]) for each in version["representations"]]


OPERATIONS = (
    Operation(
        id="getView",
        tag="objects",
        method="GET",
        path="/repositories/{repository}/refs/{ref}/tables/view",
        summary="get the SQL and the columns of a view of the Iceberg catalog",
        permission=(Need(Action.READ_OBJECT, on_object, of=of_record),),
        params=GetView,
        response=View,
        handler=get_view,
    ),
)
