"""Logins at a provider that works, is down, is slow or sends nonsense."""

from __future__ import annotations

import re
import threading
import time

import msgspec
import pytest
from support.session.free_port import free_port

from anabranch.access.oidc.configuration import ClaimNames
from anabranch.access.oidc.provider_requests import MAX_REQUESTS
from anabranch.access.oidc.single_sign_on import AuthorizationResponse
from anabranch.errors import AnabranchError, Busy, Denied, Invalid, Unauthenticated
from anabranch.model.secret import Secret

METADATA = "/.well-known/openid-configuration"


def refused(installation, error_class, kind, action=None) -> AnabranchError:
    with pytest.raises(error_class) as error:
        (action or installation.login)()
    assert error.value.kind == kind
    assert error.value.hint
    assert installation.usernames() == ["admin"]
    return error.value


def test_a_login_has_a_token_of_the_user(installation):
    finished = installation.login("/repositories/sea?ref=main")
    actor = installation.access.authenticator.authenticate(
        None, session=finished.token.token.reveal()
    )
    assert actor.username == finished.username == "248289761001"
    assert finished.next_path == "/repositories/sea?ref=main"


def test_the_documents_of_the_provider_are_read_once_an_hour(installation, provider):
    for _ in range(3):
        installation.login()
    assert (provider.requests.count(METADATA), provider.requests.count("/keys")) == (1, 1)
    installation.late = 3601
    provider.claims.update(iat=int(installation.clock()), exp=int(installation.clock()) + 9)
    installation.login()
    assert (provider.requests.count(METADATA), provider.requests.count("/keys")) == (2, 2)


def test_a_code_is_exchanged_once(installation, provider):
    first, second = installation.sso.begin(""), installation.sso.begin("")
    parameters = provider.authorize(first.url)
    installation.sso.finish(first.cookie, AuthorizationResponse(**parameters))
    state = provider.authorize(second.url)["state"]
    replayed = AuthorizationResponse(code=parameters["code"], state=state)
    with pytest.raises(Unauthenticated) as error:
        installation.sso.finish(second.cookie, replayed)
    assert error.value.kind == "login_refused"


def test_the_code_of_another_browser_is_refused(installation, provider):
    """Code injection: PKCE's verifier of one login does not fit the code of another."""
    mine, yours = installation.sso.begin(""), installation.sso.begin("")
    code = provider.authorize(yours.url)["code"]
    state = provider.authorize(mine.url)["state"]
    stolen = AuthorizationResponse(code=code, state=state)
    refused(
        installation,
        Unauthenticated,
        "login_refused",
        lambda: installation.sso.finish(mine.cookie, stolen),
    )


def test_a_response_is_used_once_whether_or_not_it_was_accepted(installation, provider):
    begun = installation.sso.begin("")
    response = AuthorizationResponse(**provider.authorize(begun.url))
    provider.replace("/token", 503, b"{}")
    with pytest.raises(Busy):
        installation.sso.finish(begun.cookie, response)
    provider.restore("/token")
    action = lambda: installation.sso.finish(begun.cookie, response)  # noqa: E731
    refused(installation, Invalid, "login_state", action)
    assert provider.requests.count("/token") == 1


@pytest.mark.parametrize("code", ["access_denied", "login_required", "<script>", "a b", "é" * 99])
def test_an_error_of_the_provider_is_reported(installation, provider, code):
    begun = installation.sso.begin("")
    response = AuthorizationResponse(state=provider.authorize(begun.url)["state"], error=code)
    action = lambda: installation.sso.finish(begun.cookie, response)  # noqa: E731
    error = refused(installation, Denied, "login_denied", action)
    known = re.fullmatch("[a-z_]+", code)
    assert error.message.endswith(code if known else "unknown error")


def test_a_response_without_a_code_is_refused(installation, provider):
    begun = installation.sso.begin("")
    response = AuthorizationResponse(state=provider.authorize(begun.url)["state"])
    refused(
        installation,
        Invalid,
        "login_state",
        lambda: installation.sso.finish(begun.cookie, response),
    )


@pytest.mark.parametrize("sends", [True, False])
@pytest.mark.parametrize("issuer", ["own", "", "https://evil.example.com"])
def test_the_issuer_of_a_response_is_compared(installation, provider, sends, issuer):
    provider.metadata["authorization_response_iss_parameter_supported"] = sends
    begun = installation.sso.begin("")
    parameters = provider.authorize(begun.url)
    response = AuthorizationResponse(
        **parameters, iss=provider.issuer if issuer == "own" else issuer
    )
    action = lambda: installation.sso.finish(begun.cookie, response)  # noqa: E731
    if issuer == "own" or (not issuer and not sends):
        action()
    else:
        refused(installation, Unauthenticated, "invalid_id_token", action)
        assert "/token" not in provider.requests


@pytest.mark.parametrize("methods", [[], ["client_secret_post"], ["private_key_jwt"]])
def test_the_client_authenticates_as_the_provider_asks(installation, provider, methods):
    provider.metadata["token_endpoint_auth_methods_supported"] = methods
    installation.login()


def test_a_wrong_client_secret_is_reported_to_the_operator(installation):
    client = msgspec.structs.replace(installation.configuration.client, secret=Secret("wrong"))
    installation.configured(client=client)
    error = refused(installation, AnabranchError, "identity_provider_refused_client")
    assert "client_secret" in error.hint
    assert "wrong" not in str(error)


def test_a_provider_that_is_down_is_reported_until_it_is_back(installation, provider):
    issuer = f"http://127.0.0.1:{free_port()}"
    client = msgspec.structs.replace(installation.configuration.client, issuer=issuer)
    installation.configured(client=client)
    refused(installation, Busy, "identity_provider_unavailable")
    provider.replace(METADATA, 503, b"")
    installation.configured()
    refused(installation, Busy, "identity_provider_response")
    provider.restore(METADATA)
    installation.login()


@pytest.mark.parametrize("path", [METADATA, "/keys", "/token"])
@pytest.mark.parametrize("how", ["stall", "drip"])
@pytest.mark.sample(1)
def test_a_slow_provider_is_not_waited_for(installation, provider, path, how):
    installation.configured(request_timeout=0.4)
    getattr(provider, how)(path)
    began = time.monotonic()
    refused(installation, Busy, "identity_provider_unavailable")
    assert time.monotonic() - began < 60  # it would wait for ever


def test_a_slow_provider_holds_no_more_than_a_few_threads(installation, provider, eventually):
    installation.configured(request_timeout=30.0)
    provider.stall(METADATA)
    errors = []

    def begin():
        try:
            installation.sso.begin("")
        except Busy as error:
            errors.append(error.kind)

    threads = [threading.Thread(target=begin) for _ in range(MAX_REQUESTS + 4)]
    for thread in threads:
        thread.start()
    eventually(lambda: errors == ["too_many_logins"] * 4)
    provider.stalled.set()
    for thread in threads:
        thread.join()
    assert errors.count("too_many_logins") == 4
    provider.restore(METADATA)
    installation.login()


@pytest.mark.parametrize("path", [METADATA, "/keys", "/token", "/userinfo"])
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"<html>Welcome</html>"),
        (200, b"[]"),
        (200, b"null"),
        (200, b"{}"),
        (200, b'{"id_token": 7, "issuer": [], "keys": 1, "sub": null}'),
        (200, b"\xff\xfe"),
        (200, b"[" * 100_000),
        (200, b" " * (2 << 20)),
        (204, b""),
        (302, b""),
        (404, b"{}"),
        (500, b"{}"),
    ],
    ids=lambda value: str(value)[:20],
)
@pytest.mark.sample(6)
def test_nonsense_is_an_error_of_the_provider(installation, provider, path, status, body):
    provider.replace(path, status, body, Location=f"{provider.issuer}/elsewhere")
    kind = "identity_provider_response"
    error_class = Busy
    if (
        path == "/userinfo"
        and status == 200
        and body in (b"{}", b'{"id_token": 7, "issuer": [], "keys": 1, "sub": null}')
    ):
        kind, error_class = "invalid_id_token", Unauthenticated
    refused(installation, error_class, kind)
    assert "/elsewhere" not in provider.requests


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example.com"},
        {"token_endpoint": "ftp://127.0.0.1/token"},
        {"token_endpoint": "/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "https://a\r\nSet-Cookie: b"},
        {"jwks_uri": "file:///etc/passwd"},
        {"userinfo_endpoint": "https://[a"},
        {"token_endpoint": None},
    ],
    ids=str,
)
def test_metadata_of_something_else_are_refused(installation, provider, metadata):
    provider.metadata.update(metadata)
    refused(installation, Busy, "identity_provider_response")
    assert provider.requests == [METADATA]


def test_configured_parameters_are_sent_but_replace_none(installation, provider):
    client = msgspec.structs.replace(
        installation.configuration.client,
        authorization_parameters=(("audience", "a&b"), ("state", "mine"), ("prompt", "login")),
        scopes=("openid", "profile", "email"),
    )
    provider.metadata["authorization_endpoint"] = f"{provider.issuer}/authorize?tenant=1"
    begun = installation.configured(client=client).begin("")
    assert begun.url.startswith(f"{provider.issuer}/authorize?tenant=1&audience=a%26b&")
    assert "prompt=login" in begun.url
    assert "scope=openid+profile+email" in begun.url
    assert "mine" not in begun.url
    assert provider.authorize(begun.url)


def test_required_claims_decide_who_may_log_in(installation, provider):
    installation.configured(claims=ClaimNames(required=(("department", "sea"), ("admin", "true"))))
    for claims in (
        {},
        {"department": "sea"},
        {"department": "land", "admin": True},
        {"department": ["land"], "admin": True},
        {"department": None, "admin": "True"},
    ):
        provider.claims = {"sub": "1", **claims}
        refused(installation, Denied, "claim_mismatch")
    for department in ("sea", ["land", "sea"]):
        provider.claims = {"sub": "1", "department": department, "admin": True}
        installation.login()


def test_a_missing_claim_is_not_the_text_none(installation):
    installation.configured(claims=ClaimNames(required=(("department", "None"),)))
    refused(installation, Denied, "claim_mismatch")


def test_claims_of_the_userinfo_endpoint_are_added(installation, provider):
    provider.claims = {"sub": "1", "name": "Jane of the token"}
    provider.userinfo = {"email": "jane@example.com", "name": "another", "iss": "https://evil"}
    username = installation.login().username
    user = installation.access.users.get(username)
    assert (user.email, user.friendly_name) == ("jane@example.com", "Jane of the token")
    assert user.external_id == f"{provider.issuer}#1"


def test_userinfo_of_another_subject_is_refused(installation, provider):
    provider.userinfo = {"sub": "2", "email": "jane@example.com"}
    refused(installation, Unauthenticated, "invalid_id_token")
