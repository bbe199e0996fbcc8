"""A repository of its own for each test, and the published clients that work on it."""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from pathlib import Path

import boto3
import botocore.config
import lakefs
import lakefs_sdk
import pytest
from lakefs.client import Client
from lakefs_sdk.client import LakeFSClient
from lakefs_sdk.exceptions import ApiException
from lakefs_spec import LakeFSFileSystem
from support.clients.round_trip import COPIES


class Sandbox:
    """A repository with the few words that most tests need, spoken through `lakefs-sdk`."""

    def __init__(self, sdk, repository):
        self.sdk = sdk
        self.id = repository

    def put(self, path, content=b"content", branch="main"):
        """Uploads an object and returns its stat."""
        return self.sdk.objects_api.upload_object(self.id, branch, path, content=content)

    def get(self, path, ref="main"):
        return bytes(self.sdk.objects_api.get_object(self.id, ref, path))

    def delete(self, path, branch="main"):
        self.sdk.objects_api.delete_object(self.id, branch, path)

    def commit(self, message="A commit", branch="main", **fields):
        creation = lakefs_sdk.CommitCreation(message=message, **fields)
        return self.sdk.commits_api.commit(self.id, branch, creation)

    def save(self, path, content=b"content", branch="main"):
        """Uploads an object, commits, and returns the commit."""
        self.put(path, content, branch)
        return self.commit(f"Save {path}", branch)

    def branch(self, name, source="main", **fields):
        creation = lakefs_sdk.BranchCreation(name=name, source=source, **fields)
        return self.sdk.branches_api.create_branch(self.id, creation)

    def merge(self, source, destination="main", **fields):
        merged = self.sdk.refs_api.merge_into_branch(
            self.id, source, destination, merge=lakefs_sdk.Merge(**fields)
        )
        return merged.reference

    def head(self, ref="main"):
        return self.sdk.commits_api.get_commit(self.id, ref)

    def paths(self, ref="main"):
        listed = self.sdk.objects_api.list_objects(self.id, ref, amount=1000)
        assert not listed.pagination.has_more
        return [item.path for item in listed.results]

    def log(self, ref="main", **parameters):
        return self.sdk.refs_api.log_commits(self.id, ref, **parameters).results


@contextmanager
def _refused(status, message=""):
    with pytest.raises(ApiException) as caught:
        yield caught
    assert caught.value.status == status, caught.value.body
    response = json.loads(caught.value.body)
    assert message in response["message"]


@pytest.fixture
def refused():
    """Returns a context that expects a refusal with a status and words of the message."""
    return _refused


@pytest.fixture
def make_sdk(server):
    """Returns a function that makes a client of `lakefs-sdk` with given credentials."""

    def make(**credentials):
        return LakeFSClient(lakefs_sdk.Configuration(host=server.url, **credentials))

    return make


@pytest.fixture
def sdk(server, make_sdk):
    """The generated client."""
    return make_sdk(username=server.access_key_id, password=server.secret_access_key)


@pytest.fixture
def credentials(server):
    """Settings of the wrapper and the file system."""
    # it keeps file systems by address, and a server may have the port of an earlier one
    LakeFSFileSystem.clear_instance_cache()
    return {
        "host": server.url,
        "username": server.access_key_id,
        "password": server.secret_access_key,
    }


@pytest.fixture
def client(credentials):
    """The wrapper's client."""
    return Client(**credentials)


@pytest.fixture
def fresh():
    """The name of a repository that does not exist."""
    return f"repository-{uuid.uuid4().hex}"


@pytest.fixture
def repo(sdk, fresh, server):
    """A new repository, through `lakefs-sdk`."""
    sdk.repositories_api.create_repository(
        lakefs_sdk.RepositoryCreation(name=fresh, storage_namespace=f"{server.storage}{fresh}")
    )
    return Sandbox(sdk, fresh)


@pytest.fixture
def lake(client, repo):
    """The same repository, through the wrapper `lakefs`."""
    return lakefs.Repository(repo.id, client=client)


@pytest.fixture(scope="session")
def clients_bin():
    """The programs of the environment that `make clients` makes, its `python` among them."""
    folder = Path(__file__).parent.parent.parent / ".venv-clients" / "bin"
    if not folder.is_dir():
        pytest.skip("`make clients` has not been run")
    return folder


@pytest.fixture(scope="session")
def aws_environment(server):
    """Environment variables of the server for Amazon's libraries and compatible ones."""
    return {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.secret_access_key,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
        "NO_PROXY": "*",
    }


@pytest.fixture(scope="session")
def make_s3(server):
    """Returns a function that makes a client of boto3: its own defaults, but for what is given to
    its configuration, and one attempt, so that no fault is tried away.
    """

    def make(**config):
        keys = {
            "aws_access_key_id": server.access_key_id,
            "aws_secret_access_key": server.secret_access_key,
            "region_name": "us-east-1",
            "aws_session_token": None,
            "endpoint_url": server.url,
        }
        given = {name: config.pop(name) for name in keys.keys() & config.keys()}
        settings = {"retries": {"total_max_attempts": 1}, **config}
        session = boto3.Session()
        return session.client("s3", **keys | given, config=botocore.config.Config(**settings))

    return make


@pytest.fixture(scope="session")
def s3(make_s3):
    """boto3's client, with its defaults."""
    return make_s3()


@pytest.fixture
def odd_bucket(repo):
    """A repository with the empty branches that keys are taken a round trip through."""
    repo.branch(COPIES)
    return repo.id
