"""`anabranch login --browser` against a real server, with a browser at a provider."""

from __future__ import annotations

import html
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from support.clients.browser import Browser
from support.services.scripted_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    ScriptedProvider,
    running_provider,
)
from support.session.forked_python import forked_python
from support.session.free_port import free_port

from anabranch.testing.server import Server, running_server

LOGIN = {"port": "4242", "state": "s" * 32, "challenge": "c" * 43}
ALLOW = re.compile(r'<a href="(/auth/cli/allow[^"]+)"')


class Lake(NamedTuple):
    """A server whose users log in at a provider."""

    server: Server
    provider: ScriptedProvider

    def page(self, browser: Browser, **changes: str) -> httpx2.Response:
        """Returns what the browser shows when the command line opens its page."""
        return browser.get(f"{self.server.url}/auth/cli?{urlencode({**LOGIN, **changes})}")

    def log_in(self, browser: Browser, response: httpx2.Response) -> httpx2.Response:
        """Returns the page that asks, after the login that comes first."""
        place = str(response.next_request.url)
        assert urlsplit(place).path == "/oidc/login"
        back = browser.go(place).headers["location"]
        return browser.get(f"{self.server.url}{back}")


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Iterator[Lake]:
    port = free_port()
    with running_provider() as provider:
        provider.claims = {"sub": "1", "preferred_username": "jane"}
        settings = {
            "ENABLED": "true",
            "URL": provider.issuer,
            "CLIENT_ID": CLIENT_ID,
            "CLIENT_SECRET": CLIENT_SECRET,
            "CALLBACK_BASE_URL": f"http://127.0.0.1:{port}",
            "DEFAULT_INITIAL_GROUPS": "Viewers",
        }
        env = {f"ANABRANCH_AUTH_OIDC_{name}": value for name, value in settings.items()}
        folder = tmp_path_factory.mktemp("lake")
        with running_server(folder, listen=f"127.0.0.1:{port}", env=env) as server:
            yield Lake(server, provider)


@pytest.fixture
def browser(lake) -> Iterator[Browser]:
    with Browser(lake.server.url) as browser:
        yield browser


class CommandLine(NamedTuple):
    """A command line that waits for its browser."""

    process: subprocess.Popen[str]
    page: str
    shown_code: str

    def end(self) -> str:
        """Returns what it prints at its end."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return out


@contextmanager
def waiting(lake: Lake, home: Path) -> Iterator[CommandLine]:
    command = [forked_python(), "-m", "anabranch", "login", "--server", lake.server.url]
    process = subprocess.Popen(
        [*command, "--browser", "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home),
    )
    try:
        page = process.stderr.readline().rpartition(": ")[2].strip()
        shown_code = process.stderr.readline().rpartition(" ")[2].strip().rstrip(".")
        yield CommandLine(process, page, shown_code)
    finally:
        process.kill()
        process.communicate()


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "ANABRANCH" not in name}
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


def ana(home: Path, *words: str) -> str:
    command = [forked_python(), "-m", "anabranch", *words]
    ran = subprocess.run(command, env=environment(home), capture_output=True, text=True, check=True)
    return ran.stdout


def allow_link(lake: Lake, page: httpx2.Response) -> str:
    return lake.server.url + html.unescape(ALLOW.search(page.text)[1])


def test_a_login_in_the_browser_is_what_later_commands_use(lake, browser, tmp_path):
    with waiting(lake, tmp_path) as command_line:
        first = browser.get(command_line.page)
        page = lake.log_in(browser, first)
        assert "<strong>jane</strong>" in page.text
        assert f"<strong>{command_line.shown_code}</strong>" in page.text
        allowed = browser.get(allow_link(lake, page))
        place = allowed.headers["location"]
        assert place.startswith("http://127.0.0.1:")
        for wrong in (place.replace("state=", "state=x"), place.partition("?")[0]):
            assert httpx2.get(wrong).status_code == 404
        assert "logged in" in httpx2.get(place).text
        assert "Wrote" in command_line.end()
    file = tmp_path / ".config/anabranch/client.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    shown = ana(tmp_path, "config", "show")
    assert "token" in shown
    assert "secret_access_key" not in shown
    ana(tmp_path, "repo", "list")
    token = re.search('token = "(.*)"', file.read_text())[1]
    user = httpx2.get(f"{lake.server.api}/user", headers={"Authorization": f"Bearer {token}"})
    assert user.json()["user"]["id"] == "jane"
    (code,) = parse_qs(urlsplit(place).query)["code"]
    again = httpx2.post(
        f"{lake.server.api}/auth/cli/token", json={"code": code, "verifier": "v" * 64}
    )
    assert (again.status_code, again.headers["x-anabranch-kind"]) == (400, "login_code")


def test_nothing_is_allowed_without_the_page(lake, browser):
    """Login CSRF: another site opens the page's link, or its own guess of it, in the browser."""
    browser.go(f"{lake.server.url}/oidc/login")
    for confirm in ("", "9999999999.x"):
        query = urlencode({**LOGIN, "confirm": confirm})
        response = browser.get(f"{lake.server.url}/auth/cli/allow?{query}")
        assert (response.status_code, response.headers["x-anabranch-kind"]) == (
            400,
            "login_not_confirmed",
        )
    link = allow_link(lake, lake.page(browser))
    for change in (
        ("port=4242", "port=4243"),
        ("state=ss", "state=tt"),
        ("challenge=cc", "challenge=dd"),
    ):
        assert browser.get(link.replace(*change)).status_code == 400
    assert httpx2.get(link).status_code == 401
    lake.provider.claims = {"sub": "2", "preferred_username": "mallory"}
    with Browser(lake.server.url) as other:
        other.go(f"{lake.server.url}/oidc/login")
        assert other.get(link).status_code == 400
    lake.provider.claims = {"sub": "1", "preferred_username": "jane"}
    assert browser.get(link).status_code == 302


def test_the_page_cannot_be_framed_and_keeps_its_link_to_itself(lake, browser):
    browser.go(f"{lake.server.url}/oidc/login")
    page = lake.page(browser)
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "changes",
    [
        {"port": "80"},
        {"port": "65536"},
        {"port": "4242@evil.example.com"},
        {"state": "s"},
        {"state": "<script>alert(1)</script>"},
        {"challenge": ""},
        {"challenge": 'c"' * 20},
    ],
    ids=str,
)
def test_parameters_are_validated(lake, browser, changes):
    browser.go(f"{lake.server.url}/oidc/login")
    response = lake.page(browser, **changes)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/json"


def test_an_expired_session_logs_in_again(lake, browser):
    browser.cookies.set("internal_auth_session", "expired", domain="127.0.0.1", path="/")
    assert lake.page(browser).headers["location"].startswith("/oidc/login?next=%2Fauth%2Fcli%3F")
