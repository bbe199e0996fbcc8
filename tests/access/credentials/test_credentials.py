"""Access keys: their form, their record, and the accepted forms of chosen keys."""

from __future__ import annotations

import base64
import random
import re

import pytest
from msgspec import structs

from anabranch.access.credentials.credentials import (
    MAX_PER_USER,
    KeyPair,
    check_key_pair,
    new_key_pair,
)
from anabranch.access.identities.users import User, read_setup_user, write_setup_user
from anabranch.errors import Corrupt, Invalid, NotFound
from anabranch.model.secret import Secret
from anabranch.records import lakefs_pb2 as records

PAIR = KeyPair("AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
PLACE = ("basicAuth", b"uCredentials/superAdmin/credentials/AKIAIOSFOLQUICKSTART")


def test_new_keys_look_like_those_of_lakefs():
    source = random.Random(7)
    pairs = [new_key_pair(source.randbytes) for _ in range(500)]
    for pair in pairs:
        assert re.fullmatch(r"AKIAJ[A-Z2-7]{14}Q", pair.access_key_id)
        assert len(base64.b64decode(pair.secret.reveal(), validate=True)) == 30
        check_key_pair(pair)
    assert len({pair.access_key_id for pair in pairs}) == 500
    assert {letter for pair in pairs for letter in pair.access_key_id[5:19]} == set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    )


def test_the_record_is_the_one_of_lakefs(installation):
    installation.setup.run("quickstart", PAIR)
    record = records.CredentialData.FromString(installation.store.get(*PLACE))
    assert record.access_key_id == PAIR.access_key_id
    assert record.user_id == b"quickstart"
    assert record.issued_date.seconds == installation.now
    assert PAIR.secret.reveal().encode() not in installation.store.get(*PLACE)
    found = installation.credentials.find(PAIR.access_key_id)
    assert found.secret == PAIR.secret
    assert found.username == "quickstart"
    assert found.issued_date == installation.now


@pytest.mark.parametrize("username", ["root", "ada"])
def test_a_user_has_several_credentials_and_each_is_deleted_alone(installation, username):
    installation.setup.run("root", PAIR)
    installation.users.create(User(username="ada", created_at=0))
    pairs = [installation.credentials.create(username) for _ in range(3)]
    for pair in pairs:
        assert installation.credentials.find(pair.access_key_id) == pair
        assert (
            installation.credentials.get(username, pair.access_key_id).issued_date
            == installation.now
        )
    listed = installation.credentials.page(username, "", "", 100).items
    first = [PAIR.access_key_id] if username == "root" else []
    expected = sorted(first + [pair.access_key_id for pair in pairs])
    assert [key.access_key_id for key in listed] == expected
    page = installation.credentials.page(username, "", expected[0], 1)
    assert [key.access_key_id for key in page.items] == expected[1:2]
    installation.credentials.delete(username, pairs[1].access_key_id)
    assert installation.credentials.find(pairs[1].access_key_id) is None
    assert installation.credentials.find(pairs[2].access_key_id) == pairs[2]
    with pytest.raises(NotFound):
        installation.credentials.delete(username, pairs[1].access_key_id)


def test_keys_of_another_user_are_neither_shown_nor_deleted(installation):
    installation.setup.run("root", PAIR)
    installation.users.create(User(username="ada", created_at=0))
    key = installation.credentials.create("ada").access_key_id
    for username, access_key_id in (("ada", PAIR.access_key_id), ("root", key)):
        for call in (installation.credentials.get, installation.credentials.delete):
            with pytest.raises(NotFound):
                call(username, access_key_id)
    with pytest.raises(NotFound):
        installation.credentials.create("nobody")
    assert installation.credentials.find(key) is not None


def test_too_many_credentials_and_taken_keys_are_refused(installation):
    installation.setup.run("root", PAIR)
    installation.users.create(User(username="ada", created_at=0))
    with pytest.raises(Invalid, match="taken"):
        installation.credentials.create("ada", PAIR)
    for _ in range(MAX_PER_USER):
        installation.credentials.create("ada")
    with pytest.raises(Invalid, match="exceeded number of allowed credentials"):
        installation.credentials.create("ada")


def test_keys_of_lakefs_s_earlier_access_control_are_listed_and_deleted_but_do_not_work(
    installation,
):
    installation.setup.run("root")
    installation.users.create(User(username="ada", created_at=0))
    key = installation.credentials.create("ada")
    for name, _ in list(installation.store.scan("access")):
        installation.store.spoil("access", name, None)
    assert installation.credentials.find(key.access_key_id) is None
    installation.setup.ensure_defaults()
    assert installation.credentials.find(key.access_key_id) is None
    (listed,) = installation.credentials.page("ada", "", "", 10).items
    assert listed.access_key_id == key.access_key_id
    installation.credentials.delete("ada", key.access_key_id)
    assert installation.credentials.page("ada", "", "", 10).items == []


def test_key_of_another_user_with_the_name_of_the_setup_user_does_not_work(installation):
    installation.setup.run("root")
    installation.users.create(User(username="ada", created_at=0))
    key = installation.credentials.create("ada")
    record = read_setup_user(installation.store)
    write = write_setup_user(structs.replace(record, username="ada"))
    installation.store.spoil(write.partition, write.key, write.value)
    assert installation.credentials.find(key.access_key_id) is None


@pytest.mark.parametrize("key", ["", "ab", "a/b", "x" * 129, "AKIA\nX", "AKIA X", "ключ", "\udcff"])
def test_invalid_access_key_id_is_not_looked_up(installation, key):
    assert installation.credentials.find(key) is None


def test_unreadable_record_is_named_in_the_error(installation):
    installation.setup.run("quickstart", PAIR)
    installation.store.spoil(*PLACE, b"\xff\xff")
    with pytest.raises(Corrupt):
        installation.credentials.find(PAIR.access_key_id)


def test_keys_of_other_systems_are_accepted():
    for key in ("minioadmin", "AKIAIOSFODNN7EXAMPLE", "abc", "team.lake-1_x@y", "x" * 128):
        check_key_pair(KeyPair(key, Secret("minioadmin")))


@pytest.mark.parametrize(
    "key", ["", "ab", "a:b", "a/b", "a,b", "a b", "a\tbc", "schlüssel", "x" * 129]
)
def test_access_key_id_with_header_separators_is_rejected(key):
    with pytest.raises(Invalid) as error:
        check_key_pair(KeyPair(key, Secret("long enough to be?".replace(" ", "-"))))
    assert error.value.kind == "invalid_access_key_id"


@pytest.mark.parametrize("secret", ["", "1234567", "with space", "line\nfeed1", "x" * 257])
def test_short_or_unsafe_secret_is_rejected(secret):
    with pytest.raises(Invalid) as error:
        check_key_pair(KeyPair("AKIA", Secret(secret)))
    assert error.value.kind == "invalid_secret_access_key"
    assert not secret or secret not in str(error.value) + error.value.hint
