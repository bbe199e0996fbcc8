"""Caches of several servers after a change of access records."""

from __future__ import annotations

import base64

import pytest

from anabranch.access.identities.defaults import ADMINS
from anabranch.access.identities.users import User
from anabranch.access.policies.permissions import Action, Permission, repository_arn
from anabranch.errors import Unauthenticated

READ = Permission(Action.READ_REPOSITORY, repository_arn("lake"))


def basic(credential):
    pair = f"{credential.access_key_id}:{credential.secret.reveal()}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


@pytest.fixture
def servers(installation, installation_over):
    installation.setup.run("root")
    installation.users.create(User(username="ada", created_at=1))
    installation.memberships.add("Viewers", "ada")
    return installation, installation_over(installation.store)


def revoke_key(server, key):
    server.credentials.delete("ada", key.access_key_id)


def delete_user(server, _):
    server.users.delete("ada")


@pytest.mark.parametrize("revoke", [revoke_key, delete_user])
def test_a_revoked_key_stops_at_once_here_and_within_two_seconds_elsewhere(servers, revoke):
    here, there = servers
    key = here.credentials.create("ada")
    for server in servers:
        assert server.authenticator.authenticate(basic(key)).username == "ada"
        assert server.authenticator.find_actor_by_key(key.access_key_id).username == "ada"
    there.now += 0.5
    revoke(here, key)
    assert here.authenticator.find_credential(key.access_key_id) is None
    with pytest.raises(Unauthenticated):
        here.authenticator.authenticate(basic(key))
    there.now += 1.0
    assert there.authenticator.find_actor_by_key(key.access_key_id) is None
    with pytest.raises(Unauthenticated):
        there.authenticator.authenticate(basic(key))


@pytest.mark.parametrize("change", ["membership", "policy", "group"])
def test_a_lost_permission_is_lost_within_two_seconds_everywhere(servers, change):
    here, there = servers
    for server in servers:
        assert server.authenticator.find_actor("ada").may(READ)
    if change == "membership":
        here.memberships.remove("Viewers", "ada")
    elif change == "policy":
        here.group_attachments.remove("Viewers", "FSReadAll")
    else:
        here.groups.delete("Viewers")
    assert not here.authenticator.find_actor("ada").may(READ)
    there.now += 1.0
    there.authenticator.authenticate(None)
    assert not there.authenticator.find_actor("ada").may(READ)


def test_the_version_is_read_at_most_once_a_second(servers):
    _, there = servers
    there.authenticator.authenticate(None)
    reads = there.store.reads
    for _ in range(50):
        there.now += 0.1
        there.authenticator.authenticate(None)
    assert there.store.reads - reads in {4, 5}


def test_a_new_administrator_has_all_permissions_at_once(servers):
    here, _ = servers
    assert not here.authenticator.find_actor("ada").is_unlimited
    here.memberships.add(ADMINS, "ada")
    assert here.authenticator.find_actor("ada").is_unlimited
