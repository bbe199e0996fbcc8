"""Logins in a browser at `oidc-provider`, an implementation of OpenID Connect by others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from support.clients.browser import Browser
from support.services.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    OidcProvider,
    oidc_provider_program,
    running_oidc_provider,
)
from support.session.free_port import free_port

from anabranch.testing.server import Server, running_server

JANE = {
    "name": "Jane of the Sea",
    "preferred_username": "jane",
    "email": "jane@example.com",
    "email_verified": True,
    "groups": ["crew", "others"],
}


class Installation(NamedTuple):
    """A server with a provider, and a client with the administrator's keys."""

    server: Server
    provider: OidcProvider
    api: httpx2.Client

    def login(self, subject: str, next_path: str = "/") -> tuple[Browser, httpx2.Response]:
        """Returns a new browser, and where its login ended."""
        browser = Browser(self.server.url)
        page = browser.go(f"{self.server.url}/oidc/login?next={next_path}")
        return browser, self.provider.log_in(browser, page, subject)

    def groups(self, username: str) -> set[str]:
        results = self.api.get(f"/auth/users/{username}/groups").json()["results"]
        return {group["id"] for group in results}


@contextmanager
def running(
    folder: Path, *, in_tokens: bool, secret: str = CLIENT_SECRET
) -> Iterator[Installation]:
    if oidc_provider_program() is None:
        pytest.skip("oidc-provider is not installed: `make components` does that")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with running_oidc_provider(
        folder, f"{url}/api/v1/oidc/callback", in_tokens=in_tokens
    ) as provider:
        settings = {
            "ENABLED": "true",
            "URL": provider.issuer,
            "CLIENT_ID": CLIENT_ID,
            "CLIENT_SECRET": secret,
            "CALLBACK_BASE_URL": url,
            "ADDITIONAL_SCOPE_CLAIMS": "email,groups",
            "GROUP_MAPPING": "crew=Developers,crew=Viewers,captains=SuperUsers",
        }
        env = {f"ANABRANCH_AUTH_OIDC_{name}": value for name, value in settings.items()}
        with (
            running_server(folder / "data", listen=f"127.0.0.1:{port}", env=env) as server,
            httpx2.Client(base_url=server.api, auth=server.auth, timeout=30) as api,
        ):
            yield Installation(server, provider, api)


@pytest.fixture(scope="module", params=[True, False], ids=["in tokens", "userinfo"])
def installation(tmp_path_factory, request) -> Iterator[Installation]:
    with running(tmp_path_factory.mktemp("lake"), in_tokens=request.param) as running_installation:
        yield running_installation


def test_a_user_logs_in_twice_and_is_one_user(installation):
    installation.provider.set_users({"jane's subject": JANE})
    for _ in range(2):
        browser, end = installation.login("jane's subject", "/repositories")
        assert end.headers["location"] == "/repositories"
        user = browser.get(f"{installation.server.api}/user").json()["user"]
        assert {name: user[name] for name in ("id", "email", "friendly_name")} == {
            "id": "jane",
            "email": "jane@example.com",
            "friendly_name": "Jane of the Sea",
        }
    names = [user["id"] for user in installation.api.get("/auth/users").json()["results"]]
    assert names.count("jane") == 1
    assert not any(name.startswith("jane-") for name in names)


def test_the_session_of_the_provider_logs_in_without_forms(installation):
    installation.provider.set_users({"2": {**JANE, "preferred_username": "joan"}})
    browser, _ = installation.login("2")
    browser.get(f"{installation.server.url}/logout")
    assert browser.username() == ""
    again = browser.go(f"{installation.server.url}/oidc/login")
    assert again.headers["location"] == "/"
    assert browser.username() == "joan"


def test_groups_follow_the_provider_at_each_login(installation):
    claims = {**JANE, "preferred_username": "judy"}
    for groups, ours in (
        (["crew", "others"], {"Developers", "Viewers"}),
        (["captains"], {"SuperUsers"}),
        ([], set()),
        (["crew", "captains"], {"Developers", "Viewers", "SuperUsers"}),
    ):
        installation.provider.set_users({"3": {**claims, "groups": groups}})
        installation.login("3")
        assert installation.groups("judy") == ours


def test_permissions_are_those_of_the_groups(installation):
    installation.provider.set_users({"4": {**JANE, "preferred_username": "jill"}})
    browser, _ = installation.login("4")
    bearer = {"Authorization": f"Bearer {browser.session}"}
    body = {"name": "a-repository", "storage_namespace": "local://a-repository"}
    place = f"{installation.server.api}/repositories"
    assert httpx2.post(place, json=body, headers=bearer).status_code == 401
    installation.provider.set_users(
        {"4": {**JANE, "preferred_username": "jill", "groups": ["captains"]}}
    )
    installation.login("4")
    assert httpx2.post(place, json=body, headers=bearer).status_code == 201
    assert installation.api.delete("/repositories/a-repository").status_code == 204


def test_a_local_user_is_not_taken_over(installation):
    installation.provider.set_users({"5": {**JANE, "preferred_username": "tester"}})
    browser, _ = installation.login("5")
    assert browser.username().startswith("tester-")


def test_a_user_who_was_deleted_meanwhile_is_logged_out_and_may_come_back(installation):
    installation.provider.set_users({"6": {**JANE, "preferred_username": "jack"}})
    browser, _ = installation.login("6")
    assert installation.api.delete("/auth/users/jack").status_code == 204
    assert browser.get(f"{installation.server.api}/user").status_code == 401
    assert browser.go(f"{installation.server.url}/oidc/login").status_code == 302
    assert browser.username() == "jack"


def test_a_user_who_cancels_is_not_logged_in(installation):
    installation.provider.set_users({"7": JANE})
    with Browser(installation.server.url) as browser:
        page = browser.go(f"{installation.server.url}/oidc/login")
        interaction = str(page.url)
        end = browser.go(f"{interaction}/abort")
        assert (end.status_code, end.headers["x-anabranch-kind"]) == (403, "login_denied")
        assert "access_denied" in end.text
        assert browser.username() == ""


def test_a_wrong_client_secret_is_the_operators_error(tmp_path):
    with running(tmp_path, in_tokens=True, secret="wrong") as installation:
        installation.provider.set_users({"1": JANE})
        browser, end = installation.login("1")
        assert end.status_code == 500
        assert end.headers["x-anabranch-kind"] == "identity_provider_refused_client"
        assert browser.username() == ""
        users = installation.api.get("/auth/users").json()["results"]
        assert [user["id"] for user in users] == ["tester"]
        assert "invalid_client" in installation.server.log.read_text()
