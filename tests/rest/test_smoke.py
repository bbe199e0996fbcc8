"""A short workflow with the unmodified published SDK on a running server."""

from __future__ import annotations

import lakefs_sdk
import pytest
from lakefs_sdk.client import LakeFSClient

from anabranch.testing.server import Server


@pytest.fixture
def client(server: Server) -> LakeFSClient:
    return LakeFSClient(
        lakefs_sdk.Configuration(
            host=server.url, username=server.access_key_id, password=server.secret_access_key
        )
    )


def test_the_published_sdk_commits_merges_and_reads(client, repository):
    assert client.config_api.get_config().version_config.version_context == "lakeFS"
    assert client.repositories_api.get_repository(repository).id == repository
    client.objects_api.upload_object(repository, "main", "a/abc", content=b"green")
    first = client.commits_api.commit(
        repository, "main", lakefs_sdk.CommitCreation(message="abc", metadata={"k": "v"})
    )
    client.branches_api.create_branch(
        repository, lakefs_sdk.BranchCreation(name="dev", source="main")
    )
    client.objects_api.upload_object(repository, "dev", "a/abc", content=b"black")
    assert [d.path for d in client.branches_api.diff_branch(repository, "dev").results] == ["a/abc"]
    client.commits_api.commit(repository, "dev", lakefs_sdk.CommitCreation(message="more"))
    merged = client.refs_api.merge_into_branch(repository, "dev", "main")
    assert client.objects_api.get_object(repository, "main", "a/abc") == b"black"
    assert client.objects_api.get_object(repository, "main~1", "a/abc") == b"green"
    log = client.refs_api.log_commits(repository, "main").results
    assert log[0].id == merged.reference
    assert first.id in [commit.id for commit in log]
    assert [s.path for s in client.objects_api.list_objects(repository, "main").results] == [
        "a/abc"
    ]
