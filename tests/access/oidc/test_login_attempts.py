"""Attempts to log in: each is redeemed once, by the browser that began it, in time."""

from __future__ import annotations

import base64
import hashlib
import random
import threading

import pytest

from anabranch.access.credentials.derived_keys import DerivedKeys
from anabranch.access.oidc.login_attempts import LIFETIME, LoginAttempts
from anabranch.errors import Invalid
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.secret import Secret


class Servers:
    """Servers over one store at a time that the test sets."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.store = MemoryStore()

    def server(self, key: str = "key", other_key: str = "") -> LoginAttempts:
        keys = DerivedKeys(Secret(key), Secret(other_key), "oidc login")
        return LoginAttempts(self.store, keys, lambda: self.now, random.randbytes)


@pytest.fixture
def servers() -> Servers:
    return Servers()


def refused(attempts, cookie, state, reason) -> None:
    with pytest.raises(Invalid, match=reason) as error:
        attempts.redeem(cookie, state)
    assert error.value.kind == "login_state"


def test_another_server_redeems_an_attempt(servers):
    begun = servers.server().begin("/repositories?a=b")
    redeemed = servers.server().redeem(begun.cookie, begun.state)
    assert redeemed == begun
    assert redeemed.next_path == "/repositories?a=b"


def test_an_attempt_is_redeemed_once_on_all_servers(servers):
    begun = servers.server().begin("/")
    servers.server().redeem(begun.cookie, begun.state)
    for _ in range(2):
        refused(servers.server(), begun.cookie, begun.state, "used before")


def test_one_of_many_requests_at_once_redeems_an_attempt(servers):
    begun = servers.server().begin("/")
    results = []
    barrier = threading.Barrier(8)

    def redeem():
        barrier.wait()
        try:
            results.append(servers.server().redeem(begun.cookie, begun.state))
        except Invalid as error:
            results.append(error.kind)

    threads = [threading.Thread(target=redeem) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results.count("login_state") == 7
    assert results.count(begun) == 1


def test_the_state_of_another_browser_is_refused(servers):
    mine, yours = servers.server().begin("/"), servers.server().begin("/")
    refused(servers.server(), mine.cookie, yours.state, "in another browser")
    refused(servers.server(), mine.cookie, "", "in another browser")
    refused(servers.server(), mine.cookie, "é", "in another browser")
    servers.server().redeem(mine.cookie, mine.state)  # which was not used up by that


@pytest.mark.parametrize("cookie", [None, ""])
def test_a_browser_without_a_cookie_is_refused(servers, cookie):
    refused(servers.server(), cookie, servers.server().begin("/").state, "sent no cookie")


def test_a_changed_cookie_is_refused(servers):
    begun = servers.server().begin("/")
    text, _, mac = begun.cookie.partition(".")
    content = base64.urlsafe_b64decode(text + "==").replace(b'"/"', b'"//evil.example.com"')
    forged = base64.urlsafe_b64encode(content).decode()
    for cookie in (
        f"{forged}.{mac}",
        f"{text}.",
        text,
        f".{mac}",
        ".",
        f"{text}.{mac}x",
        f"{text}.é",
        "\ud800",
        "é",
        "a" * 5000,
    ):
        refused(servers.server(), cookie, begun.state, "damaged")


def test_the_cookie_of_an_installation_with_another_key_is_refused(servers):
    begun = servers.server("another key").begin("/")
    refused(servers.server(), begun.cookie, begun.state, "damaged")


def test_an_attempt_is_redeemed_while_the_key_of_the_installation_is_replaced(servers):
    begun = servers.server("old").begin("/")
    refused(servers.server("new"), begun.cookie, begun.state, "damaged")
    assert servers.server("new", "old").redeem(begun.cookie, begun.state) == begun
    refused(servers.server("old", "new"), begun.cookie, begun.state, "used before")


def test_an_attempt_expires(servers):
    first, second = servers.server().begin("/"), servers.server().begin("/")
    servers.now += LIFETIME - 1
    servers.server().redeem(first.cookie, first.state)
    servers.now += 1
    refused(servers.server(), second.cookie, second.state, "too long")


def test_a_used_attempt_is_refused_when_its_record_was_removed(servers):
    begun = servers.server().begin("/")
    servers.server().redeem(begun.cookie, begun.state)
    servers.now += 2 * LIFETIME
    for _ in range(2):
        later = servers.server().begin("/")
        servers.server().redeem(later.cookie, later.state)
    assert len(list(servers.store.scan("access", b"logins/", b"logins0"))) == 2
    refused(servers.server(), begun.cookie, begun.state, "too long")


def test_the_cookie_has_none_of_the_values_that_are_sent(servers):
    begun = servers.server().begin("/")
    content = base64.urlsafe_b64decode(begun.cookie.partition(".")[0] + "==").decode()
    for value in (begun.state, begun.nonce, begun.verifier, begun.challenge):
        assert value not in begun.cookie
        assert value not in content
    assert len({begun.state, begun.nonce, begun.verifier, begun.challenge}) == 4


def test_the_challenge_is_the_digest_of_a_verifier_of_the_right_length(servers):
    begun = servers.server().begin("/")
    assert 43 <= len(begun.verifier) <= 128  # RFC 7636, section 4.1
    digest = hashlib.sha256(begun.verifier.encode("ascii")).digest()
    assert base64.urlsafe_b64decode(begun.challenge + "=") == digest
