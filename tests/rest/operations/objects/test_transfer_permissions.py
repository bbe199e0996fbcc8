"""Moving and copying a prefix requires permissions on all objects below it."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.access.policies.permissions import Permission, object_arn
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement, allows
from anabranch.rest.operations.objects.transfers import OPERATIONS, ObjectsTransfer
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation_handler import required_permissions
from anabranch.rest.protocol.parameters import AtBranch

BY_ID = {operation.id: operation for operation in OPERATIONS}


def permitted(operation, source, destination, *statements):
    body = ObjectsTransfer(
        source_path=source, destination_path=destination, source_repository="old"
    )
    params = AtBranch(repository="lake", branch="main")
    services: Any = None  # not used by permissions of other repositories than images
    request: Any = None
    call = Call(services, request, params, body, None)
    wanted: list[Permission] = list(required_permissions(BY_ID[operation].permission, call))
    return all(allows(statements, permission, "ada") for permission in wanted)


def statement(effect, action, repository, path):
    return Statement(effect, (action,), (object_arn(repository, path),))


@pytest.mark.parametrize("operation", ["moveObjects", "copyObjects"])
def test_transfer_of_a_prefix_sees_denials_below_it(operation):
    secret = statement(Effect.DENY, "fs:ReadObject", "old", "raw/secret/*")
    final = statement(Effect.DENY, "fs:WriteObject", "lake", "out/final.csv")
    assert permitted(operation, "raw/", "out/", ALLOW_ALL)
    assert not permitted(operation, "raw/", "out/", ALLOW_ALL, secret)
    assert not permitted(operation, "", "out/", ALLOW_ALL, secret)
    assert not permitted(operation, "raw/", "out/", ALLOW_ALL, final)
    assert permitted(operation, "raw/open/", "out/", ALLOW_ALL, secret)
    assert permitted(operation, "raw/a", "out/a", ALLOW_ALL, secret, final)


@pytest.mark.parametrize("operation", ["moveObjects", "copyObjects"])
def test_transfer_of_a_prefix_needs_all_below_source_and_destination(operation):
    source = statement(Effect.ALLOW, "*", "old", "raw/*")
    destination = statement(Effect.ALLOW, "*", "lake", "out/*")
    narrower = statement(Effect.ALLOW, "*", "old", "raw/*.csv")
    assert permitted(operation, "raw/", "out/", source, destination)
    assert not permitted(operation, "raw/", "out/", source)
    assert not permitted(operation, "raw/", "out/", destination)
    assert not permitted(operation, "raw/", "out/", narrower, destination)
    assert permitted(operation, "raw/a.csv", "out/a.csv", narrower, destination)
