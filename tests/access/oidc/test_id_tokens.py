"""ID tokens that a provider, or somebody in its place, sends: which are accepted, and that none of
the others creates a user.
"""

from __future__ import annotations

import base64
import hmac
import json
import time

import pytest

from anabranch.errors import Busy, Unauthenticated


def refused(installation, reason) -> None:
    """Checks that a login is refused for a reason, and that nothing was changed."""
    version = installation.access.changes.version()
    with pytest.raises(Unauthenticated, match=reason) as error:
        installation.login()
    assert error.value.kind == "invalid_id_token"
    assert error.value.hint
    assert installation.usernames() == ["admin"]
    assert installation.access.changes.version() == version


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
@pytest.mark.parametrize("names_key", [True, False])
def test_a_published_key_is_accepted(installation, provider, algorithm, names_key):
    provider.algorithm = algorithm
    provider.signing_key = provider.keys[algorithm]
    provider.key_id = algorithm if names_key else None
    assert installation.login().username == "248289761001"


def test_a_key_under_the_id_of_another_is_refused(installation, provider):
    provider.signing_key = provider.keys["other"]
    refused(installation, "its signature is wrong")


def test_a_key_that_is_not_published_is_refused(installation, provider):
    provider.signing_key = provider.keys["other"]
    provider.key_id = "other"
    refused(installation, "a key that the provider does not publish")


def test_a_key_in_the_header_of_a_token_is_ignored(installation, provider):
    from joserfc import jwt

    key = provider.keys["other"]
    for extra in ({"jwk": key.as_dict(private=False)}, {"jku": f"{provider.issuer}/evil"}):
        header = {"alg": "RS256", "kid": "RS256", **extra}
        provider.make_token = lambda claims, header=header: jwt.encode(header, claims, key)
        refused(installation, "its signature is wrong")
    assert "/evil" not in provider.requests


def test_a_token_without_a_key_id_is_refused_where_several_keys_fit(installation, provider):
    other = provider.keys["other"].as_dict(private=False)
    provider.published.append({**other, "kid": "other", "use": "sig"})
    provider.key_id = None
    refused(installation, "a key that the provider does not publish")


@pytest.mark.parametrize("change", [{"use": "enc"}, {"alg": "PS256"}])
def test_a_key_for_other_purposes_is_refused(installation, provider, change):
    provider.published[0].update(change)
    refused(installation, "a key that the provider does not publish")


def test_a_short_key_is_refused(installation, provider):
    from joserfc.jwk import RSAKey

    provider.signing_key = RSAKey.generate_key(1024)
    provider.published[0].update(provider.signing_key.as_dict(private=False))
    refused(installation, "a key that the provider does not publish")


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", ""])
@pytest.mark.parametrize("signature", ["", "c2ln"])
def test_an_unsigned_token_is_refused(installation, provider, algorithm, signature):
    provider.make_token = lambda claims: (
        f"{encoded({'alg': algorithm, 'kid': 'RS256'})}.{encoded(claims)}.{signature}"
    )
    refused(installation, "an algorithm that is not accepted")


@pytest.mark.parametrize("digest", ["sha256", "sha384", "sha512"])
def test_a_public_key_used_as_a_shared_secret_is_refused(installation, provider, digest):
    public = provider.keys["RS256"].as_pem(private=False)

    def make_token(claims):
        algorithm = f"HS{digest.removeprefix('sha')}"
        text = f"{encoded({'alg': algorithm, 'kid': 'RS256'})}.{encoded(claims)}"
        mac = hmac.digest(public, text.encode(), digest)
        return f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"

    provider.make_token = make_token
    refused(installation, "an algorithm that is not accepted")


def test_a_changed_payload_is_refused(installation, provider):
    def make_token(claims):
        head, _, signature = provider.sign(claims).split(".")
        return f"{head}.{encoded({**claims, 'sub': 'somebody else'})}.{signature}"

    provider.make_token = make_token
    refused(installation, "its signature is wrong")


def test_critical_extensions_are_refused(installation, provider):
    def make_token(claims):
        _, body, signature = provider.sign(claims).split(".")
        head = encoded({"alg": "RS256", "kid": "RS256", "crit": ["b64"], "b64": False})
        return f"{head}.{body}.{signature}"

    provider.make_token = make_token
    refused(installation, "critical extensions")


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "not a signed token"),
        ("a.b", "not a signed token"),
        ("a.b.c.d.e", "not a signed token"),
        ("é.b.c", "not a signed token"),
        ("!!!.b.c", "header cannot be read"),
        (f"{'W1' * 200}.b.c", "header cannot be read"),
        (f"{encoded([])}.b.c", "header cannot be read"),
        (f"{encoded({'alg': 7})}.b.c", "header cannot be read"),
        (f"{encoded({'alg': 'RS256', 'kid': 'RS256'})}.b.c", "signature is wrong"),
        (f"a.{'b' * 70_000}.c", "not a signed token"),
    ],
)
def test_what_is_no_token_is_refused(installation, provider, token, reason):
    provider.make_token = lambda _: token
    refused(installation, reason)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://evil.example.com"}, "of another issuer"),
        ({"iss": None}, "of another issuer"),
        ({"aud": "another client"}, "for another client"),
        ({"aud": []}, "for another client"),
        ({"aud": None}, "for another client"),
        ({"aud": {"lake & sea": 1}}, "for another client"),
        ({"aud": ["lake & sea", "another"]}, "names none as authorized"),
        ({"aud": ["lake & sea", "another"], "azp": "another"}, "issued to another client"),
        ({"azp": "another"}, "issued to another client"),
        ({"azp": ["lake & sea"]}, "issued to another client"),
        ({"nonce": None}, "of another login"),
        ({"nonce": ""}, "of another login"),
        ({"nonce": "of another login"}, "of another login"),
        ({"nonce": ["a"]}, "of another login"),
        ({"nonce": "\ud800"}, "of another login"),
        ({"exp": None}, "times are missing"),
        ({"iat": None}, "times are missing"),
        ({"exp": "9999999999"}, "times are missing"),
        ({"exp": True}, "times are missing"),
        ({"nbf": "0"}, "times are missing"),
        ({"sub": None}, "names no subject"),
        ({"sub": ""}, "names no subject"),
        ({"sub": 7}, "names no subject"),
        ({"sub": "s" * 256}, "names no subject"),
        ({"sub": "\ud800"}, "names no subject"),
        ({"sub": "a\0b"}, "names no subject"),
    ],
    ids=str,
)
def test_claims_of_something_else_are_refused(installation, provider, claims, reason):
    provider.claims.update(claims)
    refused(installation, reason)


@pytest.mark.parametrize(
    ("claim", "offset", "reason"),
    [
        ("exp", -120, "has expired"),
        ("iat", 120, "of the future"),
        ("nbf", 120, "of the future"),
        ("exp", -30, None),
        ("iat", 30, None),
        ("nbf", 30, None),
        ("iat", -3000, None),
    ],
)
def test_clocks_may_differ_by_a_minute(installation, provider, claim, offset, reason):
    provider.claims[claim] = int(time.time()) + offset
    if reason is None:
        assert installation.login().username == "248289761001"
    else:
        refused(installation, reason)


def test_several_clients_are_accepted_if_this_one_is_authorized(installation, provider):
    provider.claims.update(aud=["lake & sea", "another"], azp="lake & sea")
    assert installation.login().username == "248289761001"


def test_a_new_key_of_the_provider_is_read_when_a_token_names_it(installation, provider):
    installation.login()
    assert provider.requests.count("/keys") == 1
    provider.signing_key, provider.key_id = provider.keys["other"], "new"
    public = provider.keys["other"].as_dict(private=False)
    provider.published[:] = [{**public, "kid": "new", "use": "sig"}]
    installation.late = 11  # keys are read at most every ten seconds for the sake of unknown ones
    installation.login()
    installation.login()
    assert provider.requests.count("/keys") == 2


def test_unknown_keys_do_not_make_the_server_read_keys_each_time(installation, provider):
    provider.key_id = "unknown"
    for _ in range(5):
        with pytest.raises(Unauthenticated):
            installation.login()
    assert provider.requests.count("/keys") == 1


@pytest.mark.parametrize(
    "keys",
    [b"", b"[]", b"{}", b'{"keys": 7}', b'{"keys": {}}', b"[" * 100_000, b"\xff", b" " * (1 << 21)],
    ids=lambda body: str(body[:10]),
)
def test_a_key_set_that_cannot_be_read_is_an_error_of_the_provider(installation, provider, keys):
    provider.replace("/keys", 200, keys)
    with pytest.raises(Busy) as error:
        installation.login()
    assert error.value.kind == "identity_provider_response"
    assert installation.usernames() == ["admin"]


def test_keys_that_cannot_be_read_do_not_hide_the_others(installation, provider):
    strange = [7, {}, {"kty": "RSA"}, {"kty": "oct", "k": "c2VjcmV0"}, {"kty": "AKP"}]
    strange += [{"kty": "EC", "crv": "P-256", "x": "?", "y": []}, {"kty": ["RSA"]}]
    provider.published[:0] = strange
    assert installation.login().username == "248289761001"
