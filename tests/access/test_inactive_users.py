"""Deactivated users cannot authenticate in any way, and keep all that is theirs."""

from __future__ import annotations

import base64

import pytest

from anabranch.access.credentials.credentials import KeyPair
from anabranch.access.identities.defaults import ADMINS
from anabranch.access.identities.users import User
from anabranch.errors import Conflict, Unauthenticated
from anabranch.model.secret import Secret

PAIR = KeyPair("AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))


@pytest.fixture
def server(installation):
    installation.setup.run("quickstart", PAIR)
    installation.setup.ensure_defaults()
    installation.users.create(User(username="ada", created_at=1))
    return installation


def set_active(server, username, *, active):
    server.users.set_active(username, active=active)


def test_an_inactive_user_is_refused_until_active_again(server):
    key = server.credentials.create("ada")
    pair = KeyPair(key.access_key_id, key.secret)
    text = f"{pair.access_key_id}:{pair.secret.reveal()}".encode()
    basic = "Basic " + base64.b64encode(text).decode()
    token = server.authenticator.login(pair.access_key_id, pair.secret.reveal()).token.reveal()
    headers = [basic, f"Bearer {token}"]
    assert all(server.authenticator.authenticate(each).username == "ada" for each in headers)
    set_active(server, "ada", active=False)
    for each in headers:
        with pytest.raises(Unauthenticated):
            server.authenticator.authenticate(each)
    with pytest.raises(Unauthenticated):
        server.authenticator.login(pair.access_key_id, pair.secret.reveal())
    assert server.authenticator.find_actor_by_key(pair.access_key_id) is None
    set_active(server, "ada", active=True)
    assert server.authenticator.authenticate(basic).username == "ada"
    with pytest.raises(Unauthenticated):  # sessions do not return
        server.authenticator.authenticate(f"Bearer {token}")


def test_the_last_active_administrator_stays_active(server):
    with pytest.raises(Conflict, match="last administrator"):
        set_active(server, "quickstart", active=False)
    server.memberships.add(ADMINS, "ada")
    server.credentials.create("ada")
    set_active(server, "quickstart", active=False)
    with pytest.raises(Conflict, match="last administrator"):
        server.users.delete("ada")
    set_active(server, "quickstart", active=True)
    server.users.delete("ada")


def test_a_user_who_is_created_again_is_active(server):
    set_active(server, "ada", active=False)
    server.users.delete("ada")
    server.users.create(User(username="ada", created_at=2))
    assert server.users.is_active("ada")
