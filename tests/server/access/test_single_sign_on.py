"""Logins in a browser: cookies, redirections and pages, over HTTP."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import lakefs.client
import pytest
from support.clients.browser import Browser
from support.services.scripted_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    ScriptedProvider,
    running_provider,
)
from support.session.free_port import free_port

from anabranch.access.oidc.provider_requests import MAX_REQUESTS
from anabranch.testing.server import Server, running_server
from tests.server.observability.complete_lines import complete_lines

PROGRAM = "https://notebook.example.com/callback"


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    with running_provider() as running:
        yield running


@pytest.fixture(scope="module")
def lake(tmp_path_factory, provider) -> Iterator[Server]:
    port = free_port()
    settings = {
        "ENABLED": "true",
        "URL": provider.issuer,
        "CLIENT_ID": CLIENT_ID,
        "CLIENT_SECRET": CLIENT_SECRET,
        "CALLBACK_BASE_URL": f"http://127.0.0.1:{port}/",
        "DEFAULT_INITIAL_GROUPS": "Viewers",
        "STS_REDIRECT_URIS": PROGRAM,
        "LOGOUT_CLIENT_ID_QUERY_PARAMETER": "client_id",
        "LOGOUT_ENDPOINT_QUERY_PARAMETERS": "returnTo,https://lake.example.com/?a=b",
    }
    env = {f"ANABRANCH_AUTH_OIDC_{name}": value for name, value in settings.items()}
    env["ANABRANCH_AUTH_LOGOUT_REDIRECT_URL"] = f"{provider.issuer}/logout?x=y"
    folder = tmp_path_factory.mktemp("lake")
    env["ANABRANCH_LOGGING_LEVEL"] = "TRACE"
    env["ANABRANCH_AUDIT_FILE"] = str(folder / "audit.jsonl")
    with running_server(folder, listen=f"127.0.0.1:{port}", env=env) as server:
        yield server


@pytest.fixture
def api(lake) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=lake.api, auth=lake.auth, timeout=30) as client:
        yield client


@pytest.fixture
def browser(lake, provider) -> Iterator[Browser]:
    provider.claims = {"sub": "1", "preferred_username": "jane"}
    with Browser(lake.url) as browser:
        yield browser


def cookies_of(response: httpx2.Response) -> list[str]:
    return response.headers.get_list("set-cookie")


def callback(lake, **parameters: str) -> str:
    return f"{lake.api}/oidc/callback?{urlencode(parameters)}"


def refused(browser, response, status, kind) -> str:
    """Checks that a page tells the error, and that the browser is not logged in."""
    assert (response.status_code, response.headers["x-anabranch-kind"]) == (status, kind)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    assert response.headers["cache-control"] == "no-store"
    assert "Not logged in" in response.text
    assert browser.session is None
    assert browser.attempt is None
    assert browser.username() == ""
    return response.text


def test_a_login_sets_the_session_and_returns_to_the_page(lake, api, browser):
    response = browser.go(f"{lake.url}/oidc/login?next=/repositories%3Fafter%3Da%2526b")
    assert response.status_code == 302
    assert response.headers["location"] == "/repositories?after=a%26b"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert browser.username() == "jane"
    assert browser.attempt is None
    user = api.get("/auth/users/jane").json()
    assert user["friendly_name"] == ""
    groups = api.get("/auth/users/jane/groups").json()["results"]
    assert [group["id"] for group in groups] == ["Viewers"]
    before = api.get("/auth/users").json()
    assert browser.go(f"{lake.url}/oidc/login").headers["location"] == "/"
    assert api.get("/auth/users").json() == before


def test_the_session_is_that_of_a_login_with_keys(lake, browser):
    browser.go(f"{lake.url}/oidc/login")
    assert browser.get(f"{lake.api}/repositories").status_code == 200
    assert browser.post(f"{lake.api}/repositories", json={}).status_code == 403  # another site
    bearer = {"Authorization": f"Bearer {browser.session}"}
    assert httpx2.get(f"{lake.api}/user", headers=bearer).json()["user"]["id"] == "jane"


def test_the_attributes_of_the_cookies(lake, browser):
    begun = browser.get(f"{lake.url}/oidc/login")
    (attempt,) = cookies_of(begun)
    assert attempt.endswith("; Path=/api/v1/oidc/callback; Max-Age=600; HttpOnly; SameSite=Lax")
    finished = browser.send(browser.send(begun.next_request).next_request)
    expired, session = cookies_of(finished)
    assert "=; Path=/api/v1/oidc/callback; Max-Age=0;" in expired
    assert re.search("; Path=/; Max-Age=(60479[0-9]|604800); HttpOnly; SameSite=Lax$", session)


def test_the_redirect_uri_does_not_depend_on_the_request(lake, browser):
    headers = {"Host": "evil.example.com", "X-Forwarded-Host": "evil.example.com"}
    response = browser.get(f"{lake.url}/oidc/login", headers=headers)
    query = parse_qs(urlsplit(response.headers["location"]).query)
    assert query["redirect_uri"] == [f"{lake.api}/oidc/callback"]


@pytest.mark.parametrize("place", ["//evil.example.com", "https:evil", "/%5cevil", "/%255c/evil"])
def test_a_login_that_would_return_to_another_site_does_not_begin(lake, browser, place):
    response = browser.get(f"{lake.url}/oidc/login", params={"next": place})
    refused(browser, response, 400, "invalid_next_path")
    assert "location" not in response.headers


def test_the_callback_of_another_browser_is_refused(lake, browser):
    """Login CSRF: an attacker's callback does not log a victim in as the attacker."""
    with Browser(lake.url) as attacker:
        begun = attacker.get(f"{lake.url}/oidc/login")
        place = attacker.send(begun.next_request).headers["location"]
        refused(browser, browser.get(place), 400, "login_state")
        browser.get(f"{lake.url}/oidc/login")
        assert browser.attempt
        refused(browser, browser.get(place), 400, "login_state")
        assert attacker.get(place).status_code == 302


def test_a_callback_is_used_once(lake, browser):
    begun = browser.get(f"{lake.url}/oidc/login")
    cookie = browser.attempt
    place = browser.send(begun.next_request).headers["location"]
    assert browser.get(place).status_code == 302
    headers = {"Cookie": f"anabranch_oidc_login={cookie}", "Accept": "text/html"}
    again = httpx2.get(place, headers=headers)
    assert again.headers["x-anabranch-kind"] == "login_state"
    assert "used before" in again.text
    assert not any("internal_auth_session" in each for each in cookies_of(again))


def test_a_callback_without_a_login_is_refused(lake, browser):
    for parameters in ({}, {"code": "a"}, {"state": "a"}, {"error": "access_denied"}):
        refused(browser, browser.get(callback(lake, **parameters)), 400, "login_state")


def test_other_clients_get_json(lake):
    response = httpx2.get(callback(lake, code="a", state="b"))
    assert response.status_code == 400
    assert "belongs to no login" in response.json()["message"]
    assert "Max-Age=0" in cookies_of(response)[0]


def test_an_error_page_shows_nothing_of_the_url(lake, browser):
    begun = browser.get(f"{lake.url}/oidc/login")
    state = parse_qs(urlsplit(begun.headers["location"]).query)["state"][0]
    evil = "<script>alert(1)</script>"
    place = callback(lake, state=state, error=evil, error_description=evil)
    text = refused(browser, browser.get(place), 403, "login_denied")
    assert "script" not in text
    assert "alert" not in text


@pytest.mark.parametrize(
    ("path", "status", "body", "kind"),
    [
        ("/token", 401, b'{"error": "invalid_client"}', "identity_provider_refused_client"),
        ("/token", 400, b'{"error": "invalid_grant"}', "login_refused"),
        ("/token", 200, b"<html>", "identity_provider_response"),
        ("/userinfo", 500, b"", "identity_provider_response"),
    ],
)
def test_a_provider_that_fails_gets_a_page_and_no_user(
    lake, api, browser, provider, path, status, body, kind
):
    provider.claims = {"sub": "never seen"}
    before = api.get("/auth/users").json()
    provider.replace(path, status, body)
    try:
        response = browser.go(f"{lake.url}/oidc/login")
    finally:
        provider.restore(path)
    assert response.status_code in (401, 500, 503)
    refused(browser, response, response.status_code, kind)
    assert api.get("/auth/users").json() == before


def test_a_token_for_somebody_else_gets_a_page_and_no_user(lake, api, browser, provider):
    provider.claims = {"sub": "never seen", "aud": "another"}
    before = api.get("/auth/users").json()
    refused(browser, browser.go(f"{lake.url}/oidc/login"), 401, "invalid_id_token")
    assert api.get("/auth/users").json() == before


def test_a_deleted_user_has_no_session_and_no_rights_of_before(lake, api, browser, provider):
    provider.claims = {"sub": "2", "preferred_username": "joe"}
    browser.go(f"{lake.url}/oidc/login")
    assert browser.username() == "joe"
    assert api.put("/auth/groups/Admins/members/joe").status_code == 201
    assert api.delete("/auth/users/joe").status_code == 204
    assert browser.get(f"{lake.api}/user").status_code == 401
    browser.go(f"{lake.url}/oidc/login")
    assert browser.username() == "joe"
    groups = api.get("/auth/users/joe/groups").json()["results"]
    assert [group["id"] for group in groups] == ["Viewers"]


def test_logins_at_a_slow_provider_hold_up_no_other_requests(lake, api, provider, eventually):
    provider.claims = {"sub": "1", "preferred_username": "jane"}
    statuses: list[int] = []

    def finish(browser: Browser, place: str) -> None:
        statuses.append(browser.get(place).status_code)

    with ExitStack() as stack:
        threads = []
        for _ in range(MAX_REQUESTS + 4):
            browser = stack.enter_context(Browser(lake.url))
            begun = browser.get(f"{lake.url}/oidc/login")
            place = browser.send(begun.next_request).headers["location"]
            threads.append(threading.Thread(target=finish, args=(browser, place)))
        provider.stall("/token")
        try:
            for thread in threads:
                thread.start()
            eventually(lambda: statuses == [503] * 4)
            assert api.get("/repositories").status_code == 200
            assert api.get("/auth/users").status_code == 200
            assert len(statuses) == 4  # the others still wait for the provider
        finally:
            provider.stalled.set()
            for thread in threads:
                thread.join()
            provider.restore("/token")
            provider.stalled.clear()
    assert statuses == [503] * len(threads)
    with Browser(lake.url) as browser:
        browser.go(f"{lake.url}/oidc/login")
        assert browser.username() == "jane"


def test_clients_learn_how_to_log_in(lake):
    config = httpx2.get(f"{lake.api}/setup_lakefs").json()["login_config"]
    assert (config["login_url"], config["login_url_method"]) == ("/oidc/login", "select")
    assert config["logout_url"] == "/logout"


def test_logging_out_ends_the_session_here_and_at_the_provider(lake, browser, provider):
    browser.go(f"{lake.url}/oidc/login")
    response = browser.get(f"{lake.url}/logout")
    assert response.status_code == 307
    assert browser.session is None
    place = response.headers["location"]
    assert place.startswith(f"{provider.issuer}/logout?x=y&")
    assert parse_qs(urlsplit(place).query) == {
        "x": ["y"],
        "client_id": [CLIENT_ID],
        "returnTo": ["https://lake.example.com/?a=b"],
    }


def test_keys_work_beside_single_sign_on(lake):
    body = {"access_key_id": lake.auth[0], "secret_access_key": lake.auth[1]}
    assert httpx2.post(f"{lake.api}/auth/login", json=body).status_code == 200


def test_logins_are_recorded_in_the_audit_log(
    lake, browser, provider, eventually, tmp_path_factory
):
    file = next(tmp_path_factory.getbasetemp().glob("lake*/audit.jsonl"))

    def recorded() -> list[tuple[str, str]]:
        records = map(json.loads, complete_lines(file))
        return [
            (record["user"], record.get("reason", ""))
            for record in records
            if record.get("operation") == "oauthCallback"
        ]

    before = len(recorded())
    browser.go(f"{lake.url}/oidc/login")
    provider.claims = {"sub": "1", "aud": "another"}
    browser.go(f"{lake.url}/oidc/login")
    eventually(lambda: recorded()[before:] == [("jane", ""), ("", "invalid_id_token")])


def test_secrets_of_logins_are_not_logged(lake, browser):
    begun = browser.get(f"{lake.url}/oidc/login")
    place = browser.send(begun.next_request).headers["location"]
    browser.get(place)
    (code,) = parse_qs(urlsplit(place).query)["code"]
    log = lake.log.read_text()
    for secret in (CLIENT_SECRET, code, browser.session):
        assert secret not in log


def test_without_single_sign_on_its_pages_do_nothing(tmp_path):
    with running_server(tmp_path) as server:
        begun = httpx2.get(f"{server.url}/oidc/login")
        assert (begun.status_code, begun.headers["x-anabranch-kind"]) == (
            404,
            "single_sign_on_disabled",
        )
        returned = httpx2.get(f"{server.api}/oidc/callback?code=a&state=b")
        assert returned.status_code == 200
        assert "set-cookie" not in returned.headers
        config = httpx2.get(f"{server.api}/setup_lakefs").json()["login_config"]
        assert (config["login_url"], config["login_url_method"]) == ("", "none")


def sts_login(lake, **body):
    request = {"state": "s", "redirect_uri": PROGRAM, **body}
    return httpx2.post(f"{lake.api}/sts/login", json=request)


def test_program_exchanges_a_code_for_a_token_with_lakefs_python_client(lake, api, provider):
    provider.claims = {"sub": "77", "preferred_username": "notebook-user"}
    client = lakefs.client.from_web_identity(
        provider.issue_code(PROGRAM, nonce="of the program"),
        "s",
        PROGRAM,
        ttl_seconds=600,
        host=lake.url,
        username="unused",
        password="unused",
    )
    token = client.config.access_token
    headers = {"Authorization": f"Bearer {token}"}
    user = httpx2.get(f"{lake.api}/user", headers=headers).json()["user"]
    assert user["id"] == "notebook-user"
    assert api.get("/auth/users/notebook-user").status_code == 200


def test_code_of_a_program_is_redeemed_once_and_for_its_redirect_uri_only(lake, provider):
    provider.claims = {"sub": "78", "preferred_username": "second"}
    code = provider.issue_code(PROGRAM)
    issued = sts_login(lake, code=code)
    assert issued.status_code == 200
    assert 3540 <= issued.json()["token_expiration"] - time.time() <= 3600
    again = sts_login(lake, code=code)
    assert (again.status_code, again.headers["x-anabranch-kind"]) == (401, "login_refused")
    other = provider.issue_code("https://evil.example.com/")
    stolen = sts_login(lake, code=other, redirect_uri="https://evil.example.com/")
    assert stolen.headers["x-anabranch-kind"] == "unknown_redirect_uri"
    assert sts_login(lake, code=other).status_code == 401
    # a code that was requested with PKCE needs the verifier, which programs do not send
    with_pkce = provider.issue_code(PROGRAM, challenge="x" * 43)
    assert sts_login(lake, code=with_pkce).status_code == 401
    assert sts_login(lake, code="x", ttl_seconds=10**6).status_code == 400
