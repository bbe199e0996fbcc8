"""First logins of people whom SCIM has created."""

from __future__ import annotations

import pytest

from anabranch.access.identities.provisioned_ids import ProvisionedIds
from anabranch.access.identities.users import User
from anabranch.access.oidc.configuration import ClaimNames

CLAIMS = ClaimNames(provisioned_id="oid")


@pytest.fixture
def provisioned(installation):
    """Creates users as SCIM does, with an identifier."""
    access = installation.access
    ids = ProvisionedIds(installation.store, access.users)

    def create(name, provisioned_id, created_at=1):
        new = User(username=name, created_at=created_at, source="scim")
        user = access.users.with_new_ids(new)
        access.users.create(user)
        for attempt in access.changes.attempts():
            with attempt:
                attempt.write(ids.replacement(user, "", provisioned_id))

    return create


def test_first_login_becomes_the_user_with_the_identifier(installation, provider, provisioned):
    provisioned("jane.doe", "object-1")
    installation.configured(claims=CLAIMS)
    provider.claims = {"sub": "1", "oid": "object-1", "preferred_username": "jane"}
    assert installation.login().username == "jane.doe"
    # later logins find the user by the subject
    provider.claims = {"sub": "1", "preferred_username": "jane"}
    assert installation.login().username == "jane.doe"
    assert installation.usernames() == ["admin", "jane.doe"]


def test_user_of_another_subject_is_not_taken_over(installation, provider, provisioned):
    provisioned("jane.doe", "object-1")
    installation.configured(claims=CLAIMS)
    provider.claims = {"sub": "1", "oid": "object-1", "preferred_username": "jane"}
    installation.login()
    provider.claims = {"sub": "2", "oid": "object-1", "preferred_username": "jane"}
    assert installation.login().username == "jane"


@pytest.mark.parametrize("claims", [{}, {"oid": "object-2"}, {"oid": ""}, {"oid": ["object-1"]}])
def test_other_people_are_new_users(installation, provider, provisioned, claims):
    provisioned("jane.doe", "object-1")
    installation.configured(claims=CLAIMS)
    provider.claims = {"sub": "1", "preferred_username": "jane.doe", **claims}
    assert installation.login().username.startswith("jane.doe-")


@pytest.mark.parametrize("created_at", [1, 2])  # also in the same second
def test_identifier_of_a_deleted_user_is_not_that_of_a_later_one(
    installation, provider, provisioned, created_at
):
    provisioned("jane.doe", "object-1")
    installation.access.users.delete("jane.doe")
    installation.access.users.create(User(username="jane.doe", created_at=created_at))
    installation.configured(claims=CLAIMS)
    provider.claims = {"sub": "1", "oid": "object-1", "preferred_username": "jane"}
    assert installation.login().username == "jane"


def test_identifiers_are_ignored_unless_a_claim_is_configured(installation, provider, provisioned):
    provisioned("jane.doe", "object-1")
    provider.claims = {"sub": "1", "oid": "object-1", "preferred_username": "jane"}
    assert installation.login().username == "jane"
