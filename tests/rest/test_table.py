"""The table of operations is complete, and every operation declares a permission."""

from __future__ import annotations

import inspect
from collections import Counter

import lakefs_sdk.api
import pytest

from anabranch.access.policies.permissions import Action
from anabranch.http.execution import BRIEF, BodyKind, Execution
from anabranch.rest.protocol.operation import Access, Operation
from anabranch.rest.protocol.parameters import InRepository, Location, declared_parameters
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


def test_every_operation_of_the_published_client_exists():
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


def test_each_operation_has_the_permission_of_lakefs():
    for operation in OPERATIONS:
        if operation.id in NO_AUTH:
            assert operation.permission is Access.NO_AUTH, operation.id
        elif operation.id in ANYONE:
            assert operation.permission is Access.ANYONE, operation.id
        elif operation.id in ANY_USER:
            assert operation.permission is Access.ANY_USER, operation.id
        else:
            assert operation.permission, operation.id
            assert all(need.action in Action for need in operation.permission), operation.id


def test_the_path_is_declared_by_the_parameters():
    for operation in OPERATIONS:
        parameters = declared_parameters(operation.params, frozenset(operation.path_names))
        in_path = {p.name for p in parameters if p.location is Location.PATH}
        assert in_path == set(operation.path_names), operation.id
        assert operation.path.startswith("/"), operation.id


def test_only_reads_without_a_body_are_executed_inline():
    inline = [
        operation
        for operation in OPERATIONS
        if BRIEF.get(operation.execution, operation.execution) is Execution.INLINE
    ]
    assert {operation.body_kind for operation in inline} == {BodyKind.NONE}
    assert {operation.method for operation in inline} <= {"GET", "HEAD"}


def declaration(**changes: object) -> dict[str, object]:
    return {
        "id": "x",
        "tag": "x",
        "method": "GET",
        "path": "/x",
        "summary": "x",
        "permission": Access.ANY_USER,
        "handler": lambda _: None,
    } | changes


def test_a_declaration_without_a_permission_raises_type_error():
    fields = declaration()
    del fields["permission"]
    with pytest.raises(TypeError, match="permission"):
        Operation(**fields)
    for nothing in ((), None, True):
        with pytest.raises(TypeError, match="permission"):
            Operation(**declaration(permission=nothing))


@pytest.mark.parametrize(
    "changes",
    [
        {"body": dict[str, str], "execution": Execution.INLINE},
        {"stream": True, "execution": Execution.INLINE},
        {"stream": True, "execution": Execution.POOLED},
        {"body": dict[str, str], "execution": Execution.STREAMED},
        {"execution": Execution.STREAMED},
        {"body": dict[str, str], "execution": Execution.BRIEF_READ},
        {"stream": True, "execution": Execution.BRIEF_CHANGE},
    ],
)
def test_a_declaration_with_an_execution_that_its_body_forbids_raises_type_error(changes):
    with pytest.raises(TypeError, match="operation x"):
        Operation(**declaration(**changes))


def test_a_path_parameter_without_a_field_raises_type_error():
    with pytest.raises(TypeError, match="branch"):
        declared_parameters(InRepository, frozenset({"repository", "branch"}))
