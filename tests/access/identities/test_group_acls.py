"""Access control lists of groups."""

from __future__ import annotations

import pytest

from anabranch.access.identities.groups import Group
from anabranch.access.identities.users import User
from anabranch.access.policies.permissions import Action, Permission, object_arn, user_arn
from anabranch.errors import Invalid, NotFound

READ = Permission(Action.READ_OBJECT, object_arn("r", "k"))
WRITE = Permission(Action.WRITE_OBJECT, object_arn("r", "k"))
REPOSITORY = Permission(Action.CREATE_REPOSITORY, "arn:lakefs:fs:::repository/r")
USERS = Permission(Action.CREATE_USER, user_arn("x"))


@pytest.fixture
def lake(installation):
    installation.setup.run("root")
    installation.users.create(User(username="ada", created_at=1))
    installation.groups.create(Group(id="g", created_at=1))
    installation.memberships.add("g", "ada")
    return installation


@pytest.mark.parametrize(
    ("permission", "allowed"),
    [
        ("Read", {READ}),
        ("Write", {READ, WRITE}),
        ("Super", {READ, WRITE, REPOSITORY}),
        ("Admin", {READ, WRITE, REPOSITORY, USERS}),
    ],
)
def test_a_permission_allows_what_it_stands_for_and_replaces_the_one_before(
    lake, permission, allowed
):
    for former in ("Admin", "Read", permission):
        lake.group_acls.set("g", former, 7)
    assert lake.group_acls.get("g") == permission
    actor = lake.authenticator.find_actor("ada")
    assert {each for each in (READ, WRITE, REPOSITORY, USERS) if actor.may(each)} == allowed
    assert lake.group_attachments.page("g", "", "", 5).items == ["ACL(_-_)g"]


def test_unknown_groups_and_permissions_are_refused(lake):
    with pytest.raises(Invalid):
        lake.group_acls.set("g", "Owner", 7)
    for call in (
        lambda: lake.group_acls.get("none"),
        lambda: lake.group_acls.set("none", "Read", 7),
    ):
        with pytest.raises(NotFound) as missing:
            call()
        assert missing.value.kind == "group_not_found"
    with pytest.raises(NotFound) as missing:
        lake.group_acls.get("g")
    assert missing.value.kind == "acl_not_found"
    assert lake.policies.find("ACL(_-_)g") is None


def test_a_new_group_has_not_the_permission_of_a_deleted_one(lake):
    lake.group_acls.set("g", "Admin", 7)
    lake.groups.delete("g")
    lake.groups.create(Group(id="g", created_at=2))
    with pytest.raises(NotFound):
        lake.group_acls.get("g")
