"""What a server of lakeFS's REST API says of a whole installation, to compare two servers by."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import requests

__all__ = ["RestCalls", "describe"]


class RestCalls:
    """Requests to the API at `url`, such as `http://127.0.0.1:8000/api/v1`, with a key pair."""

    def __init__(self, url: str, auth: tuple[str, str]) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.auth = auth

    def call(
        self,
        method: str,
        where: str,
        body: Any = None,
        data: bytes | None = None,
        /,
        **query: Any,
    ) -> Any:
        """Returns the JSON or the text of a response. Raises HTTPError, with the response."""
        response = self._session.request(
            method,
            f"{self._url}{where}",
            params=query,
            json=body,
            data=data,
            timeout=60,
            headers={"Content-Type": "text/plain"} if data is not None else None,
        )
        if response.status_code >= 400:
            raise requests.HTTPError(f"{method} {where}: {response.text}", response=response)
        kind = response.headers.get("Content-Type", "")
        return response.json() if "json" in kind and response.content else response.text

    def pages(self, where: str, /, **query: Any) -> list[Any]:
        """Returns all results of a listing."""
        found: list[Any] = []
        after = ""
        while True:
            page = self.call("GET", where, after=after, amount=200, **query)
            found += page["results"]
            if not page["pagination"]["has_more"]:
                return found
            after = page["pagination"]["next_offset"]


def describe(server: RestCalls) -> dict[str, Any]:
    """Returns, for each repository, everything but physical addresses."""
    return {
        repository["id"]: _describe(server, repository)
        for repository in server.pages("/repositories")
    }


def _describe(server: RestCalls, repository: dict[str, Any]) -> dict[str, Any]:
    root = f"/repositories/{repository['id']}"
    shown = [branch["id"] for branch in server.pages(f"{root}/branches")]
    branches = {
        branch["id"]: branch["commit_id"]
        for branch in server.pages(f"{root}/branches", show_hidden="true")
    }
    tags = {tag["id"]: tag["commit_id"] for tag in server.pages(f"{root}/tags")}
    refs = (*branches, *tags)
    heads = tuple(f"{branch}@" for branch in branches)
    logs = {ref: server.pages(f"{root}/refs/{quote(ref)}/commits") for ref in refs}
    return {
        "repository": repository,
        "metadata": server.call("GET", f"{root}/metadata"),
        "branches": branches,
        "shown_branches": shown,
        "tags": tags,
        "trees": {ref: _listing(server, root, ref) for ref in (*refs, *heads)},
        "logs": {ref: [commit["id"] for commit in log] for ref, log in logs.items()},
        "commits": {commit["id"]: commit for log in logs.values() for commit in log},
        "uncommitted": {
            branch: server.pages(f"{root}/branches/{branch}/diff") for branch in branches
        },
        "protection": server.call("GET", f"{root}/settings/branch_protection"),
        "gc_rules": _rules(server, root),
    }


def _listing(server: RestCalls, root: str, ref: str) -> list[Any]:
    found = server.pages(f"{root}/refs/{quote(ref, safe='')}/objects/ls")
    for entry in found:
        del entry["physical_address"]
    return found


def _rules(server: RestCalls, root: str) -> Any:
    try:
        return server.call("GET", f"{root}/settings/gc_rules")
    except requests.HTTPError as error:
        if error.response is None or error.response.status_code != 404:
            raise
        return None
