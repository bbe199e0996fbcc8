"""The table of operations: complete, unique, and nothing in it without a permission."""

from __future__ import annotations

import inspect
from collections import Counter

import lakefs_sdk.api
import pytest

from anabranch.access.permissions import Action
from anabranch.rest.operation import Access, BodyKind, Operation
from anabranch.rest.parameters import InRepository, Location, parameters_of
from anabranch.rest.table import OPERATIONS

NO_AUTH = {
    "setupCommPrefs",
    "getSetupState",
    "setup",
    "login",
    "externalPrincipalLogin",
    "stsLogin",
    "getAuthCapabilities",
    "healthCheck",
    "oauthCallback",
}
ANYONE = {"getCurrentUser"}
ANY_USER = {"getConfig", "getLakeFSVersion", "getGarbageCollectionConfig", "postStatsEvents"}


def test_there_are_lakefs_134_operations():
    assert len(OPERATIONS) == 134
    assert max(Counter(operation.id for operation in OPERATIONS).values()) == 1
    routes = Counter((operation.method, operation.path) for operation in OPERATIONS)
    assert max(routes.values()) == 1


def test_every_operation_of_the_published_client_is_there():
    published = set()
    for name, api in vars(lakefs_sdk.api).items():
        if name.endswith("Api") and inspect.isclass(api):
            published |= {
                method.removesuffix("_with_http_info").replace("_", "").lower()
                for method in vars(api)
                if method.endswith("_with_http_info")
            }
    ours = {operation.id.lower() for operation in OPERATIONS}
    assert len(published) > 125
    assert published <= ours


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_permission(operation):
    if operation.id in NO_AUTH:
        assert operation.permission is Access.NO_AUTH
    elif operation.id in ANYONE:
        assert operation.permission is Access.ANYONE
    elif operation.id in ANY_USER:
        assert operation.permission is Access.ANY_USER
    else:
        assert operation.permission
        assert all(need.action in Action for need in operation.permission)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_the_path_is_declared_by_the_parameters(operation):
    parameters = parameters_of(operation.params, frozenset(operation.path_names))
    in_path = {p.name for p in parameters if p.location is Location.PATH}
    assert in_path == set(operation.path_names)
    assert operation.path.startswith("/")


def test_only_operations_without_a_body_are_quick():
    quick = [operation for operation in OPERATIONS if operation.quick]
    assert {operation.body_kind for operation in quick} == {BodyKind.NONE}
    assert {operation.method for operation in quick} <= {"GET", "HEAD"}


def declaration(**changes: object) -> dict[str, object]:
    return {
        "id": "x",
        "tag": "x",
        "method": "GET",
        "path": "/x",
        "summary": "x",
        "permission": Access.ANY_USER,
    } | changes


def test_no_operation_can_be_declared_without_a_permission():
    fields = declaration()
    del fields["permission"]
    with pytest.raises(TypeError, match="permission"):
        Operation(**fields)
    for nothing in ((), None, True):
        with pytest.raises(TypeError, match="permission"):
            Operation(**declaration(permission=nothing))


def test_no_operation_with_a_body_can_be_quick():
    with pytest.raises(TypeError, match="quick"):
        Operation(**declaration(body=dict[str, str], quick=True))


def test_a_path_needs_its_parameters():
    with pytest.raises(TypeError, match="branch"):
        parameters_of(InRepository, frozenset({"repository", "branch"}))
