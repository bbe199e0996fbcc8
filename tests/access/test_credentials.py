"""Access keys: their form, their record, and the accepted forms of chosen keys."""

from __future__ import annotations

import base64
import random
import re

import pytest

from anabranch.access.credentials import KeyPair, check_key_pair, new_key_pair
from anabranch.errors import Corrupt, Invalid
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
    installation.credentials.create("quickstart", PAIR)
    record = records.CredentialData.FromString(installation.store.get(*PLACE))
    assert record.access_key_id == PAIR.access_key_id
    assert record.user_id == b"quickstart"
    assert record.issued_date.seconds == installation.now
    assert PAIR.secret.reveal().encode() not in installation.store.get(*PLACE)
    found = installation.credentials.find(PAIR.access_key_id)
    assert found.secret == PAIR.secret
    assert found.username == "quickstart"
    assert found.issued_date == installation.now


def test_a_second_credential_is_refused(installation):
    installation.credentials.create("quickstart")
    with pytest.raises(Invalid, match="exceeded number of allowed credentials"):
        installation.credentials.create("quickstart")


@pytest.mark.parametrize("key", ["", "ab", "a/b", "x" * 129, "AKIA\nX", "AKIA X", "ключ", "\udcff"])
def test_invalid_access_key_id_is_not_looked_up(installation, key):
    assert installation.credentials.find(key) is None


def test_unreadable_record_is_named_in_the_error(installation):
    installation.credentials.create("quickstart", PAIR)
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
