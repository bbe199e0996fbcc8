"""Authorization of actors."""

from __future__ import annotations

import pytest

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, Permission, branch_arn, repository_arn
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement
from anabranch.errors import Denied, Unauthenticated

READ = Permission(Action.READ_REPOSITORY, repository_arn("lake"))
COMMIT = Permission(Action.CREATE_COMMIT, branch_arn("lake", "main"))
READER = Actor(username="ada", statements=(Statement(Effect.ALLOW, ("fs:Read*",), ("*",)),))


def test_anonymous_request_has_no_permission():
    for permissions in ([], [READ]):
        with pytest.raises(Unauthenticated, match=r"^error authenticating request$"):
            authorize(None, permissions)


def test_administrator_has_all_permissions():
    administrator = Actor(username="admin", statements=(ALLOW_ALL,))
    authorize(administrator, [Permission(action, repository_arn("x")) for action in Action])


def test_user_without_statements_has_no_permission():
    authorize(Actor(username="ada"), [])
    with pytest.raises(Denied):
        authorize(Actor(username="ada"), [READ])


def test_every_permission_is_needed():
    authorize(READER, [READ])
    for permissions in ([COMMIT], [READ, COMMIT], [COMMIT, READ]):
        with pytest.raises(Denied, match=r"^insufficient permissions$") as error:
            authorize(READER, permissions)
        assert error.value.hint == (
            "ada needs fs:CreateCommit on arn:lakefs:fs:::repository/lake/branch/main."
        )


def test_the_committer_is_the_email_or_else_the_name():
    assert Actor(username="ada").committer == "ada"
    assert Actor(username="ada", email="ada@example.com").committer == "ada@example.com"
