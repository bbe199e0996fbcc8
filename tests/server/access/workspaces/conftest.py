"""A lake with secrets, and a workspace whose keys must not reach them."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing
from typing import Any, NamedTuple

import boto3
import httpx2
import pytest
from botocore.config import Config

from anabranch.library import DATABASE_FILE

LATER, HIDDEN, OTHER = b"LATER-ON-MAIN", b"HIDDEN-PATH", b"OTHER-BRANCH"
FOREIGN, EARLIER, TAGGED = b"FOREIGN-REPOSITORY", b"EARLIER-COMMIT", b"TAGGED-COMMIT"
SECRETS = (LATER, HIDDEN, OTHER, FOREIGN, EARLIER, TAGGED)

_numbers = itertools.count(1)


class World(NamedTuple):
    """Names in the lake; `repository` has the workspace, `foreign` is another repository."""

    repository: str
    foreign: str
    workspace: str
    before: str
    source: str
    later: str
    fields: dict[str, Any]


class Intruder(NamedTuple):
    """What a program has that holds the keys of the workspace."""

    world: World
    api: httpx2.Client
    pair: httpx2.Client
    s3: boto3.client


def make_world(team, *, creator=None, **fields) -> World:
    """Returns a lake with secrets and a new workspace, by default of an administrator."""
    api = team.admin.api
    number = next(_numbers)
    repository, foreign = f"reach-{number}", f"foreign-{number}"
    for name in (repository, foreign):
        body = {"name": name, "storage_namespace": f"local://{name}"}
        assert api.post("/repositories", json=body).status_code == 201
    put(api, foreign, "main", "in/a.csv", FOREIGN)
    commit(api, foreign, "main")
    put(api, repository, "main", "in/gone.csv", EARLIER)
    put(api, repository, "main", "secret/a.csv", HIDDEN)
    before = commit(api, repository, "main")
    api.delete(f"/repositories/{repository}/branches/main/objects", params={"path": "in/gone.csv"})
    put(api, repository, "main", "in/a.csv", b"x,y\n1,2\n")
    put(api, repository, "main", "out/old.csv", b"x,y\n1,2\n")
    source = commit(api, repository, "main")
    wanted = {
        "source": "main",
        "readable": ["in/**", "out/**"],
        "writable": ["out/**"],
        "run_id": "run-1",
    }
    maker = api if creator is None else creator.api
    response = maker.post(f"/repositories/{repository}/workspaces", json=wanted | fields)
    assert response.status_code == 201, response.text
    put(api, repository, "main", "in/later.csv", LATER)
    later = commit(api, repository, "main")
    branch = {"name": "other", "source": "main"}
    assert api.post(f"/repositories/{repository}/branches", json=branch).status_code == 201
    put(api, repository, "other", "in/other.csv", OTHER)
    put(api, repository, "other", "in/tagged.csv", TAGGED)
    commit(api, repository, "other")
    tag = {"id": "v1", "ref": "other"}
    assert api.post(f"/repositories/{repository}/tags", json=tag).status_code == 201
    return World(repository, foreign, response.json()["id"], before, source, later, response.json())


def put(api, repository, branch, path, content):
    response = api.post(
        f"/repositories/{repository}/branches/{branch}/objects",
        params={"path": path},
        content=content,
    )
    assert response.status_code == 201, response.text


def commit(api, repository, branch):
    response = api.post(
        f"/repositories/{repository}/branches/{branch}/commits", json={"message": "data"}
    )
    assert response.status_code == 201, response.text
    return response.json()["id"]


def make_intruder(team, world) -> Intruder:
    """Returns the clients of a program that has the keys of a world's workspace."""
    fields = world.fields
    pair = fields["access_key_id"], fields["secret_access_key"]
    bearer = {"Authorization": f"Bearer {fields['token']}"}
    return Intruder(
        world,
        httpx2.Client(base_url=team.server.api, headers=bearer, timeout=60),
        httpx2.Client(base_url=team.server.api, auth=pair, timeout=60),
        boto3.client(
            "s3",
            endpoint_url=team.server.url,
            aws_access_key_id=pair[0],
            aws_secret_access_key=pair[1],
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}),
        ),
    )


@pytest.fixture(scope="module")
def intruder(team):
    """A program that has the keys of a workspace, and wants everything else."""
    return make_intruder(team, make_world(team))


@pytest.fixture(scope="module")
def writes(team):
    """Returns a number of the server's database, another one after each write."""
    address = f"file:{team.data / 'metadata' / DATABASE_FILE}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as database:

        def number():
            return database.execute("PRAGMA data_version").fetchone()

        before = number()
        team.member()
        assert number() != before
        yield number


@pytest.fixture(scope="module")
def seen() -> dict[str, object]:
    """The fingerprint of the world of `intruder` when it was last examined, and the writes then."""
    return {}


@pytest.fixture
def unchanged(team, intruder, seen, writes):
    """Asserts that nothing has changed, since the test before, that the keys must not change."""

    def look():
        found = fingerprint(team, intruder.world)
        return {"found": found, "writes": writes()}

    def check():
        if seen["writes"] == writes():
            return  # all of a fingerprint is in the database
        before = seen["found"]
        seen.update(look())
        assert seen["found"] == before

    seen.update(seen or look())
    return check


def fingerprint(team, world):
    """Returns all that the keys of a workspace must not change."""
    api, name = team.admin.api, world.repository
    parts = [
        "/auth/users",
        "/auth/policies",
        "/auth/groups",
        f"/auth/users/{team.admin.name}/credentials",
        "/repositories",
        f"/repositories/{name}/tags",
        f"/repositories/{name}/pulls",
        f"/repositories/{name}/metadata",
        f"/repositories/{name}/settings/branch_protection",
        f"/repositories/{name}/branches/main/diff",
        f"/repositories/{name}/branches/other/diff",
        f"/repositories/{name}/settings/notifications",
        f"/repositories/{world.foreign}/branches",
        f"/repositories/{world.foreign}/branches/main/diff",
        "/images",
    ]
    seen = [api.get(each, params={"amount": 1000}).text for each in parts]
    branches = api.get(f"/repositories/{name}/branches").json()["results"]
    return [*seen, [each for each in branches if each["id"] != world.workspace]]
