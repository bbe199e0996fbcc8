"""The one user, and its record."""

from __future__ import annotations

import pytest

from anabranch.access.users import User
from anabranch.errors import AlreadyExists, Conflict, Corrupt, Invalid, NotFound
from anabranch.records import lakefs_pb2 as records

ADA = User(username="ada", created_at=1_700_000_000, email="ada@example.com", friendly_name="Ada")


def test_there_and_back(house):
    assert house.users.all() == []
    house.users.create(ADA)
    assert house.users.all() == [ADA]
    assert house.users.get("ada") == house.users.find("ada") == ADA


def test_the_record_is_the_one_of_lakefs(house):
    house.users.create(ADA)
    record = records.UserData.FromString(house.store.get("basicAuth", b"users/superAdmin"))
    assert (record.username, record.email, record.friendly_name) == (
        "ada",
        "ada@example.com",
        "Ada",
    )
    assert record.created_at.seconds == 1_700_000_000
    assert record.source == "internal"


def test_another_user_is_refused(house):
    house.users.create(ADA)
    with pytest.raises(AlreadyExists):
        house.users.create(User(username="bob", created_at=0))
    assert house.users.all() == [ADA]


def test_who_is_not_there(house):
    house.users.create(ADA)
    assert house.users.find("bob") is None
    for call in (house.users.get, house.users.delete):
        with pytest.raises(NotFound) as error:
            call("bob")
        assert error.value.kind == "user_not_found"
    assert house.users.all() == [ADA]


def test_deleting_the_only_administrator_is_refused_and_changes_nothing(house):
    credential = house.setup.run("ada")
    before = list(house.store.scan("basicAuth"))
    with pytest.raises(Conflict) as refused:
        house.users.delete("ada")
    assert refused.value.kind == "last_administrator"
    assert "auth recover" in refused.value.hint
    assert list(house.store.scan("basicAuth")) == before
    assert house.credentials.find(credential.access_key_id) == credential


@pytest.mark.parametrize("name", ["", "a%b"])
def test_names_that_are_refused(house, name):
    with pytest.raises(Invalid):
        house.users.create(User(username=name, created_at=0))
    assert house.users.all() == []


def test_a_record_that_is_none_is_named(house):
    house.users.create(ADA)
    house.store.spoil("basicAuth", b"users/superAdmin", b"\xff")
    with pytest.raises(Corrupt):
        house.users.all()
