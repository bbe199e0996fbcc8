"""The only user, and its record."""

from __future__ import annotations

import pytest

from anabranch.access.users import User
from anabranch.errors import AlreadyExists, Conflict, Corrupt, Invalid, NotFound
from anabranch.records import lakefs_pb2 as records

ADA = User(username="ada", created_at=1_700_000_000, email="ada@example.com", friendly_name="Ada")


def test_there_and_back(installation):
    assert installation.users.all() == []
    installation.users.create(ADA)
    assert installation.users.all() == [ADA]
    assert installation.users.get("ada") == installation.users.find("ada") == ADA


def test_the_record_is_the_one_of_lakefs(installation):
    installation.users.create(ADA)
    record = records.UserData.FromString(installation.store.get("basicAuth", b"users/superAdmin"))
    assert (record.username, record.email, record.friendly_name) == (
        "ada",
        "ada@example.com",
        "Ada",
    )
    assert record.created_at.seconds == 1_700_000_000
    assert record.source == "internal"


def test_another_user_is_refused(installation):
    installation.users.create(ADA)
    with pytest.raises(AlreadyExists):
        installation.users.create(User(username="bob", created_at=0))
    assert installation.users.all() == [ADA]


def test_missing_user_raises_not_found(installation):
    installation.users.create(ADA)
    assert installation.users.find("bob") is None
    for call in (installation.users.get, installation.users.delete):
        with pytest.raises(NotFound) as error:
            call("bob")
        assert error.value.kind == "user_not_found"
    assert installation.users.all() == [ADA]


def test_deleting_the_only_administrator_is_refused_and_changes_nothing(installation):
    credential = installation.setup.run("ada")
    before = list(installation.store.scan("basicAuth"))
    with pytest.raises(Conflict) as refused:
        installation.users.delete("ada")
    assert refused.value.kind == "last_administrator"
    assert "auth recover" in refused.value.hint
    assert list(installation.store.scan("basicAuth")) == before
    assert installation.credentials.find(credential.access_key_id) == credential


@pytest.mark.parametrize("name", ["", "a%b"])
def test_invalid_usernames_are_rejected(installation, name):
    with pytest.raises(Invalid):
        installation.users.create(User(username=name, created_at=0))
    assert installation.users.all() == []


def test_unreadable_record_is_named_in_the_error(installation):
    installation.users.create(ADA)
    installation.store.spoil("basicAuth", b"users/superAdmin", b"\xff")
    with pytest.raises(Corrupt):
        installation.users.all()
