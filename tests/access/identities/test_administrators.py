"""The last administrator, whatever removes it, and the default groups."""

from __future__ import annotations

import pytest

from anabranch.access.access import Access
from anabranch.access.actors.authorize import authorize
from anabranch.access.identities.administrators import Logins
from anabranch.access.identities.defaults import ADMINS
from anabranch.access.identities.groups import Group
from anabranch.access.identities.users import User
from anabranch.access.policies.permissions import (
    Action,
    Permission,
    object_arn,
    repository_arn,
    user_arn,
)
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement
from anabranch.errors import Conflict, Denied
from anabranch.model.secret import Secret

KEY = Secret("THIS_MUST_BE_CHANGED_IN_PRODUCTION")
DENY_ALL = Statement(Effect.DENY, ("*",), ("*",))


@pytest.fixture
def lake(installation):
    installation.setup.run("root")
    installation.users.create(User(username="ada", created_at=1))
    installation.credentials.create("ada")
    installation.policies.create(Policy(id="deny", created_at=1, statements=(DENY_ALL,)))
    installation.groups.create(Group(id="denied", created_at=1))
    installation.group_attachments.add("denied", "deny")
    return installation


def deny(lake, action, resource):
    """Denies an action to the administrator."""
    statement = Statement(Effect.DENY, (action,), (resource,))
    lake.policies.create(Policy(id="other", created_at=1, statements=(statement,)))
    lake.user_attachments.add("root", "other")


def delete_keys(lake, username="root"):
    for key in lake.credentials.page(username, "", "", 100).items:
        lake.credentials.delete(username, key.access_key_id)


REMOVALS = {
    "last key": delete_keys,
    "data policy": lambda lake: lake.policies.delete("FSFullAccess"),
    "data statements": lambda lake: lake.policies.replace("FSFullAccess", ()),
    "data attachment": lambda lake: lake.group_attachments.remove(ADMINS, "FSFullAccess"),
    "rules policy": lambda lake: lake.policies.delete("RepoManagementFullAccess"),
    "reading only": lambda lake: lake.policies.replace(
        "FSFullAccess", (Statement(Effect.ALLOW, ("fs:Read*", "fs:List*", "pr:*"), ("*",)),)
    ),
    "one repository": lambda lake: lake.policies.replace(
        "FSFullAccess",
        (Statement(Effect.ALLOW, ("fs:*", "pr:*"), ("arn:lakefs:fs:::repository/one*",)),),
    ),
    "denial of data": lambda lake: deny(lake, "fs:*", "*"),
    "denial of all repositories": lambda lake: deny(lake, "fs:*", "arn:lakefs:fs:::repository/*"),
    "denial of all objects": lambda lake: deny(
        lake, "fs:ReadObject", "arn:lakefs:fs:::repository/*/object/*"
    ),
    "denial of pull requests": lambda lake: deny(lake, "pr:*", "*"),
    "denial of reading users": lambda lake: deny(lake, "auth:Read*", "arn:lakefs:auth:::user/*"),
    "user": lambda lake: lake.users.delete("root"),
    "group": lambda lake: lake.groups.delete(ADMINS),
    "membership": lambda lake: lake.memberships.remove(ADMINS, "root"),
    "attachment": lambda lake: lake.group_attachments.remove(ADMINS, "AuthFullAccess"),
    "policy": lambda lake: lake.policies.delete("AuthFullAccess"),
    "statements": lambda lake: lake.policies.replace("AuthFullAccess", (DENY_ALL,)),
    "denial of the user": lambda lake: lake.user_attachments.add("root", "deny"),
    "denial of the group": lambda lake: lake.group_attachments.add(ADMINS, "deny"),
    "membership in a denied group": lambda lake: lake.memberships.add("denied", "root"),
    "condition": lambda lake: lake.policies.replace(
        "AuthFullAccess",
        (Statement(Effect.ALLOW, ("*",), ("*",), {"IpAddress": {"SourceIp": ("10.0.0.1",)}}),),
    ),
}


@pytest.mark.parametrize("removal", REMOVALS)
def test_the_last_administrator_cannot_be_removed(lake, removal):
    before = rights(lake)
    with pytest.raises(Conflict) as refused:
        REMOVALS[removal](lake)
    assert refused.value.kind == "last_administrator"
    assert rights(lake) == before


def rights(lake):
    """What the administrator has: keys, and whether each permission is granted."""
    actor = lake.actors.find("root")
    checks = [actor.may(Permission(action, "*")) for action in Action]
    checks += [actor.may(Permission(action, object_arn("any", "a/b"))) for action in Action]
    return lake.credentials.page("root", "", "", 100).items, actor.is_unlimited, checks


@pytest.mark.sample(6)
@pytest.mark.parametrize("removal", REMOVALS)
def test_one_of_two_administrators_can_be_removed(lake, removal):
    lake.policies.create(Policy(id="all", created_at=1, statements=(ALLOW_ALL,)))
    lake.user_attachments.add("ada", "all")
    REMOVALS[removal](lake)
    with pytest.raises(Conflict):
        lake.user_attachments.remove("ada", "all")
    with pytest.raises(Conflict):
        delete_keys(lake, "ada")


def test_an_administrator_without_a_key_does_not_count(lake):
    lake.users.create(User(username="grace", created_at=1))
    lake.memberships.add(ADMINS, "grace")
    for removal in ("last key", "user", "membership"):
        with pytest.raises(Conflict):
            REMOVALS[removal](lake)
    lake.credentials.create("grace")
    REMOVALS["last key"](lake)


@pytest.mark.parametrize("logins", [Logins(), Logins(aws=True), Logins(single_sign_on=True)])
def test_a_login_at_another_system_is_a_way_in_where_it_is_enabled(lake, logins):
    lake.users.create(User(username="sso", created_at=1, external_id="https://id#7"))
    lake.users.create(User(username="etl", created_at=1))
    lake.external_principals.add("etl", "arn:aws:sts::1:assumed-role/etl")
    lake.memberships.add(ADMINS, "etl" if logins.aws else "sso")
    server = Access(lake.store, KEY, logins=logins)
    if logins == Logins():
        with pytest.raises(Conflict):
            delete_keys(server)
        return
    delete_keys(server)
    removals = {
        "principal": lambda: server.external_principals.remove(
            "etl", "arn:aws:sts::1:assumed-role/etl"
        ),
        "identity": lambda: server.users.replace(User(username="sso", created_at=1)),
    }
    with pytest.raises(Conflict):
        removals["principal" if logins.aws else "identity"]()


def test_administrators_without_data_may_stay_so(lake):
    """Users and data may be administered apart, and what is denied before is no loss."""
    lake.memberships.add(ADMINS, "ada")
    lake.user_attachments.add("ada", "deny")
    lake.store.spoil("auth", b"gPolicies/Admins/policies/FSFullAccess", None)
    lake.policies.replace("RepoManagementFullAccess", ())
    lake.policies.delete("FSFullAccess")
    with pytest.raises(Conflict):
        lake.policies.delete("AuthFullAccess")
    with pytest.raises(Conflict):
        delete_keys(lake)


@pytest.mark.parametrize(
    "resource",
    ["arn:lakefs:fs:::repository/prod", "arn:lakefs:fs:::repository/*/object/private/*"],
)
def test_denials_of_single_resources_are_allowed(lake, resource):
    deny(lake, "fs:*", resource)
    assert not lake.actors.find("root").is_unlimited


def test_two_servers_cannot_remove_one_administrator_each(lake, installation_over, monkeypatch):
    lake.memberships.add(ADMINS, "ada")
    other = installation_over(lake.store)
    apply, calls = lake.store.apply, []

    def remove_first(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            other.users.delete("ada")
        return apply(*arguments)

    monkeypatch.setattr(lake.store, "apply", remove_first, raising=False)
    with pytest.raises(Conflict):
        lake.memberships.remove(ADMINS, "root")
    assert lake.authenticator.find_actor("root").is_unlimited


MATRIX = {
    ADMINS: {"read": True, "write": True, "users": True, "own": True, "retention": True},
    "SuperUsers": {"read": True, "write": True, "users": False, "own": True, "retention": False},
    "Developers": {"read": True, "write": True, "users": False, "own": True, "retention": False},
    "Viewers": {"read": True, "write": False, "users": False, "own": True, "retention": False},
}
CHECKS = {
    "read": Permission(Action.READ_OBJECT, object_arn("r", "a/b")),
    "write": Permission(Action.WRITE_OBJECT, object_arn("r", "a/b")),
    "users": Permission(Action.CREATE_USER, user_arn("x")),
    "own": Permission(Action.CREATE_CREDENTIALS, user_arn("ada")),
    "retention": Permission(Action.SET_GARBAGE_COLLECTION_RULES, repository_arn("r")),
}


@pytest.mark.parametrize("group", MATRIX)
def test_default_groups_have_lakefs_permissions(lake, group):
    lake.memberships.add(group, "ada")
    actor = lake.authenticator.find_actor("ada")
    assert {name: actor.may(permission) for name, permission in CHECKS.items()} == MATRIX[group]
    other = Permission(Action.CREATE_CREDENTIALS, user_arn("root"))
    assert actor.may(other) is (group == ADMINS)


def test_a_user_without_policies_may_do_nothing(lake):
    actor = lake.authenticator.find_actor("ada")
    for permission in CHECKS.values():
        with pytest.raises(Denied):
            authorize(actor, [permission])


def test_an_installation_of_lakefs_gets_the_defaults_once(installation):
    installation.setup.run("root")
    for partition in ("access", "auth"):
        for key, _ in list(installation.store.scan(partition)):
            if not key.startswith(b"installation"):
                installation.store.spoil(partition, key, None)
    installation.authenticator.forget()
    assert installation.authenticator.find_actor("root").is_unlimited
    with pytest.raises(Conflict):
        installation.users.delete("root")
    own = Policy(id="FSReadAll", created_at=3, statements=(DENY_ALL,))
    installation.policies.create(own)
    installation.setup.ensure_defaults()
    assert installation.authenticator.find_actor("root").is_unlimited
    assert installation.policies.get("FSReadAll") == own
    assert installation.memberships.page(ADMINS, "", "", 5).items == ["root"]
    installation.groups.delete("Viewers")
    installation.setup.ensure_defaults()
    assert installation.groups.find("Viewers") is None


def test_defaults_before_setup_change_nothing(installation):
    installation.setup.ensure_defaults()
    assert list(installation.store.scan("auth")) == []


@pytest.mark.parametrize("damage", ["detach", "deny user", "deny group", "group gone"])
def test_recovery_restores_the_permissions_of_an_administrator(lake, damage):
    lake.memberships.add(ADMINS, "ada")
    if damage == "detach":
        lake.memberships.remove(ADMINS, "root")
    elif damage == "deny user":
        lake.user_attachments.add("root", "deny")
    elif damage == "deny group":
        lake.memberships.add("denied", "root")
    else:
        lake.policies.create(Policy(id="all", created_at=1, statements=(ALLOW_ALL,)))
        lake.user_attachments.add("ada", "all")
        lake.groups.delete(ADMINS)
    lake.authenticator.forget()
    assert not lake.authenticator.find_actor("root").is_unlimited
    lake.recovery.run()
    lake.authenticator.forget()
    assert lake.authenticator.find_actor("root").is_unlimited


def test_recovery_takes_no_name_of_another_user(lake):
    lake.memberships.add(ADMINS, "ada")
    lake.users.delete("root")
    with pytest.raises(Conflict) as refused:
        lake.recovery.run("ada")
    assert refused.value.kind == "user_exists"
    assert lake.recovery.run("grace").user_created
    assert lake.authenticator.find_actor("grace").is_unlimited
