"""The escape suite: the keys of a workspace, and every operation of the API."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from anabranch.rest.protocol.confined_operations import CONFINED_OPERATIONS
from anabranch.rest.routes import ALL_OPERATIONS
from anabranch.rest.table import EXTENSIONS, OPERATIONS
from tests.server.access.minimal_requests import rest_request
from tests.server.access.workspaces.conftest import SECRETS
from tests.server.access.workspaces.rest_escapes import ESCAPES, PUBLIC, REFUSED, Escape

BELOW_BASE = {operation.id for operation in (*OPERATIONS, *EXTENSIONS)}
BY_ID = {operation.id: operation for operation in ALL_OPERATIONS}
SHORT = 12
LONG = "a" * 43


def formatted(world, text):
    return text.format(
        repository=world.repository,
        foreign=world.foreign,
        workspace=world.workspace,
        before=world.before,
        later=world.later,
        later_prefix=world.later[:SHORT],
        source=world.source,
        source_prefix=world.source[:SHORT],
    )


def filled(world, value):
    if isinstance(value, str):
        return formatted(world, value)
    if isinstance(value, Mapping):
        return {key: filled(world, each) for key, each in value.items()}
    return value


def attempt(intruder, operation, escape, client=None):
    world = intruder.world
    names = {"repository": world.repository} | filled(world, escape.names)
    request = rest_request(operation, **names)
    body = request.body
    if escape.body is not None:
        body = json.dumps(json.loads(body or b"{}") | filled(world, escape.body)).encode()
    return (client or intruder.api).request(
        request.method,
        request.path.removeprefix("/api/v1").replace("@{", "%40%7B").replace("}", "%7D"),
        params=request.query | filled(world, escape.query),
        headers=request.headers,
        content=body,
    )


def test_each_operation_has_a_case_and_each_that_keys_may_perform_has_attempts():
    assert sorted([*PUBLIC, *REFUSED, *ESCAPES]) == sorted(BY_ID)
    assert set(ESCAPES) == set(CONFINED_OPERATIONS)
    assert all(ESCAPES.values())


@pytest.mark.parametrize("operation_id", REFUSED)
def test_an_operation_is_refused_even_on_the_own_branch(unchanged, intruder, operation_id):
    world = intruder.world
    own = dict.fromkeys(
        ("branch", "ref", "sourceRef", "destinationBranch", "name", "source_branch", "workspace"),
        world.workspace,
    )
    for client in (intruder.api, intruder.pair):
        response = attempt(
            intruder, BY_ID[operation_id], Escape({**own, "path": "out/a.csv"}), client
        )
        assert response.status_code in {401, 403}, response.text
        assert not any(secret in response.content for secret in SECRETS)
    unchanged()


@pytest.mark.parametrize("operation_id", sorted(ESCAPES))
def test_an_operation_does_not_reach_outside(unchanged, intruder, operation_id):
    world = intruder.world
    for escape in ESCAPES[operation_id]:
        response = attempt(intruder, BY_ID[operation_id], escape)
        assert response.status_code < 500, (escape, response.text)
        if not escape.sees:
            refused = {401, 403, 404} if escape.may_miss else {401, 403}
            assert response.status_code in refused, (escape, response.text)
        seen = response.text
        assert not any(secret in response.content for secret in SECRETS), escape
        for hidden in ("secret/a.csv", "later.csv", "other.csv", "gone.csv"):
            assert hidden not in seen or not escape.sees, escape
        assert not escape.sees or world.foreign not in seen, escape
    unchanged()


@pytest.mark.parametrize("operation_id", PUBLIC)
def test_what_anyone_may_call_makes_no_session_of_the_creator(team, intruder, operation_id):
    if operation_id in {"setup", "healthCheck", "setupCommPrefs"}:
        return
    pair = {
        "access_key_id": intruder.world.fields["access_key_id"],
        "secret_access_key": intruder.world.fields["secret_access_key"],
    }
    operation = BY_ID[operation_id]
    base = str(team.server.url)
    request = rest_request(operation, **pair)
    outside = operation.id not in BELOW_BASE
    path = operation.path if outside else request.path
    cookie = {"Cookie": f"internal_auth_session={intruder.world.fields['token']}"}
    for headers in ({}, cookie):
        response = intruder.api.request(
            request.method,
            base + path,
            params={
                **request.query,
                "port": "8000",
                "state": LONG,
                "challenge": LONG,
                "confirm": LONG,
            },
            headers=request.headers | headers,
            content=request.body,
            follow_redirects=False,
        )
        assert "token" not in response.text or response.status_code >= 400
        assert "set-cookie" not in response.headers or "Max-Age=0" in response.headers["set-cookie"]
        assert "code=" not in response.headers.get("location", "")
        assert team.admin.name not in response.text
