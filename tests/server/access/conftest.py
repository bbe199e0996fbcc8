"""A server that a team shares, with users of different permissions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import boto3
import httpx2
import pytest
from botocore.config import Config

from anabranch.testing.server import Server, running_server

_numbers = itertools.count(1000)  # of one length, so that names are listed as they are made


@dataclass(frozen=True)
class Member:
    """A user of the server, with a key pair, a client of the API, and one of S3."""

    server: Server
    name: str
    keys: tuple[str, str]

    @cached_property
    def api(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.server.api, auth=self.keys, timeout=60)

    @cached_property
    def s3(self) -> boto3.client:
        # most members never use theirs, which takes 20 ms to make
        return boto3.client(
            "s3",
            endpoint_url=self.server.url,
            aws_access_key_id=self.keys[0],
            aws_secret_access_key=self.keys[1],
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}),
        )


class Team:
    """A running server and its users; `data` is its folder where tests need it."""

    def __init__(self, server: Server, data: Path = Path()) -> None:
        self.server = server
        self.data = data
        self.admin = Member(server, "tester", server.auth)

    def member(self, *statements: dict[str, object], groups: tuple[str, ...] = ()) -> Member:
        """Returns a new user with a policy of these statements, in these groups."""
        number = next(_numbers)
        name, policy = f"user-{number}", f"Policy{number}"
        api = self.admin.api
        _succeed(api.post("/auth/users", json={"id": name}))
        if statements:
            body = {"id": policy, "statement": list(statements)}
            _succeed(api.post("/auth/policies", json=body))
            _succeed(api.put(f"/auth/users/{name}/policies/{policy}"))
        for group in groups:
            _succeed(api.put(f"/auth/groups/{group}/members/{name}"))
        pair = _succeed(api.post(f"/auth/users/{name}/credentials")).json()
        return Member(self.server, name, (pair["access_key_id"], pair["secret_access_key"]))

    def repository(self, *paths: str) -> str:
        """Returns a new repository with these objects, committed on its branch main."""
        name = f"lake-{next(_numbers)}"
        body = {"name": name, "storage_namespace": f"local://{name}"}
        api = self.admin.api
        _succeed(api.post("/repositories", json=body))
        self.upload(name, "main", *paths)
        if paths:
            _succeed(
                api.post(f"/repositories/{name}/branches/main/commits", json={"message": "data"})
            )
        return name

    def upload(self, repository: str, branch: str, *paths: str) -> None:
        """Stores objects, whose content is their path, on a branch."""
        place = f"/repositories/{repository}/branches/{branch}/objects"
        for path in paths:
            content = path.encode()
            _succeed(self.admin.api.post(place, params={"path": path}, content=content))


def allow(*actions: str, on: str | list[str] = "*", **condition: object) -> dict[str, object]:
    """Returns a statement that allows actions on resources."""
    return _statement("allow", actions, on, condition)


def deny(*actions: str, on: str | list[str] = "*", **condition: object) -> dict[str, object]:
    """Returns a statement that denies actions on resources."""
    return _statement("deny", actions, on, condition)


def _statement(
    effect: str, actions: tuple[str, ...], on: str | list[str], condition: dict[str, object]
) -> dict[str, object]:
    resource = on if isinstance(on, str) else json.dumps(on)
    statement = {"effect": effect, "action": list(actions), "resource": resource}
    return statement | ({"condition": condition} if condition else {})


def _succeed(response: httpx2.Response) -> httpx2.Response:
    assert response.is_success, response.text
    return response


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A server behind a proxy on this machine."""
    env = {"ANABRANCH_HTTP_TRUSTED_PROXIES": "127.0.0.1"}
    data = tmp_path_factory.mktemp("team")
    with running_server(data, env=env) as server:
        yield Team(server, data)
