"""Tokens: compatible with other libraries, and forged ones are rejected."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.sessions.tokens import Tokens
from anabranch.errors import Unauthenticated
from anabranch.model.secret import Secret

BINDING = SessionBinding()
KEY = "THIS_MUST_BE_CHANGED_IN_PRODUCTION"
NOW = 1_700_000_100

# Signed by Go: github.com/golang-jwt/jwt v4.5.0, with the claims of lakeFS's login.
CLAIMS = (
    "eyJpc3MiOiJhdXRoIiwic3ViIjoicXVpY2tzdGFydCIsImF1ZCI6WyJsb2dpbiJdLCJleHAiOjE3MDA2MDQ4MDAsImlhdCI6"
    "MTcwMDAwMDAwMCwianRpIjoiMWY4YjJlMGUtNmY2Yi00YTUyLTlkNTQtM2MyYTZmMWQwYzExIn0"
)
BY_GO = {
    "HS256": f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.{CLAIMS}."
    "whBi1QYvNsnncO0Nrach1hVZouuhJb9JTS9cAbIAtOg",
    "HS384": f"eyJhbGciOiJIUzM4NCIsInR5cCI6IkpXVCJ9.{CLAIMS}."
    "S-VIZRbuWiIKeLWjpSJxQf4OA4QZ4zdgfpNWbgK2D3SUWa1W4p3MJtXuWo-dOZAm",
    "HS512": f"eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.{CLAIMS}."
    "RU3-UT3OzNPZj1kP-6F6htFGc5BCfzRTLYspbbhrpcnAhKhoLbS3FgfwcZHgZ_lt6Z1b_HdYQcPmNAsEP46aTw",
    "no audience": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
    "eyJleHAiOjE3MDA2MDQ4MDAsImp0aSI6IjFmOGIyZTBlLTZmNmItNGE1Mi05ZDU0LTNjMmE2ZjFkMGMxMSIsImlhdCI6MTcw"
    "MDAwMDAwMCwiaXNzIjoiYXV0aCIsInN1YiI6InF1aWNrc3RhcnQifQ.kCMSuyi0o7qOqHoNLQ5-7_AcpgFXMTZLSVt9yl_PGE8",
}
GOOD = {"sub": "ada", "exp": NOW + 10, "iat": NOW - 1, "iss": "auth", "aud": "login"}


def tokens(now=NOW, key=KEY):
    return Tokens(Secret(key), lambda: now, lambda: "an-id")


def part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(claims, *, key=KEY, algorithm="HS256", header=None):
    """A token put together by hand."""
    head = part(json.dumps({"alg": algorithm, "typ": "JWT"} if header is None else header).encode())
    body = part(claims if isinstance(claims, bytes) else json.dumps(claims).encode())
    digest = {"HS256": "sha256", "HS512": "sha512"}.get(algorithm, "sha256")
    return f"{head}.{body}." + part(hmac.digest(key.encode(), f"{head}.{body}".encode(), digest))


@pytest.mark.parametrize("name", BY_GO)
def test_tokens_of_another_library_are_valid(name):
    verified = tokens().verify(BY_GO[name])
    assert verified.username == "quickstart"
    assert verified.expires_at == 1_700_604_800


def test_ours_has_the_claims_of_lakefs_and_its_signature():
    issued = tokens().issue("ada", BINDING)
    head, body, signature = issued.token.reveal().split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    assert claims == {
        "jti": "an-id",
        "iss": "auth",
        "sub": "ada",
        "aud": "login",
        "iat": NOW,
        "exp": NOW + 7 * 24 * 3600,
    }
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"alg": "HS256", "typ": "JWT"}
    expected = hmac.new(KEY.encode(), f"{head}.{body}".encode(), hashlib.sha256).digest()
    assert signature == part(expected)
    assert issued.expires_at == NOW + 7 * 24 * 3600
    assert issued.token.reveal() not in repr(issued)


def test_token_is_valid_until_it_expires():
    issued = tokens().issue("ada", BINDING)
    assert tokens(issued.expires_at - 0.5).verify(issued.token.reveal()).username == "ada"
    with pytest.raises(Unauthenticated):
        tokens(issued.expires_at).verify(issued.token.reveal())


def test_token_of_a_server_with_a_faster_clock_is_valid():
    issued = tokens().issue("ada", BINDING)
    assert tokens(NOW - 60).verify(issued.token.reveal()).username == "ada"
    with pytest.raises(Unauthenticated):
        tokens(NOW - 61).verify(issued.token.reveal())


def test_short_key_works_without_a_warning(recwarn):
    issued = tokens(key="short").issue("ada", BINDING)
    assert tokens(key="short").verify(issued.token.reveal()).username == "ada"
    assert len(recwarn) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"exp": NOW},
        {"exp": NOW - 1},
        {"exp": None},
        {"exp": "2030"},
        {"exp": True},
        {"exp": float("nan")},
        {"sub": ""},
        {"sub": None},
        {"sub": 7},
        {"sub": ["ada"]},
        {"iat": NOW + 61},
        {"iat": "now"},
        {"nbf": NOW + 61},
        {"nbf": None},
        {"aud": "reset_password"},
        {"aud": ["other"]},
        {"aud": 5},
    ],
    ids=str,
)
def test_invalid_claims_are_rejected(change):
    assert tokens().verify(signed(GOOD)).username == "ada"
    with pytest.raises(Unauthenticated):
        tokens().verify(signed(GOOD | change))


@pytest.mark.parametrize("name", ["exp", "sub"])
def test_missing_claims_are_rejected(name):
    with pytest.raises(Unauthenticated):
        tokens().verify(signed({key: value for key, value in GOOD.items() if key != name}))


@pytest.mark.parametrize("audience", ["", [], ["login"], ["other", "login"], None])
def test_audience_must_contain_login(audience):
    assert tokens().verify(signed(GOOD | {"aud": audience})).username == "ada"


def forgeries():
    good = signed(GOOD)
    head, body, signature = good.split(".")
    yield "other key", signed(GOOD, key="other")
    yield "none", signed(GOOD, header={"alg": "none"})
    yield "none without signature", part(b'{"alg":"none"}') + f".{body}."
    yield "RS256", signed(GOOD, header={"alg": "RS256"})
    yield "no algorithm", signed(GOOD, header={"typ": "JWT"})
    yield "other algorithm", signed(GOOD, algorithm="HS256", header={"alg": "HS512"})
    yield "critical", signed(GOOD, header={"alg": "HS256", "crit": ["x"], "x": 1})
    yield "other body", f"{head}.{part(json.dumps(GOOD | {'sub': 'eve'}).encode())}.{signature}"
    yield "no signature", f"{head}.{body}."
    yield "two parts", f"{head}.{body}"
    yield "four parts", good + ".x"
    yield "not JSON", signed(b"claims")
    yield "a list", signed(b"[]")
    yield "not UTF-8", signed(b"\xff\xfe")
    yield "deep", signed(b"[" * 2000)
    yield "deep header", part(b"[" * 3000) + f".{body}.{signature}"
    yield "empty", ""
    yield "dots", ".."
    yield "no base64", "ä.ö.ü"
    yield "surrogates", "\udcff\udcfe"
    yield "NUL", "\0"
    yield "long", "a" * 5000
    yield "long and signed", signed(GOOD | {"pad": "x" * 5000})


@pytest.mark.parametrize(("name", "token"), list(forgeries()), ids=lambda value: str(value)[:30])
def test_forgeries(name, token):
    with pytest.raises(Unauthenticated) as error:
        tokens().verify(token)
    assert str(error.value) == "error authenticating request", name


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["alg", "typ", "crit", "b64", "kid", "jwk", "x"]), ANYTHING))
def test_any_header_is_accepted_or_rejected(header):
    try:
        assert tokens().verify(signed(GOOD, header=header)).username == "ada"
        assert header["alg"] == "HS256"
    except Unauthenticated:
        assert header != {"alg": "HS256"}


@given(
    st.dictionaries(st.sampled_from([*GOOD, "nbf", "jti"]), ANYTHING).map(lambda some: GOOD | some)
)
def test_any_claims_are_accepted_or_rejected(claims):
    try:
        assert tokens().verify(signed(claims)).username == claims["sub"]
        assert claims["exp"] > NOW
    except Unauthenticated:
        assert claims != GOOD


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_any_other_text_is_rejected(text):
    with pytest.raises(Unauthenticated):
        tokens().verify(text)
