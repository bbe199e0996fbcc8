"""Operations on dumps of references require all permissions that lakeFS requires."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import Denied
from anabranch.rest.operations.commits import commits
from anabranch.rest.operations.repositories import refs_dump
from anabranch.rest.protocol.operation_handler import required_permissions

LISTS = {"fs:ListTags", "fs:ListBranches", "fs:ListCommits"}
CREATES = {"fs:CreateTag", "fs:CreateBranch", "fs:CreateCommit"}
NEEDED = {
    "dumpRefs": LISTS,
    "dumpSubmit": LISTS,
    "dumpStatus": LISTS,
    "restoreRefs": CREATES,
    "restoreSubmit": CREATES,
    "restoreStatus": CREATES,
    "CreateCommitRecord": {"fs:CreateCommit"},
}
OPERATIONS = [
    operation
    for operation in (*refs_dump.OPERATIONS, *commits.OPERATIONS)
    if operation.id in NEEDED
]


def test_all_operations_are_tested():
    assert {operation.id for operation in OPERATIONS} == NEEDED.keys()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_every_permission_is_needed(operation):
    call = SimpleNamespace(params=SimpleNamespace(repository="sea"), actor=None)
    needed = list(required_permissions(operation.permission, call))
    actions = NEEDED[operation.id]
    assert {str(each.action.value) for each in needed} == actions
    assert {each.resource for each in needed} == {"arn:lakefs:fs:::repository/sea"}
    for resource, allowed, expected in [
        ("arn:lakefs:fs:::repository/sea", actions, True),
        ("arn:lakefs:fs:::repository/lake", actions, False),
        *(("arn:lakefs:fs:::repository/sea", actions - {action}, False) for action in actions),
    ]:
        statement = Statement(Effect.ALLOW, tuple(allowed), (resource,))
        actor = Actor(username="me", statements=(statement,))
        if expected:
            authorize(actor, needed)
        else:
            with pytest.raises(Denied):
                authorize(actor, needed)
