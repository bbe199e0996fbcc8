"""Authentication: all credentials, all errors, and the lifetime of cached results."""

from __future__ import annotations

import base64
import contextlib
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.access.credentials.credentials import KeyPair
from anabranch.access.sessions.authenticate import AuthCacheSettings
from anabranch.errors import Corrupt, Unauthenticated
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.secret import Secret

KEY = "AKIAIOSFOLQUICKSTART"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
PLACE = b"uCredentials/superAdmin/credentials/AKIAIOSFOLQUICKSTART"


def basic(key=KEY, secret=SECRET, scheme="Basic"):
    return f"{scheme} " + base64.b64encode(f"{key}:{secret}".encode()).decode()


@pytest.fixture
def ready(installation):
    installation.setup.run("quickstart", KeyPair(KEY, Secret(SECRET)))
    return installation


def remove(installation, key):
    installation.store.spoil("basicAuth", key, None)


def test_basic_bearer_and_cookie_authenticate(ready):
    issued = ready.authenticator.login(KEY, SECRET)
    token = issued.token.reveal()
    actors = [
        ready.authenticator.authenticate(basic()),
        ready.authenticator.authenticate(f"Bearer {token}"),
        ready.authenticator.authenticate(None, token),
    ]
    for actor in actors:
        assert actor.username == actor.committer == "quickstart"
        assert actor.is_unlimited


def test_schemes_are_written_in_any_case(ready):
    assert ready.authenticator.authenticate(basic(scheme="basic")).username == "quickstart"
    assert ready.authenticator.authenticate(basic(scheme="BASIC") + " ").username == "quickstart"
    token = ready.authenticator.login(KEY, SECRET).token.reveal()
    assert ready.authenticator.authenticate(f"bearer  {token}").username == "quickstart"


def test_request_without_credentials_is_anonymous(ready):
    for header in (None, "", "AWS4-HMAC-SHA256 Credential=a/b, Signature=c", "AWS a:b", "Digest x"):
        for session in (None, ""):
            assert ready.authenticator.authenticate(header, session) is None


def test_a_header_of_another_scheme_leaves_the_cookie(ready):
    token = ready.authenticator.login(KEY, SECRET).token.reveal()
    assert ready.authenticator.authenticate("AWS a:b", token).username == "quickstart"


def test_invalid_header_is_rejected_despite_a_valid_cookie(ready):
    token = ready.authenticator.login(KEY, SECRET).token.reveal()
    with pytest.raises(Unauthenticated):
        ready.authenticator.authenticate(basic(secret="wrong"), token)
    with pytest.raises(Unauthenticated):
        ready.authenticator.authenticate("Bearer wrong", token)


def test_unknown_key_and_wrong_secret_are_one_error(ready):
    errors = []
    for key, secret in [("AKIAJUNKNOWNUNKNOWNQ", SECRET), (KEY, "wrong"), (KEY, ""), ("", "")]:
        for call in (
            lambda key=key, secret=secret: ready.authenticator.authenticate(basic(key, secret)),
            lambda key=key, secret=secret: ready.authenticator.login(key, secret),
        ):
            with pytest.raises(Unauthenticated) as error:
                call()
            errors.append(error.value)
    assert len({(error.message, error.kind, error.hint) for error in errors}) == 1
    assert errors[0].message == "error authenticating request"


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


HOSTILE = {
    "empty": "Basic",
    "blank": "Basic ",
    "blanks": "Basic      ",
    "no base64": "Basic ???",
    "not padded": "Basic " + b64(b"a:bcd")[:-1],
    "junk within": "Basic " + b64(b"key:secret")[:4] + "\r\n" + b64(b"key:secret")[4:],
    "no colon": "Basic " + b64(b"AKIAIOSFOLQUICKSTART"),
    "not UTF-8": "Basic " + b64(b"\xff\xfe:\xff"),
    "NUL": "Basic " + b64(b"\0:\0"),
    "surrogate": "Basic \udcff\udcfe",
    "not ASCII": "Basic ключ",
    "huge": "Basic " + "A" * 100_000,
    "huge pair": "Basic " + b64(b"k" * 3000 + b":" + b"s" * 3000),
    "huge of no scheme": "A" * 100_000,
    "bearer": "Bearer",
    "bearer blank": "Bearer ",
    "bearer huge": "Bearer " + "a." * 50_000,
    "bearer basic": "Bearer " + b64(f"{KEY}:{SECRET}".encode()),
    "comma": basic() + ", " + basic(),
    "path": "Basic " + b64(b"../users:x"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers(ready, name):
    before = list(ready.store.scan("basicAuth"))
    with pytest.raises(Unauthenticated, match=r"^error authenticating request$"):
        ready.authenticator.authenticate(HOSTILE[name])
    assert list(ready.store.scan("basicAuth")) == before


@pytest.fixture(scope="module")
def shared(installation_over):
    return installation_over()


@given(st.sampled_from(["Basic ", "Bearer ", "bAsic", ""]), st.text(), st.text() | st.none())
def test_any_header_is_rejected_or_ignored(shared, scheme, rest, session):
    with contextlib.suppress(Unauthenticated):
        assert shared.authenticator.authenticate(scheme + rest, session) is None


def test_cached_cookie_is_not_valid_as_a_header(ready):
    ready.authenticator.authenticate(basic())
    with pytest.raises(Unauthenticated):
        ready.authenticator.authenticate(None, basic())
    token = ready.authenticator.login(KEY, SECRET).token.reveal()
    ready.authenticator.authenticate(None, token)
    assert ready.authenticator.authenticate(token) is None


def test_secrets_of_any_letters(installation):
    installation.setup.run("quickstart", KeyPair(KEY, Secret("pass:with:colons+/=%\\")))
    assert installation.authenticator.authenticate(basic(secret="pass:with:colons+/=%\\"))
    with pytest.raises(Unauthenticated):
        installation.authenticator.authenticate(basic(secret="pass"))


def test_cached_credentials_need_no_read_of_the_store(ready):
    token = ready.authenticator.login(KEY, SECRET).token.reveal()
    calls = [(basic(), None), (f"Bearer {token}", None), (None, token)]
    for call in calls:
        ready.authenticator.authenticate(*call)
    reads = ready.store.reads
    for call in calls * 5:
        ready.authenticator.authenticate(*call)
    assert ready.store.reads == reads


@pytest.mark.parametrize("wait", [0.0, 5.0, 19.0])
def test_revoked_key_stops_working_within_the_cache_lifetime(ready, wait):
    # However the two memories, of the key and of the header, follow each other.
    assert ready.authenticator.find_credential(KEY) is not None
    ready.now += wait
    ready.authenticator.authenticate(basic())
    remove(ready, PLACE)
    ready.now += 20 - wait - 0.001
    assert ready.authenticator.authenticate(basic()) is not None
    ready.now += 0.001
    with pytest.raises(Unauthenticated):
        ready.authenticator.authenticate(basic())
    assert ready.authenticator.find_credential(KEY) is None


def test_removed_user_stops_working_within_the_cache_lifetime(ready):
    token = ready.authenticator.login(KEY, SECRET).token.reveal()
    ways = [(basic(), None), (f"Bearer {token}", None), (None, token)]
    for way in ways:
        ready.authenticator.authenticate(*way)
    remove(ready, b"users/superAdmin")
    ready.now += 20
    for way in ways:
        with pytest.raises(Unauthenticated):
            ready.authenticator.authenticate(*way)


def test_forget_invalidates_cached_credentials_at_once(ready):
    token = ready.authenticator.login(KEY, SECRET).token.reveal()
    ways = [(basic(), None), (f"Bearer {token}", None), (None, token)]
    for way in ways:
        ready.authenticator.authenticate(*way)
    remove(ready, b"users/superAdmin")
    ready.authenticator.forget()
    for way in ways:
        with pytest.raises(Unauthenticated):
            ready.authenticator.authenticate(*way)


def test_check_during_forget_is_not_cached(ready):
    find = ready.credentials.find

    def slow_find(key):
        found = find(key)
        remove(ready, PLACE)
        ready.authenticator.forget()
        return found

    ready.credentials.find = slow_find
    ready.authenticator.authenticate(basic())
    ready.credentials.find = find
    with pytest.raises(Unauthenticated):
        ready.authenticator.authenticate(basic())
    assert ready.authenticator.find_credential(KEY) is None


def test_cached_token_expires_at_its_time(ready):
    issued = ready.authenticator.login(KEY, SECRET)
    ready.now = issued.expires_at - 5.0
    assert ready.authenticator.authenticate(f"Bearer {issued.token.reveal()}") is not None
    ready.now = issued.expires_at
    with pytest.raises(Unauthenticated):
        ready.authenticator.authenticate(f"Bearer {issued.token.reveal()}")


def test_a_new_key_works_at_once(installation):
    with pytest.raises(Unauthenticated):
        installation.authenticator.authenticate(basic())
    installation.setup.run("quickstart", KeyPair(KEY, Secret(SECRET)))
    assert installation.authenticator.authenticate(basic()) is not None


def test_disabled_cache_stores_nothing(installation_over):
    installation = installation_over(MemoryStore(), AuthCacheSettings(lifetime=0))
    installation.setup.run("quickstart", KeyPair(KEY, Secret(SECRET)))
    installation.authenticator.authenticate(basic())
    remove(installation, PLACE)
    with pytest.raises(Unauthenticated):
        installation.authenticator.authenticate(basic())


def test_secret_that_cannot_be_decrypted_raises_corrupt(ready):
    sealed = ready.store.get("basicAuth", PLACE)
    ready.store.spoil("basicAuth", PLACE, sealed.replace(sealed[40:60], bytes(20)))
    with pytest.raises(Corrupt):
        ready.authenticator.authenticate(basic())


def test_no_representation_contains_a_secret(ready, caplog):
    with caplog.at_level(logging.DEBUG):
        issued = ready.authenticator.login(KEY, SECRET)
        ready.authenticator.authenticate(basic())
        with pytest.raises(Unauthenticated) as error:
            ready.authenticator.authenticate(basic(secret="wrong-secret"))
    shown = [
        repr(issued),
        repr(ready.authenticator.find_credential(KEY)),
        repr(error.value),
        error.value.hint,
        caplog.text,
        repr(vars(ready.authenticator)),
        repr(vars(ready.authenticator._header_cache)),
        repr(vars(ready.authenticator._credential_cache)),
    ]
    for text in shown:
        for secret in (SECRET, "wrong-secret", issued.token.reveal(), basic()):
            assert secret not in text
