"""Logging out revokes a token on all servers; others stay valid."""

from __future__ import annotations

import pytest

from anabranch.access.credentials.credentials import KeyPair
from anabranch.errors import Unauthenticated
from anabranch.model.secret import Secret

PAIR = KeyPair("AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
RECORDS = b"revoked/", b"revoked0"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@pytest.fixture
def servers(installation, installation_over):
    installation.setup.run("quickstart", PAIR)
    return installation, installation_over(installation.store)


def log_in(server):
    issued = server.authenticator.login(PAIR.access_key_id, PAIR.secret.reveal())
    return issued.token.reveal()


def is_valid(server, token):
    try:
        by_header = server.authenticator.authenticate(f"Bearer {token}")
    except Unauthenticated:
        with pytest.raises(Unauthenticated):
            server.authenticator.authenticate(None, token)
        return False
    assert server.authenticator.authenticate(None, token).username == by_header.username
    return True


def records(server):
    return list(server.store.scan("access", *RECORDS))


def test_a_revoked_token_is_refused_at_once_and_elsewhere_after_a_second(servers):
    here, there = servers
    token, other = log_in(here), log_in(here)
    assert all(is_valid(server, text) for server in servers for text in (token, other))
    here.authenticator.log_out(token)
    assert not is_valid(here, token)
    there.now += 1.0
    assert not is_valid(there, token)
    assert all(is_valid(server, other) for server in servers)
    assert here.authenticator.authenticate(None) is None


def test_other_texts_of_a_revoked_token_are_refused(servers):
    here, _ = servers
    token = log_in(here)
    # the last character of a signature has two bits that decoders ignore
    place = ALPHABET.index(token[-1])
    twin = token[:-1] + ALPHABET[place ^ 1]
    assert is_valid(here, token)
    accepted = is_valid(here, twin)
    here.authenticator.log_out(twin if accepted else token)
    assert not is_valid(here, token)
    assert not is_valid(here, twin)


def test_logging_out_twice_is_one_change(servers):
    here, _ = servers
    token = log_in(here)
    here.authenticator.log_out(token)
    version = here.changes.version()
    here.authenticator.log_out(token)
    assert here.changes.version() == version
    assert len(records(here)) == 1


def test_an_invalid_token_is_not_recorded(servers):
    here, _ = servers
    for text in ("", "abc", log_in(here)[:-8]):
        with pytest.raises(Unauthenticated):
            here.authenticator.log_out(text)
    assert records(here) == []


def test_records_of_expired_tokens_are_removed(servers):
    here, _ = servers
    tokens = [log_in(here) for _ in range(3)]
    for token in tokens:
        here.authenticator.log_out(token)
    here.now += 8 * 24 * 3600
    last = log_in(here)
    here.authenticator.log_out(last)
    assert len(records(here)) == 1
    assert not any(is_valid(here, token) for token in (*tokens, last))
