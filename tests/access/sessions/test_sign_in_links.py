"""Links that sign in: whose they are, how often and how long they work, and what ends them."""

from __future__ import annotations

import threading

import pytest

from anabranch.access.access import Access
from anabranch.access.credentials.derived_keys import encode_base64url
from anabranch.access.identities.users import User
from anabranch.access.records.layout import OWN_PARTITION
from anabranch.access.sessions.sign_in_links import LINK_LIFETIME
from anabranch.errors import Conflict, Denied, Invalid
from anabranch.model.secret import Secret


@pytest.fixture
def lake(installation):
    installation.keys = {"admin": installation.setup.run("admin")}
    for name in ("jane", "joe"):
        installation.users.create(User(username=name, created_at=int(installation.now)))
        installation.keys[name] = installation.credentials.create(name)
    return installation


def actor(lake, name):
    key = lake.keys[name]
    pair = f"{key.access_key_id}:{key.secret.reveal()}".encode()
    header = encode_base64url(pair).replace("-", "+").replace("_", "/")
    return lake.authenticator.authenticate(f"Basic {header}{'=' * (-len(header) % 4)}")


def made(lake, name="jane") -> str:
    return lake.sign_in_links.create(actor(lake, name)).code.reveal()


def refused(lake, code, name="jane") -> None:
    with pytest.raises(Invalid) as error:
        lake.sign_in_links.use(name, code, confirmed=True)
    assert error.value.kind == "sign_in_link"
    assert not code or code not in repr(error.value)


def bearer(issued) -> str:
    return f"Bearer {issued.token.reveal()}"


def records(lake) -> list[tuple[bytes, bytes]]:
    return list(lake.store.scan(OWN_PARTITION, b"links/", b"links0", limit=1000))


def test_a_link_is_a_session_of_its_user_once(lake):
    link = lake.sign_in_links.create(actor(lake, "jane"))
    assert link.code.reveal() not in repr(link)
    issued = lake.sign_in_links.use("jane", link.code.reveal(), confirmed=True)
    assert lake.authenticator.authenticate(bearer(issued)).username == issued.username == "jane"
    refused(lake, link.code.reveal())
    assert records(lake) == []


def test_the_store_has_no_code_and_codes_differ(lake):
    codes = [made(lake) for _ in range(20)]
    stored = repr(records(lake))
    assert len(set(codes)) == 20
    for code in codes:
        assert code not in stored
        assert code.partition(".")[2] not in stored


def test_the_link_of_one_user_signs_nobody_else_in_and_is_not_used_up_by_trying(lake):
    code = made(lake, "joe")
    for name in ("jane", "admin", "", "JOE", "joe ", "nobody", "joe\0", "\ud800"):
        refused(lake, code, name)
    assert lake.sign_in_links.use("joe", code, confirmed=True).username == "joe"


def test_links_expire_to_the_second(lake):
    first, second = made(lake), made(lake)
    lake.now += LINK_LIFETIME - 1
    lake.sign_in_links.use("jane", first, confirmed=True)
    lake.now += 1
    refused(lake, second)
    lake.now += 1
    made(lake)
    assert len(records(lake)) == 1, "an expired record is removed when a link is made"


def test_odd_spellings_of_a_code_are_refused(lake):
    code = made(lake)
    expiry, _, secret = code.partition(".")
    later = int(expiry) + LINK_LIFETIME
    for wrong in (
        "",
        ".",
        secret,
        expiry,
        f"0{code}",
        f" {code}",
        f"{code} ",
        f"{code}=",
        f"{code}.",
        f"+{code}",
        f"{later}.{secret}",
        f"{expiry}.{secret.swapcase()}",
        f"{expiry}.{secret[:-1]}",
        f"²{code}",
        "9" * 5000,
        "9" * 13 + "." + secret,
        "-1." + secret,
        code + "\ud800",
        code.translate({ord(digit): chr(0x660 + int(digit)) for digit in "0123456789"}),
    ):
        refused(lake, wrong)
    lake.sign_in_links.use("jane", code, confirmed=True)


def test_of_many_uses_at_once_one_succeeds(lake):
    code, outcomes = made(lake), []
    barrier = threading.Barrier(8)

    def use():
        barrier.wait()
        try:
            outcomes.append(lake.sign_in_links.use("jane", code, confirmed=True).username)
        except Invalid as error:
            outcomes.append(error.kind)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["jane", *["sign_in_link"] * 7]


def test_a_deleted_user_is_not_signed_in_nor_a_later_one_of_the_name(lake):
    first, second = made(lake), made(lake)
    lake.users.delete("jane")
    refused(lake, first)
    lake.users.create(User(username="jane", created_at=int(lake.now)))
    refused(lake, second)


@pytest.mark.parametrize("end", ["key", "sessions", "deactivation"])
def test_what_ends_the_sessions_of_a_key_ends_its_links(lake, end):
    code, used = made(lake), made(lake)
    issued = lake.sign_in_links.use("jane", used, confirmed=True)
    assert lake.authenticator.authenticate(bearer(issued)).username == "jane"
    if end == "key":
        lake.credentials.delete("jane", lake.keys["jane"].access_key_id)
    elif end == "sessions":
        lake.users.end_sessions("jane")
    else:
        lake.users.set_active("jane", active=False)
    refused(lake, code)
    with pytest.raises(Exception, match="error authenticating request"):
        lake.authenticator.authenticate(bearer(issued))


def test_a_person_is_asked_first_unless_the_user_could_act_as_them_anyway(lake):
    code = made(lake)
    with pytest.raises(Conflict) as error:
        lake.sign_in_links.use("jane", code, confirmed=False)
    assert error.value.kind == "sign_in_not_confirmed"
    assert lake.sign_in_links.use("jane", code, confirmed=True).username == "jane"
    assert lake.sign_in_links.use("admin", made(lake, "admin"), confirmed=False).username == "admin"


def test_a_user_without_an_access_key_makes_no_link(lake):
    with pytest.raises(Denied) as error:
        lake.sign_in_links.create(lake.actors.find("jane"))
    assert error.value.kind == "access_key_needed"


def test_any_server_of_the_installation_uses_a_link(lake):
    other = Access(lake.store, Secret("another key"), clock=lambda: lake.now)
    code = made(lake)
    assert other.sign_in_links.use("jane", code, confirmed=True).username == "jane"
    refused(lake, code)
