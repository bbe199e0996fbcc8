"""Commits: to one table, and to several at once, which all take effect or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from anabranch.access.policies.permissions import Action, Permission
from anabranch.catalog.tables.iceberg.identifiers import Identifier, record_path
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.catalog.tables.iceberg.table_commits import (
    ASSERT_CREATE,
    TableCommit,
    table_not_found,
)
from anabranch.errors import AlreadyExists, Invalid
from anabranch.http.response import Response
from anabranch.iceberg.answers import table_response
from anabranch.iceberg.call import Call
from anabranch.iceberg.operation import Operation
from anabranch.iceberg.operations.recorded_tables import answer_table, no_content, record_table
from anabranch.model.tables.table_area import AREAS

__all__ = ["OPERATIONS"]

_Objects = list[dict[str, Any]]
_MAX_TABLES = 1000


class _Name(msgspec.Struct):
    namespace: list[str]
    name: str


class _Commit(msgspec.Struct):
    requirements: _Objects
    updates: _Objects
    identifier: _Name | None = None


class _Transaction(msgspec.Struct, rename="kebab"):
    table_changes: list[_Commit]


_commit = msgspec.json.Decoder(_Commit)
_transaction = msgspec.json.Decoder(_Transaction)


def commit_table(call: Call) -> Response:
    """Commits to a table, or creates one that was prepared."""
    body, place = call.body(_commit), call.place
    commit, properties, registered = _prepare(call, place, call.identifier, body)
    writing = call.writing(place, [*properties, call.namespace_properties(place, call.namespace)])
    tables = call.services.catalog.iceberg.tables
    change = tables.begin(place, [commit])
    area = call.services.catalog.table_areas.find_by_address(place.repository, commit.area)
    record_table(call, lambda: change.files[commit.path].location, area, has_keys=not registered)
    tables.commit(place, change, writing)
    return table_response(
        call, area, commit.path, change.files[commit.path], has_keys=not registered
    )


def commit_transaction(call: Call) -> Response:
    """Commits to several tables of one branch, by one commit of it."""
    place, named = _named(call)
    commits: list[TableCommit] = []
    modes: list[list[Mapping[str, Any]]] = []
    for identifier, body in named:
        commit, properties, _ = _prepare(call, place, identifier, body)
        commits.append(commit)
        modes.append([*properties, call.namespace_properties(place, identifier.namespace)])
    writing = call.writing(place, *modes)
    tables = call.services.catalog.iceberg.tables
    tables.commit(place, tables.begin(place, commits), writing)
    return Response(204)


def _prepare(
    call: Call, place: Place, identifier: Identifier, body: _Commit
) -> tuple[TableCommit, list[Mapping[str, Any]], bool]:
    """Returns a commit of which the caller may change the table, the table's properties, and
    whether it was registered. Raises NotFound, Denied.
    """
    call.check_new_modes(body.updates)
    tables = call.services.catalog.iceberg.tables
    found = tables.find_record(place, identifier)
    commit = TableCommit(
        identifier=identifier,
        requirements=body.requirements,
        updates=body.updates,
        area=_prepared_area(place, body.updates) if found is None else found.area.id,
    )
    if found is None:
        if not commit.creates:
            raise table_not_found(identifier)
        tables.require_free(place, identifier)
        area = call.services.catalog.table_areas.find_by_address(place.repository, commit.area)
        if area.path != commit.path:
            raise Invalid(
                "the location is not the one that was given to this table",
                kind="foreign_location",
            )
        return commit, [_set_properties(body.updates)], False
    if commit.creates:
        raise AlreadyExists("Requirement failed: table already exists", kind="table_already_exists")
    if found.area.path != found.path:
        call.authorize_at(place, found.area.path, Action.READ_OBJECT, Action.WRITE_OBJECT)
    metadata = tables.decoded(found)
    return commit, [metadata.get("properties") or {}], found.record.registered


def _set_properties(updates: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    properties: dict[str, Any] = {}
    for update in updates:
        named = update.get("updates")
        if update.get("action") == "set-properties" and isinstance(named, dict):
            properties |= named
    return properties


def _prepared_area(place: Place, updates: Sequence[Mapping[str, Any]]) -> str:
    """Returns the area that the updates of a new table name. Raises Invalid."""
    root = f"s3://{place.repository}/{AREAS}/"
    for update in updates:
        location = update.get("location")
        if update.get("action") == "set-location" and isinstance(location, str):
            return location.removeprefix(root).rstrip("/") if location.startswith(root) else ""
    return ""


def _named(call: Call) -> tuple[Place, list[tuple[Identifier, _Commit]]]:
    """Returns the branch and the tables of a transaction. Raises Invalid."""
    changes = call.body(_transaction).table_changes
    if not 0 < len(changes) <= _MAX_TABLES:
        raise Invalid(f"a transaction has 1 to {_MAX_TABLES} tables", kind="invalid_body")
    named: list[tuple[Identifier, _Commit]] = []
    places = set()
    for change in changes:
        if change.identifier is None:
            raise Invalid("a change of a transaction names no table", kind="invalid_body")
        namespace = tuple(change.identifier.namespace)
        places.add(call.scope.place(namespace))
        named.append((Identifier(call.scope.inner(namespace), change.identifier.name), change))
    if len(places) > 1:
        raise Invalid("a transaction changes one branch alone", kind="other_reference")
    return places.pop(), named


def _to_commit(call: Call) -> list[Permission]:
    path = record_path(call.identifier)
    return _needed(call, call.body(_commit), path, call.place)


def _to_transact(call: Call) -> list[Permission]:
    place, named = _named(call)
    return [
        permission
        for identifier, body in named
        for permission in _needed(call, body, record_path(identifier), place)
    ]


def _needed(call: Call, body: _Commit, path: str, place: Place) -> list[Permission]:
    """Returns the permissions to commit to a table, or to create it if the commit says so."""
    if any(each.get("type") == ASSERT_CREATE for each in body.requirements):
        return [call.creating(path, place)]
    return [call.on_path(each, path, place) for each in (Action.READ_OBJECT, Action.WRITE_OBJECT)]


OPERATIONS = (
    Operation(
        id="iceberg updateTable",
        method="POST",
        route="/v1/{prefix}/namespaces/{namespace}/tables/{table}",
        needs=_to_commit,
        handler=commit_table,
        answer=answer_table,
    ),
    Operation(
        id="iceberg commitTransaction",
        method="POST",
        route="/v1/{prefix}/transactions/commit",
        needs=_to_transact,
        handler=commit_transaction,
        answer=no_content,
    ),
)
