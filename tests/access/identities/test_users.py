"""Users: their records, pages, and what deleting one of them removes."""

from __future__ import annotations

import pytest

from anabranch.access.identities.groups import Group
from anabranch.access.identities.users import User
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import ALLOW_ALL
from anabranch.errors import AlreadyExists, Conflict, Corrupt, Invalid, NotFound, Unauthenticated
from anabranch.records import lakefs_pb2 as records

ADA = User(username="ada", created_at=1_700_000_000, email="ada@example.com", friendly_name="Ada")


def names(installation, *, prefix="", after="", amount=100):
    return [user.username for user in installation.users.page(prefix, after, amount).items]


def test_created_user_is_read_back(installation):
    assert names(installation) == []
    ada = installation.users.with_new_ids(ADA)
    installation.users.create(ada)
    assert installation.users.get("ada") == installation.users.find("ada") == ada
    assert installation.users.find_many(["none", "ada"]) == [None, ada]


def test_the_records_are_those_of_lakefs(installation):
    installation.setup.run("root")
    installation.users.create(ADA)
    first = records.UserData.FromString(installation.store.get("basicAuth", b"users/superAdmin"))
    assert (first.username, first.source) == ("root", "internal")
    record = records.UserData.FromString(installation.store.get("auth", b"users/ada"))
    assert (record.username, record.email, record.friendly_name, record.created_at.seconds) == (
        "ada",
        "ada@example.com",
        "Ada",
        1_700_000_000,
    )


def test_a_name_is_used_once_also_that_of_the_first_user(installation):
    installation.setup.run("root")
    installation.users.create(ADA)
    for name in ("root", "ada"):
        with pytest.raises(AlreadyExists):
            installation.users.create(User(username=name, created_at=0))
    assert names(installation) == ["ada", "root"]


@pytest.mark.parametrize(
    "name",
    ["ADA", "Ada", "\uff41da", "root ", "ro ot", "R\u00a0oot", "ad\u00aaa"],
    ids=ascii,
)
def test_names_that_look_the_same_are_refused(installation, name):
    installation.setup.run("root")
    for taken in ("ada", "adaa"):
        installation.users.create(User(username=taken, created_at=0))
    with pytest.raises((AlreadyExists, Invalid)):
        installation.users.create(User(username=name, created_at=0))
    assert names(installation) == ["ada", "adaa", "root"]


@pytest.mark.parametrize(
    "name",
    [" ada", "ada\t", "\u3000", "a\u202eda", "a\u200bda", "\ufeffada", "a\u0085b"],
    ids=ascii,
)
def test_names_with_invisible_characters_and_blanks_around_are_refused(installation, name):
    with pytest.raises(Invalid) as refused:
        installation.users.create(User(username=name, created_at=0))
    assert refused.value.kind in {"invalid_username", "invalid_user_name"}


def test_users_of_earlier_versions_whose_names_look_the_same_stay(installation):
    installation.users.create(ADA)
    record = records.UserData(username="Ada", created_at={"seconds": 7})
    installation.store.spoil("auth", b"users/Ada", record.SerializeToString())
    assert names(installation) == ["Ada", "ada"]
    installation.users.replace(User(username="Ada", created_at=7))
    installation.users.delete("Ada")
    assert names(installation) == ["ada"]


@pytest.mark.parametrize("amount", [1, 2, 3, 10])
def test_pages_hold_every_user_once_in_order_of_bytes(installation, amount):
    installation.setup.run("m")
    everyone = sorted(["a", "m", "m0", "l\u00e9", "z", "Y"], key=str.encode)
    for name in everyone:
        if name != "m":
            installation.users.create(User(username=name, created_at=0))
    seen, after = [], ""
    while True:
        page = installation.users.page("", after, amount)
        seen += [user.username for user in page.items]
        if not page.has_more:
            break
        after = page.next_offset
    assert seen == everyone
    assert names(installation, prefix="m") == ["m", "m0"]
    assert names(installation, prefix="m", after="m") == ["m0"]


def test_missing_user_raises_not_found(installation):
    installation.users.create(ADA)
    assert installation.users.find("bob") is None
    for call in (installation.users.get, installation.users.delete):
        with pytest.raises(NotFound) as error:
            call("bob")
        assert error.value.kind == "user_not_found"
    with pytest.raises(NotFound):
        installation.users.replace(User(username="bob", created_at=0))
    assert names(installation) == ["ada"]


def test_a_user_of_another_system_is_found_by_identity(installation):
    eve = User(username="eve", created_at=5, source="oidc", external_id="https://id#7")
    user = installation.users.with_new_ids(eve)
    installation.users.create(user)
    assert installation.users.find_by_external_id("https://id#7") == user
    with pytest.raises(AlreadyExists) as taken:
        installation.users.create(User(username="eva", created_at=5, external_id="https://id#7"))
    assert taken.value.kind == "external_id_exists"
    installation.users.replace(User(username="eve", created_at=5, external_id="https://id#8"))
    assert installation.users.find_by_external_id("https://id#7") is None
    installation.users.delete("eve")
    assert installation.users.find_by_external_id("https://id#8") is None
    installation.users.create(User(username="eva", created_at=5, external_id="https://id#8"))


def test_a_deleted_user_leaves_nothing_to_a_later_one_of_the_same_name(installation):
    installation.setup.run("root")
    installation.users.create(ADA)
    key = installation.credentials.create("ada")
    token = installation.authenticator.login(key.access_key_id, key.secret.reveal()).token.reveal()
    installation.groups.create(Group(id="g", created_at=1))
    installation.memberships.add("g", "ada")
    installation.policies.create(Policy(id="p", created_at=1, statements=(ALLOW_ALL,)))
    installation.user_attachments.add("ada", "p")
    before = list(installation.store.scan("auth")), list(installation.store.scan("access"))
    installation.users.delete("ada")
    left = list(installation.store.scan("auth")), list(installation.store.scan("access"))
    assert not any(b"/ada" in name for rows in left for name, _ in rows)
    assert len(before[0]) - len(left[0]) == 4
    installation.now += 1
    installation.users.create(User(username="ada", created_at=int(installation.now)))
    assert installation.credentials.find(key.access_key_id) is None
    assert installation.effective_policies.of("ada") == ()
    with pytest.raises(Unauthenticated):
        installation.authenticator.authenticate(f"Bearer {token}")


def test_the_first_user_can_be_deleted_once_there_is_another_administrator(installation):
    key = installation.setup.run("root")
    with pytest.raises(Conflict) as refused:
        installation.users.delete("root")
    assert refused.value.kind == "last_administrator"
    assert installation.credentials.find(key.access_key_id) == key
    installation.users.create(ADA)
    installation.memberships.add("Admins", "ada")
    installation.credentials.create("ada")
    installation.users.delete("root")
    assert installation.credentials.find(key.access_key_id) is None
    assert list(installation.store.scan("basicAuth")) == []
    with pytest.raises(Conflict):
        installation.users.delete("ada")


@pytest.mark.parametrize("name", ["", "a%b", "a/b", "a\nb", "a" * 513])
def test_invalid_usernames_are_rejected(installation, name):
    with pytest.raises(Invalid):
        installation.users.create(User(username=name, created_at=0))
    assert names(installation) == []


def test_unreadable_record_is_named_in_the_error(installation):
    installation.users.create(ADA)
    installation.store.spoil("auth", b"users/ada", b"\xff")
    with pytest.raises(Corrupt):
        installation.users.get("ada")


def test_a_record_with_another_name_does_not_act_for_that_user(installation):
    installation.setup.run("root")
    installation.users.create(ADA)
    installation.store.spoil("auth", b"users/ada", b"\x12\x04root")
    assert installation.users.get("ada").username == "ada"
    assert not installation.users.is_setup_user("ada")
