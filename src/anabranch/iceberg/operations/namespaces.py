"""Namespaces: list, create, load, check, drop, and their properties."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import msgspec

from anabranch.access.actors.visible_items import visible_items
from anabranch.access.policies.permissions import (
    ANY,
    Action,
    Permission,
    branch_arn,
    repository_arn,
)
from anabranch.access.policies.table_permissions import changing_permission
from anabranch.catalog.tables.iceberg.identifiers import Namespace, namespace_path
from anabranch.catalog.tables.iceberg.namespaces import namespace_not_found
from anabranch.errors import AlreadyExists, Invalid, NotFound
from anabranch.http.response import Response
from anabranch.iceberg.answers import json_response
from anabranch.iceberg.call import Call
from anabranch.iceberg.operation import Operation
from anabranch.iceberg.operations.paging import read_page
from anabranch.iceberg.operations.recorded_tables import no_content
from anabranch.iceberg.scopes import parse_namespace

__all__ = ["OPERATIONS"]

_PAGE = 1000


class _Creation(msgspec.Struct):
    namespace: list[str]
    properties: dict[str, str] = {}


class _PropertyChanges(msgspec.Struct):
    removals: list[str] = []
    updates: dict[str, str] = {}


_properties_of = msgspec.json.Decoder(dict[str, str])
_creation = msgspec.json.Decoder(_Creation)
_property_changes = msgspec.json.Decoder(_PropertyChanges)


def list_namespaces(call: Call) -> Response:
    """Returns the namespaces in a namespace, or at the top."""
    parent = parse_namespace(call.query.get("parent", ""))
    full = call.scope.full(parent)

    def names(after: str) -> Iterator[str]:
        if not full:
            return _repositories(call, after)
        if not full[1:]:
            return _branches(call, full[0], after)
        place, inner = call.scope.place(parent), call.scope.inner(parent)
        namespaces, readable = call.services.catalog.iceberg.namespaces, call.readable(place)
        if inner:
            namespaces.require(place, inner, readable)
        return namespaces.children(place, inner, readable, after)

    page, token = read_page(call, names)
    listed = [[*parent, name] for name in page]
    return json_response({"namespaces": listed, "next-page-token": token})


def create_namespace(call: Call) -> Response:
    """Creates a namespace."""
    body = call.body(_creation)
    named = tuple(body.namespace)
    inner = call.scope.inner(named)
    if not inner:
        raise Invalid(
            f"{'.'.join(named) or 'no name'} is no namespace within a branch",
            kind="invalid_namespace",
        )
    place = call.scope.place(named)
    call.check_mode(body.properties)
    parents = [call.namespace_properties(place, inner[:-1])] if inner[1:] else []
    writing = call.writing(place, [body.properties, *parents])
    if call.repetition is not None:
        call.repetition.outcome = lambda: msgspec.json.encode(body.properties)
    call.services.catalog.iceberg.namespaces.create(place, inner, body.properties, writing)
    return json_response({"namespace": body.namespace, "properties": body.properties})


def load_namespace(call: Call) -> Response:
    """Returns a namespace and its properties."""
    return json_response({"namespace": list(call.named), "properties": _properties(call)})


def namespace_exists(call: Call) -> Response:
    """Returns a response without a body."""
    _properties(call)
    return Response(204)


def drop_namespace(call: Call) -> Response:
    """Removes an empty namespace."""
    if not call.namespace:
        raise Invalid("repositories and branches are not dropped here", kind="invalid_namespace")
    place = call.place
    writing = call.writing(place, [call.namespace_properties(place, call.namespace)])
    call.services.catalog.iceberg.namespaces.drop(place, call.namespace, writing)
    return Response(204)


def change_properties(call: Call) -> Response:
    """Sets and removes properties of a namespace."""
    body = call.body(_property_changes)
    place, inner = call.place, call.namespace
    if not inner:
        raise Invalid("only namespaces have properties", kind="invalid_namespace")
    call.check_mode(body.updates)
    writing = call.writing(place, [body.updates, call.namespace_properties(place, inner)])
    changes = call.services.catalog.iceberg.namespaces.change_properties(
        place, inner, body.updates, body.removals, writing
    )
    return json_response(changes._asdict())


def _properties(call: Call) -> dict[str, str]:
    if not call.namespace:  # a repository, or a reference of it
        return _require_place(call)
    namespaces, place = call.services.catalog.iceberg.namespaces, call.place
    return dict(namespaces.properties(place, call.namespace, call.readable(place)))


def _require_place(call: Call) -> dict[str, str]:
    full = call.scope.full(call.named)
    try:
        repository = call.services.catalog.repositories.get(full[0])
        reference = full[1] if full[1:] else repository.default_branch
        call.services.catalog.objects.resolve(full[0], reference)
    except (NotFound, Invalid) as error:
        raise namespace_not_found(call.named) from error
    return {}


def _repositories(call: Call, after: str) -> Iterator[str]:
    listed = call.services.catalog.repositories.list
    for _ in count():
        page = visible_items(
            listed,
            call.actor,
            lambda repository: repository.id,
            lambda name: Permission(Action.READ_REPOSITORY, repository_arn(name)),
            after=after,
            amount=_PAGE,
        )
        yield from (repository.id for repository in page.items)
        if not page.has_more:
            return
        after = page.items[-1].id


def _branches(call: Call, repository: str, after: str) -> Iterator[str]:
    branches = call.services.catalog.branches
    for _ in count():
        page = visible_items(
            lambda *, after, amount: branches.list(repository, after=after, amount=amount),
            call.actor,
            lambda branch: branch.id,
            lambda name: Permission(Action.READ_BRANCH, branch_arn(repository, name)),
            after=after,
            amount=_PAGE,
        )
        yield from (branch.id for branch in page.items)
        if not page.has_more:
            return
        after = page.items[-1].id


def _to_list(call: Call) -> list[Permission]:
    full = call.scope.full(parse_namespace(call.query.get("parent", "")))
    if not full:
        return [Permission(Action.LIST_REPOSITORIES, ANY)]
    if not full[1:]:
        return [Permission(Action.LIST_BRANCHES, repository_arn(full[0]))]
    return [call.listing(Action.LIST_NAMESPACES, full)]


def _to_read(call: Call) -> list[Permission]:
    action = Action.GET_NAMESPACE if call.full[2:] else Action.LIST_NAMESPACES
    return [call.listing(action, call.full)]


def _to_create(call: Call) -> list[Permission]:
    named: Namespace = tuple(call.body(_creation).namespace)
    if not call.scope.inner(named):
        full = call.scope.full(named)
        if not full:
            raise Invalid("a namespace has at least one part", kind="invalid_namespace")
        raise AlreadyExists(f"{'.'.join(full)} is no namespace to create", kind="already_exists")
    place, path = call.scope.place(named), namespace_path(call.scope.inner(named))
    return [call.creating(path, place)]


def _to_change(call: Call) -> list[Permission]:
    place, inner = call.place, call.namespace
    if not inner:
        raise Invalid("only namespaces have properties", kind="invalid_namespace")
    return [changing_permission(place.repository, namespace_path(inner), place.reference)]


def _answer_creation(call: Call, recorded: bytes) -> Response:
    named = call.body(_creation).namespace
    return json_response({"namespace": named, "properties": _properties_of.decode(recorded)})


_ROUTE = "/v1/{prefix}/namespaces"
_ONE = f"{_ROUTE}/{{namespace}}"

OPERATIONS = (
    Operation(
        id="iceberg listNamespaces",
        method="GET",
        route=_ROUTE,
        needs=_to_list,
        handler=list_namespaces,
    ),
    Operation(
        id="iceberg createNamespace",
        method="POST",
        route=_ROUTE,
        needs=_to_create,
        handler=create_namespace,
        answer=_answer_creation,
    ),
    Operation(
        id="iceberg loadNamespaceMetadata",
        method="GET",
        route=_ONE,
        needs=_to_read,
        handler=load_namespace,
    ),
    Operation(
        id="iceberg namespaceExists",
        method="HEAD",
        route=_ONE,
        needs=_to_read,
        handler=namespace_exists,
    ),
    Operation(
        id="iceberg dropNamespace",
        method="DELETE",
        route=_ONE,
        needs=lambda call: [call.on_namespace(Action.DELETE_OBJECT)],
        handler=drop_namespace,
        answer=no_content,
    ),
    Operation(
        id="iceberg updateProperties",
        method="POST",
        route=f"{_ONE}/properties",
        needs=_to_change,
        handler=change_properties,
    ),
)
