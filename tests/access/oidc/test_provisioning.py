"""Users who log in at a provider: their names, their groups, and what a login changes."""

from __future__ import annotations

import threading

import pytest

from anabranch.access.identities.groups import Group
from anabranch.access.identities.users import User
from anabranch.access.oidc.configuration import ClaimNames, GroupRules
from anabranch.errors import AlreadyExists, Invalid

MAPPING = (("crew", "Developers"), ("crew", "Viewers"), ("captains", "Admins"))


def test_the_first_login_creates_a_user(installation, provider):
    provider.claims = {
        "sub": "1",
        "preferred_username": "jane",
        "name": "Jane of the Sea",
        "email": "jane@example.com",
        "email_verified": True,
    }
    assert installation.login().username == "jane"
    jane = installation.access.users.get("jane")
    assert jane == User(
        username="jane",
        created_at=jane.created_at,
        record_id=jane.record_id,
        session_epoch=jane.session_epoch,
        email="jane@example.com",
        friendly_name="Jane of the Sea",
        source="oidc",
        external_id=f"{provider.issuer}#1",
    )
    assert installation.groups("jane") == set()


def test_the_second_login_finds_the_user_whatever_the_claims_are(installation, provider):
    provider.claims = {"sub": "1", "preferred_username": "jane"}
    installation.login()
    version = installation.access.changes.version()
    provider.claims = {"sub": "1", "preferred_username": "admin", "name": "Somebody"}
    assert installation.login().username == "jane"
    assert installation.access.changes.version() == version
    assert installation.usernames() == ["admin", "jane"]


@pytest.mark.parametrize(
    "local",
    [
        {},
        {"source": "oidc", "external_id": "https://other.example.com#1"},
        {"source": "oidc", "external_id": "1"},
        {"source": "oidc"},
        {"email": "jane@example.com"},
    ],
    ids=str,
)
def test_a_user_of_the_same_name_is_not_taken_over(installation, provider, local):
    jane = installation.access.users.with_new_ids(User(username="jane", created_at=1, **local))
    installation.access.users.create(jane)
    provider.claims = {"sub": "1", "preferred_username": "jane", "email": "jane@example.com"}
    username = installation.login().username
    assert username.startswith("jane-")
    assert installation.login().username == username
    assert installation.access.users.get("jane") == jane


def test_the_administrator_of_the_setup_is_not_taken_over(installation, provider):
    provider.claims = {"sub": "1", "preferred_username": "admin"}
    username = installation.login().username
    assert username != "admin"
    assert installation.groups(username) == set()


def test_a_login_without_a_free_name_is_refused(installation, provider):
    provider.claims = {"sub": "1", "preferred_username": "jane"}
    installation.access.users.create(User(username="jane", created_at=1))
    other = installation.login().username
    installation.access.users.delete(other)
    installation.access.users.create(User(username=other, created_at=1))
    with pytest.raises(AlreadyExists) as error:
        installation.login()
    assert error.value.kind == "user_exists"


def test_the_same_subject_of_two_providers_is_two_users(installation, provider):
    provider.claims = {"sub": "1", "preferred_username": "jane"}
    first = installation.login().username
    user = installation.access.users.get(first)
    installation.access.users.delete(first)
    installation.access.users.create(
        User(username=first, created_at=user.created_at, external_id="https://elsewhere#1")
    )
    assert installation.login().username != first


@pytest.mark.parametrize(
    ("claims", "username"),
    [
        ({"preferred_username": "jane", "email": "j@example.com"}, "jane"),
        ({"preferred_username": " jane ", "email": "j@example.com"}, "jane"),
        ({"preferred_username": "", "email": "j@example.com"}, "j@example.com"),
        ({"preferred_username": "a/b", "email": "j@example.com"}, "j@example.com"),
        ({"preferred_username": "a%2fb", "email": "j@example.com"}, "j@example.com"),
        ({"preferred_username": "a\nb", "email": "j@example.com"}, "j@example.com"),
        ({"preferred_username": "*", "email": "j@example.com"}, "j@example.com"),
        ({"preferred_username": "${user}", "email": "j@example.com"}, "j@example.com"),
        ({"preferred_username": ["jane"], "email": "j@example.com"}, "j@example.com"),
        ({"preferred_username": "j" * 600, "email": "j@example.com"}, "j@example.com"),
        ({"preferred_username": "a\u202eb", "email": "j@example.com"}, "j@example.com"),
        ({"preferred_username": "\ud83d\ude42", "email": 7}, "\U0001f642"),
        ({"preferred_username": "Ju\u0308rgen"}, "Jürgen"),
        ({}, "the-subject"),
    ],
    ids=str,
)
def test_the_first_claim_that_can_be_a_name_is_the_name(installation, provider, claims, username):
    provider.claims = {"sub": "the-subject", **claims}
    assert installation.login().username == username


def test_a_login_without_a_possible_name_is_refused(installation, provider):
    provider.claims = {"sub": "a/b"}
    with pytest.raises(Invalid) as error:
        installation.login()
    assert error.value.kind == "invalid_username"
    assert installation.usernames() == ["admin"]


@pytest.mark.parametrize("verified", [False, "false"])
def test_an_address_that_is_not_verified_is_not_taken(installation, provider, verified):
    provider.claims = {"sub": "1", "email": "admin@example.com", "email_verified": verified}
    username = installation.login().username
    assert installation.access.users.get(username).email == ""


def test_changed_addresses_and_names_follow_the_provider(installation, provider):
    provider.claims = {"sub": "1", "name": "Jane", "email": "jane@example.com"}
    username = installation.login().username
    provider.claims = {"sub": "1", "name": "Janet", "email": "janet@example.com"}
    installation.login()
    user = installation.access.users.get(username)
    assert (user.friendly_name, user.email) == ("Jane", "janet@example.com")
    installation.configured(updates_friendly_names=True)
    installation.login()
    assert installation.access.users.get(username).friendly_name == "Janet"
    provider.claims = {"sub": "1"}
    installation.login()
    user = installation.access.users.get(username)
    assert (user.friendly_name, user.email) == ("Janet", "janet@example.com")


@pytest.mark.parametrize(
    ("claim", "groups"),
    [
        (None, {"Viewers"}),
        (["Developers", "SuperUsers"], {"Developers", "SuperUsers"}),
        ("Developers, SuperUsers", {"Developers", "SuperUsers"}),
        ([], set()),
        (["Developers", "no such group", "a/b", "", 7, "\ud800"], {"Developers"}),
        ({"Developers": 1}, set()),
    ],
)
def test_new_users_join_initial_groups_once(installation, provider, claim, groups):
    claims = ClaimNames(initial_groups="initial")
    installation.configured(claims=claims, groups=GroupRules(initial=("Viewers", "gone")))
    provider.claims = {"sub": "1", "initial": claim}
    username = installation.login().username
    assert installation.groups(username) == groups
    for group in groups:
        installation.access.memberships.remove(group, username)
    installation.login()
    assert installation.groups(username) == set()


def test_mapped_groups_follow_the_provider_and_others_do_not(installation, provider):
    installation.configured(groups=GroupRules(mapping=MAPPING))
    provider.claims = {"sub": "1", "groups": ["crew", "others"]}
    username = installation.login().username
    assert installation.groups(username) == {"Developers", "Viewers"}
    installation.access.memberships.add("SuperUsers", username)
    installation.access.memberships.add("Admins", username)
    installation.access.memberships.remove("Viewers", username)
    installation.login()
    assert installation.groups(username) == {"Developers", "Viewers", "SuperUsers"}
    provider.claims = {"sub": "1", "groups": "captains"}
    installation.login()
    assert installation.groups(username) == {"Admins", "SuperUsers"}
    for groups in (None, [], ["Admins", "crew\0"], "crews"):
        provider.claims = {"sub": "1", "groups": groups}
        installation.login()
        assert installation.groups(username) == {"SuperUsers"}


def test_an_initial_group_that_is_mapped_needs_the_group_of_the_provider(installation, provider):
    installation.configured(
        claims=ClaimNames(initial_groups="initial"), groups=GroupRules(mapping=MAPPING)
    )
    provider.claims = {"sub": "1", "initial": ["Admins", "SuperUsers"], "groups": ["crew"]}
    username = installation.login().username
    assert installation.groups(username) == {"Developers", "Viewers", "SuperUsers"}


def test_a_mapped_group_that_does_not_exist_is_joined_once_it_does(installation, provider):
    installation.configured(groups=GroupRules(mapping=(("crew", "Sailors"),)))
    provider.claims = {"sub": "1", "groups": ["crew"]}
    username = installation.login().username
    assert installation.groups(username) == set()
    installation.access.groups.create(Group(id="Sailors", created_at=1))
    installation.login()
    assert installation.groups(username) == {"Sailors"}


def test_the_last_administrator_remains_one(installation, provider, caplog):
    installation.configured(groups=GroupRules(mapping=MAPPING))
    provider.claims = {"sub": "1", "groups": ["captains"]}
    username = installation.login().username
    installation.access.users.delete("admin")
    provider.claims = {"sub": "1", "groups": ["crew"]}
    installation.login()
    assert installation.groups(username) == {"Admins", "Developers", "Viewers"}
    assert "the last administrator is no longer in the groups" in caplog.text


def test_a_deleted_user_who_logs_in_again_is_a_new_user(installation, provider):
    installation.configured(groups=GroupRules(initial=("Viewers",)))
    provider.claims = {"sub": "1", "preferred_username": "jane"}
    finished = installation.login()
    installation.access.memberships.add("Admins", "jane")
    installation.access.users.delete("jane")
    authenticate = installation.access.authenticator.authenticate
    with pytest.raises(Exception, match="error authenticating request"):
        authenticate(None, session=finished.token.token.reveal())
    installation.late = 2
    assert installation.login().username == "jane"
    assert installation.groups("jane") == {"Viewers"}
    with pytest.raises(Exception, match="error authenticating request"):
        authenticate(None, session=finished.token.token.reveal())


def test_logins_of_one_person_at_once_create_one_user(installation, provider):
    installation.configured(groups=GroupRules(mapping=MAPPING))
    provider.claims = {"sub": "1", "preferred_username": "jane", "groups": ["crew"]}
    usernames = []
    threads = [
        threading.Thread(target=lambda: usernames.append(installation.login().username))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert usernames == ["jane"] * 6
    assert installation.usernames() == ["admin", "jane"]
    assert installation.groups("jane") == {"Developers", "Viewers"}
