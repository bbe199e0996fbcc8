"""A read-only repository refuses every change, through the REST API and through S3."""

from __future__ import annotations

import botocore.exceptions
import lakefs_sdk
import pytest


@pytest.fixture
def calm(sdk, fresh, server):
    """A read-only repository with an object, a branch and a tag that were made by force."""
    sdk.repositories_api.create_repository(
        lakefs_sdk.RepositoryCreation(
            name=fresh, storage_namespace=f"{server.storage}{fresh}", read_only=True
        )
    )
    sdk.objects_api.upload_object(fresh, "main", "a", content=b"1", force=True)
    commit = lakefs_sdk.CommitCreation(message="forced", force=True)
    sdk.commits_api.commit(fresh, "main", commit)
    branch = lakefs_sdk.BranchCreation(name="side", source="main", force=True)
    sdk.branches_api.create_branch(fresh, branch)
    tag = lakefs_sdk.TagCreation(id="v1", ref="main", force=True)
    sdk.tags_api.create_tag(fresh, tag)
    return fresh


def changes(sdk, repository):
    """Yields a call for each way to change a repository."""
    at = (repository, "main")
    branches, commits, objects = sdk.branches_api, sdk.commits_api, sdk.objects_api
    creation, message = lakefs_sdk.BranchCreation, "m"
    rules = lakefs_sdk.GarbageCollectionRules(default_retention_days=1, branches=[])
    protect = [lakefs_sdk.BranchProtectionRule(pattern="main")]
    experimental, internal, api = sdk.experimental_api, sdk.internal_api, sdk.repositories_api
    staged = lakefs_sdk.ObjectStageCreation(
        physical_address="local://elsewhere/a", checksum="0" * 32, size_bytes=1
    )
    yield lambda: branches.create_branch(repository, creation(name="b", source="main"))
    yield lambda: branches.delete_branch(repository, "side")
    yield lambda: branches.reset_branch(*at, lakefs_sdk.ResetCreation(type="reset"))
    yield lambda: branches.revert_branch(
        *at, lakefs_sdk.RevertCreation(ref="main", parent_number=0)
    )
    yield lambda: branches.cherry_pick(*at, lakefs_sdk.CherryPickCreation(ref="side"))
    yield lambda: experimental.hard_reset_branch(*at, "side")
    yield lambda: commits.commit(*at, lakefs_sdk.CommitCreation(message=message))
    yield lambda: sdk.refs_api.merge_into_branch(repository, "side", "main")
    yield lambda: sdk.tags_api.create_tag(repository, lakefs_sdk.TagCreation(id="v2", ref="main"))
    yield lambda: sdk.tags_api.delete_tag(repository, "v1")
    yield lambda: objects.upload_object(*at, "b", content=b"1")
    yield lambda: objects.delete_object(*at, "a")
    yield lambda: objects.copy_object(*at, "b", lakefs_sdk.ObjectCopyCreation(src_path="a"))
    yield lambda: experimental.update_object_user_metadata(
        *at, "a", lakefs_sdk.UpdateObjectUserMetadata(set={"k": "v"})
    )
    yield lambda: internal.stage_object(*at, "b", staged)
    yield lambda: internal.create_symlink_file(*at)
    yield lambda: api.set_branch_protection_rules(repository, protect)
    yield lambda: api.set_gc_rules(repository, rules)
    yield lambda: api.delete_gc_rules(repository)
    yield lambda: api.delete_repository(repository)


@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_each_change_is_refused(sdk, calm, refused):
    def state():
        return (
            sdk.branches_api.list_branches(calm).results,
            sdk.tags_api.list_tags(calm).results,
            sdk.objects_api.list_objects(calm, "main").results,
        )

    before = state()
    for number, change in enumerate(changes(sdk, calm)):
        with refused(403, "read-only repository"):
            change()
        assert state() == before, number


def test_deletions_of_several_objects_are_refused_one_by_one(sdk, calm):
    paths = lakefs_sdk.PathList(paths=["a", "none"])
    errors = sdk.objects_api.delete_objects(calm, "main", paths).errors
    assert {(error.path, error.status_code) for error in errors} == {("a", 403), ("none", 403)}
    assert sdk.objects_api.stat_object(calm, "main", "a")


def test_a_link_is_refused(sdk, calm, refused):
    address = sdk.staging_api.get_physical_address(calm, "main", "b")
    linked = lakefs_sdk.StagingMetadata(staging=address, checksum="0" * 32, size_bytes=1)
    with refused(403, "read-only repository"):
        sdk.staging_api.link_physical_address(calm, "main", "b", linked)


def test_each_change_by_s3_is_refused(sdk, calm, s3):
    writes = [
        lambda: s3.put_object(Bucket=calm, Key="main/b", Body=b"1"),
        lambda: s3.copy_object(Bucket=calm, Key="main/b", CopySource=f"{calm}/main/a"),
        lambda: s3.delete_object(Bucket=calm, Key="main/a"),
        lambda: s3.create_multipart_upload(Bucket=calm, Key="main/b"),
    ]
    for number, write in enumerate(writes):
        with pytest.raises(botocore.exceptions.ClientError) as caught:
            write()
        status = caught.value.response["ResponseMetadata"]["HTTPStatusCode"]
        assert status == 403, (number, caught.value.response)
    several = s3.delete_objects(Bucket=calm, Delete={"Objects": [{"Key": "main/a"}]})
    assert [error["Key"] for error in several["Errors"]] == ["main/a"]
    assert [item.path for item in sdk.objects_api.list_objects(calm, "main").results] == ["a"]


def test_the_metadata_of_a_read_only_repository_may_change(sdk, calm):
    """As in lakeFS: it is about the repository, not in it."""
    values = lakefs_sdk.RepositoryMetadataSet(metadata={"k": "v"})
    sdk.internal_api.set_repository_metadata(calm, values)
    assert sdk.repositories_api.get_repository_metadata(calm) == {"k": "v"}
