"""The OpenID Connect provider `oidc-provider` for tests, which is certified, on a free port.

    with running_oidc_provider(folder, "https://lake.example.com/callback") as provider:
        provider.users["1"] = {"preferred_username": "jane", "groups": ["crew"]}
        provider.log_in(browser, page, "1")

`make components` installs it.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from support.clients.browser import Browser
from support.services.ending import end

__all__ = ["OidcProvider", "oidc_provider_program", "running_oidc_provider"]

CLIENT_ID, CLIENT_SECRET = "lake", "a secret of tests, which is long enough"
_FOLDER = Path("tools/oidc-provider")
_LISTENS = "listens at "
_FORM = re.compile(r'<form[^>]* action="([^"]+)"')
_FIELD = re.compile(r'<input type="hidden" name="prompt" value="(\w+)"')


class OidcProvider:
    """A provider; `users` are the claims of its users by subject, to be set before they log in."""

    def __init__(self, issuer: str, users_file: Path) -> None:
        self.issuer = issuer
        self._users_file = users_file

    def set_users(self, users: dict[str, dict[str, Any]]) -> None:
        """Sets the claims of all users by their subjects."""
        self._users_file.write_text(json.dumps(users))

    def log_in(self, browser: Browser, page: httpx2.Response, subject: str) -> httpx2.Response:
        """Returns where a login ends whose user fills in the provider's forms from a page on."""
        while form := _FORM.search(page.text):
            prompt = _FIELD.search(page.text)
            assert prompt, page.text
            fields = {"prompt": prompt[1], "login": subject, "password": "any"}
            sent = browser.post(html.unescape(form[1]), data=fields)
            assert sent.next_request, sent.text
            page = browser.go(str(sent.next_request.url))
        return page


def oidc_provider_program() -> list[str] | None:
    """Returns the command that runs the provider, None where it is not installed."""
    node = shutil.which("node")
    folder = Path.cwd() / _FOLDER
    installed = (folder / "node_modules" / "oidc-provider").exists()
    return [node, str(folder / "provider.mjs")] if node and installed else None


@contextmanager
def running_oidc_provider(
    folder: Path, redirect_uri: str, *, in_tokens: bool
) -> Iterator[OidcProvider]:
    """Runs a provider with one client and stops it afterwards; with `in_tokens`, ID tokens have all
    claims. Raises FileNotFoundError where it is not installed.
    """
    command = oidc_provider_program()
    if command is None:
        raise FileNotFoundError("oidc-provider is not installed: `make components` does that")
    users_file = folder / "users.json"
    client = {
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uris": [redirect_uri],
        "post_logout_redirect_uris": ["http://127.0.0.1/after"],
    }
    options = {"client": client, "users": str(users_file), "inTokens": in_tokens}
    with (folder / "oidc-provider.log").open("w") as log:
        process = subprocess.Popen(
            [*command, json.dumps(options)], stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            assert process.stdout is not None
            line = next((line for line in process.stdout if _LISTENS in line), "")
            assert line, "oidc-provider did not start"
            yield OidcProvider(line.partition(_LISTENS)[2].strip(), users_file)
        finally:
            end(process)
