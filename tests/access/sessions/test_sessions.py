"""Sessions end with what they depend on: the user's record, and the key that opened them."""

from __future__ import annotations

import hashlib

import pytest

from anabranch.access.credentials.credentials import KeyPair
from anabranch.access.credentials.derived_keys import encode_base64url
from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.identities.users import User
from anabranch.access.records.layout import PARTITION, SETUP_CREDENTIALS, SETUP_PARTITION, user_key
from anabranch.access.sessions.command_line_logins import CommandLineLogin
from anabranch.errors import Conflict, Invalid, NotFound, Unauthenticated
from anabranch.model.secret import Secret
from anabranch.records import lakefs_pb2 as records

PAIR = KeyPair("AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
OF_ADA = KeyPair("AKIAIOSFOLQUICKADAAA", Secret("ada-has-a-secret-of-her-own"))
VERIFIER = "v" * 64
CHALLENGE = encode_base64url(hashlib.sha256(VERIFIER.encode()).digest())
LOGIN = CommandLineLogin(port=4242, state="s" * 32, challenge=CHALLENGE)


@pytest.fixture
def server(installation):
    installation.setup.run("quickstart", PAIR)
    installation.users.create(ada(installation))
    installation.credentials.create("ada", OF_ADA)
    return installation


def ada(installation) -> User:
    return User(username="ada", created_at=int(installation.now))


def login(server, pair=OF_ADA) -> str:
    token = server.authenticator.login(pair.access_key_id, pair.secret.reveal()).token.reveal()
    assert is_open(server, token)
    return token


def is_open(server, token) -> bool:
    """Whether a token authenticates, as a header and as a cookie."""
    results = []
    for credentials in ((f"Bearer {token}",), (None, token)):
        try:
            results.append(server.authenticator.authenticate(*credentials) is not None)
        except Unauthenticated:
            results.append(False)
    assert len(set(results)) == 1
    return results[0]


def test_a_token_ends_with_its_user_also_if_a_later_one_is_created_in_the_same_second(server):
    token = login(server)
    server.users.delete("ada")
    server.users.create(ada(server))
    assert not is_open(server, token)
    server.credentials.create("ada", OF_ADA)
    assert not is_open(server, token)
    assert is_open(server, login(server))


def test_deleting_a_key_ends_the_sessions_that_it_opened_and_no_others(server):
    other = server.credentials.create("ada")
    first, second = login(server), login(server, KeyPair(other.access_key_id, other.secret))
    server.credentials.delete("ada", OF_ADA.access_key_id)
    assert not is_open(server, first)
    assert is_open(server, second)


def test_a_key_that_is_created_again_opens_none_of_the_earlier_sessions(server):
    token = login(server)
    server.credentials.delete("ada", OF_ADA.access_key_id)
    server.credentials.create("ada", OF_ADA)
    assert not is_open(server, token)


def test_a_key_of_the_first_user_ends_its_sessions_too(server):
    server.credentials.create("quickstart")
    token = login(server, PAIR)
    server.credentials.delete("quickstart", PAIR.access_key_id)
    assert not is_open(server, token)


def granted(server, token) -> str:
    logins, actor = server.command_line_logins, server.authenticator.authenticate(None, token)
    return logins.grant(actor, LOGIN, logins.confirmation(actor, LOGIN))


def test_a_login_of_the_command_line_ends_with_the_key_of_the_session_that_allowed_it(server):
    _, issued = server.command_line_logins.redeem(granted(server, login(server)), VERIFIER)
    assert is_open(server, issued.token.reveal())
    server.credentials.delete("ada", OF_ADA.access_key_id)
    assert not is_open(server, issued.token.reveal())


def test_a_code_of_a_user_who_is_created_again_in_the_same_second_is_refused(server):
    code = granted(server, login(server))
    server.users.delete("ada")
    server.users.create(ada(server))
    with pytest.raises(Invalid):
        server.command_line_logins.redeem(code, VERIFIER)


def test_a_confirmation_of_a_user_who_is_created_again_is_refused(server):
    logins = server.command_line_logins
    confirmation = logins.confirmation(server.actors.find("ada"), LOGIN)
    server.users.delete("ada")
    server.users.create(ada(server))
    with pytest.raises(Invalid):
        logins.grant(server.actors.find("ada"), LOGIN, confirmation)


def test_all_sessions_of_one_user_end(server):
    tokens = [login(server), login(server)]
    code, others = granted(server, tokens[0]), login(server, PAIR)
    server.users.end_sessions("ada")
    assert not any(is_open(server, token) for token in tokens)
    with pytest.raises(Invalid):
        server.command_line_logins.redeem(code, VERIFIER)
    assert is_open(server, others)
    assert is_open(server, login(server))  # keys still open sessions
    with pytest.raises(NotFound):
        server.users.end_sessions("grace")


def test_ended_sessions_stay_ended_when_the_user_changes(server):
    token = login(server)
    before = server.users.get("ada")
    server.users.end_sessions("ada")
    server.users.replace(before)  # of another server, which read the user earlier
    assert not is_open(server, token)


def test_a_login_of_another_system_ends_with_its_principal(server):
    principals = server.external_principals
    principals.add("ada", "arn:aws:sts::1:assumed-role/etl")
    name, binding = principals.find_login(["unknown", "arn:aws:sts::1:assumed-role/etl"])
    token = server.tokens.issue(name, binding).token.reveal()
    assert is_open(server, token)
    principals.remove("ada", "arn:aws:sts::1:assumed-role/etl")
    principals.add("ada", "arn:aws:sts::1:assumed-role/etl")
    assert not is_open(server, token)
    assert principals.find_login(["unknown"]) is None


def without_ids(server, partition, key, message):
    """Stores a record as earlier versions and lakeFS did."""
    record = message.FromString(server.store.get(partition, key))
    for field in ("record_id", "session_epoch"):
        if field in message.DESCRIPTOR.fields_by_name:
            record.ClearField(field)
    server.store.spoil(partition, key, record.SerializeToString())
    server.changed()


def test_records_and_tokens_of_earlier_versions_are_valid_until_the_user_is_created_again(server):
    without_ids(server, PARTITION, user_key("ada"), records.UserData)
    key = SETUP_CREDENTIALS + PAIR.access_key_id.encode()
    without_ids(server, SETUP_PARTITION, key, records.CredentialData)
    without_ids(server, SETUP_PARTITION, b"users/superAdmin", records.UserData)
    server.credentials.create("quickstart")
    earlier = [server.tokens.issue(name, SessionBinding()) for name in ("ada", "quickstart")]
    tokens = [login(server), *(issued.token.reveal() for issued in earlier)]
    opened_by_key = login(server, PAIR)
    assert all(is_open(server, token) for token in tokens)
    server.credentials.delete("quickstart", PAIR.access_key_id)
    assert not is_open(server, opened_by_key)
    server.users.delete("ada")
    server.users.create(ada(server))
    assert [is_open(server, token) for token in tokens] == [False, False, True]
    server.users.end_sessions("quickstart")
    assert not is_open(server, tokens[2])


def test_a_replaced_administrator_has_no_sessions_of_before(server):
    token = login(server, PAIR)
    signed_on = server.actors.find("quickstart").binding  # without a key, as by single sign-on
    other = server.tokens.issue("quickstart", signed_on).token.reveal()
    server.recovery.run()
    server.changed()
    assert not is_open(server, token)
    assert not is_open(server, other)


def test_recovery_activates_the_administrator(server):
    server.memberships.add("Admins", "ada")
    server.users.set_active("quickstart", active=False)
    credential = server.recovery.run().credential
    server.changed()
    assert is_open(server, login(server, KeyPair(credential.access_key_id, credential.secret)))


def test_the_last_administrator_cannot_be_deactivated(server):
    with pytest.raises(Conflict):
        server.users.set_active("quickstart", active=False)
    assert server.users.is_active("quickstart")
