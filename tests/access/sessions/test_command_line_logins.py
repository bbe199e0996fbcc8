"""Logins of the command line through a browser: what is granted, to whom, and how often."""

from __future__ import annotations

import base64
import hashlib

import pytest

from anabranch.access.access import Access
from anabranch.access.identities.users import User
from anabranch.access.sessions.command_line_logins import (
    CODE_LIFETIME,
    CONFIRMATION_LIFETIME,
    CommandLineLogin,
)
from anabranch.errors import Invalid
from anabranch.model.secret import Secret

KEY = Secret("THIS_MUST_BE_CHANGED_IN_PRODUCTION")
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=")
LOGIN = CommandLineLogin(port=4242, state="s" * 32, challenge=CHALLENGE.decode())


@pytest.fixture
def lake(installation):
    installation.setup.run("admin")
    for name in ("jane", "joe"):
        installation.users.create(User(username=name, created_at=int(installation.now)))
    return installation


def granted(lake, username="jane", login=LOGIN) -> str:
    logins, actor = lake.command_line_logins, lake.actors.find(username)
    return logins.grant(actor, login, logins.confirmation(actor, login))


def refused(lake, code, verifier=VERIFIER) -> None:
    with pytest.raises(Invalid) as error:
        lake.command_line_logins.redeem(code, verifier)
    assert error.value.kind == "login_code"


def test_a_code_is_a_token_of_the_user_who_granted_it_once(lake):
    code = granted(lake)
    username, issued = lake.command_line_logins.redeem(code, VERIFIER)
    actor = lake.authenticator.authenticate(f"Bearer {issued.token.reveal()}")
    assert actor.username == username == "jane"
    refused(lake, code)


@pytest.mark.parametrize("verifier", ["", "v" * 63, "\ud800", CHALLENGE.decode()])
def test_another_verifier_is_refused_and_does_not_use_the_code_up(lake, verifier):
    code = granted(lake)
    refused(lake, code, verifier)
    lake.command_line_logins.redeem(code, VERIFIER)


def test_codes_expire(lake):
    first, second = granted(lake), granted(lake)
    lake.now += CODE_LIFETIME - 1
    lake.command_line_logins.redeem(first, VERIFIER)
    lake.now += 1
    refused(lake, second)


def test_forged_codes_are_refused(lake):
    text, _, mac = granted(lake).partition(".")
    content = base64.urlsafe_b64decode(text + "==").replace(b'"jane"', b'"admin"')
    forged = base64.urlsafe_b64encode(content).decode()
    for code in (
        f"{forged}.{mac}",
        text,
        f"{text}.",
        f".{mac}",
        "",
        ".",
        "é.é",
        "\ud800",
        "a" * 9999,
    ):
        refused(lake, code)


def test_a_confirmation_is_no_code(lake):
    refused(lake, lake.command_line_logins.confirmation(lake.actors.find("jane"), LOGIN))


def test_a_deleted_user_gets_no_token_nor_does_a_later_user_of_the_name(lake):
    first, second = granted(lake), granted(lake)
    lake.users.delete("jane")
    refused(lake, first)
    lake.now += 1
    lake.users.create(User(username="jane", created_at=int(lake.now)))
    refused(lake, second)


@pytest.mark.parametrize(
    "other",
    [
        CommandLineLogin(port=4243, state=LOGIN.state, challenge=LOGIN.challenge),
        CommandLineLogin(port=4242, state="t" * 32, challenge=LOGIN.challenge),
        CommandLineLogin(port=4242, state=LOGIN.state, challenge="c" * 43),
    ],
)
def test_a_confirmation_is_of_one_login(lake, other):
    logins = lake.command_line_logins
    with pytest.raises(Invalid) as error:
        logins.grant(
            lake.actors.find("jane"), other, logins.confirmation(lake.actors.find("jane"), LOGIN)
        )
    assert error.value.kind == "login_not_confirmed"


def test_a_confirmation_is_of_one_user_and_expires(lake):
    logins = lake.command_line_logins
    confirmation = logins.confirmation(lake.actors.find("joe"), LOGIN)
    with pytest.raises(Invalid):
        logins.grant(lake.actors.find("jane"), LOGIN, confirmation)
    time, _, mac = confirmation.partition(".")
    for forged in (
        "",
        ".",
        mac,
        f"{int(time) + 1}.{mac}",
        f"-1.{mac}",
        f"²{time}.{mac}",
        "9" * 5000,
    ):
        with pytest.raises(Invalid):
            logins.grant(lake.actors.find("joe"), LOGIN, forged)
    lake.now += CONFIRMATION_LIFETIME
    with pytest.raises(Invalid):
        logins.grant(lake.actors.find("joe"), LOGIN, confirmation)


def test_codes_are_redeemed_while_the_key_of_the_installation_is_replaced(lake):
    code = granted(lake)
    old, new = KEY, Secret("the new key of the installation")
    for key, other_key, accepts in ((new, Secret(""), False), (new, old, True)):
        server = Access(lake.store, key, other_key=other_key, clock=lambda: lake.now)
        if accepts:
            assert server.command_line_logins.redeem(code, VERIFIER)[0] == "jane"
        else:
            with pytest.raises(Invalid):
                server.command_line_logins.redeem(code, VERIFIER)
