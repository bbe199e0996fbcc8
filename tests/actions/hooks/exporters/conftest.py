"""Lua scripts that export tables: to the S3 and Glue of moto, and to others."""

from __future__ import annotations

import boto3
import httpx2
import msgspec
import pytest
from moto.server import ThreadedMotoServer
from support.hooks.hook_runs import EVENT, hook_context
from support.library_lake import LibraryLake

from anabranch.actions.hooks.lua.libraries.registry import Libraries
from anabranch.actions.hooks.lua.sandbox import Sandbox

REPOSITORY = "exporters"


KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "eu-west-1"}


@pytest.fixture(scope="session")
def aws():
    """The address of a server with S3 and Glue."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def s3(aws):
    client = boto3.client("s3", endpoint_url=aws, **KEYS)
    client.create_bucket(
        Bucket="exports", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    return client


@pytest.fixture(scope="session")
def api(server):
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as client:
        body = {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"}
        assert client.post("/repositories", json=body).status_code == 201
        yield client


@pytest.fixture
def commit(api):
    """Returns a function that commits files and returns the commit's id."""

    def commit(files):
        place = f"/repositories/{REPOSITORY}/branches/main"
        for path, content in files.items():
            sent = api.post(f"{place}/objects", params={"path": path}, content=content)
            assert sent.status_code == 201
        return api.post(f"{place}/commits", json={"message": "files"}).json()["id"]

    return commit


@pytest.fixture
def run(api, aws):
    """Returns a function that runs a script after a commit, and returns what it prints."""

    def request(method, path, query, body):
        found = api.request(method, path, params=dict(query), content=body)
        return found.status_code, found.content

    def run(script, commit_id, **args):
        event = msgspec.structs.replace(
            EVENT, event_type="post-commit", repository_id=REPOSITORY, commit_id=commit_id
        )
        lake = LibraryLake(None, REPOSITORY, request)
        context = hook_context(lake, event=event, storage_namespace="s3://exports/base")
        written = []
        sandbox = Sandbox(written.append, Libraries(context).open, lambda: None)
        fields = ("repository_id", "commit_id", "branch_id", "event_type")
        action = {name: getattr(event, name) for name in fields}
        sandbox.define("action", {**action, "storage_namespace": context.storage_namespace})
        sandbox.define("args", {"aws": aws, **args})
        clients = """
            local aws = require("aws")
            s3 = aws.s3_client("key", "secret", "eu-west-1", args.aws)
            glue = aws.glue_client("key", "secret", "eu-west-1", args.aws)
            json = require("encoding/json")
        """
        sandbox.run((clients + script).encode(), "script")
        return "".join(written)

    return run
