"""lakefs-sdk: repositories, their metadata, their deletion."""

from __future__ import annotations

import time

import lakefs_sdk
import pytest

INITIAL = "Repository created"


@pytest.fixture
def create(sdk, server):
    """Returns a function that creates a repository under its own namespace."""

    def make(name, *, bare=None, storage_namespace=None, **fields):
        creation = lakefs_sdk.RepositoryCreation(
            name=name, storage_namespace=storage_namespace or f"{server.storage}{name}", **fields
        )
        return sdk.repositories_api.create_repository(creation, bare=bare)

    return make


def test_a_new_repository_is_described(create, sdk, fresh, server):
    made = create(fresh)
    assert made.id == fresh
    assert made.storage_namespace == f"{server.storage}{fresh}"
    assert made.default_branch == "main"
    assert made.storage_id == ""
    assert made.read_only is False
    assert abs(made.creation_date - time.time()) < 60
    assert sdk.repositories_api.get_repository(fresh) == made


def test_a_new_repository_has_one_commit_and_nothing_in_it(create, sdk, fresh):
    create(fresh, default_branch="trunk")
    (commit,) = sdk.refs_api.log_commits(fresh, "trunk").results
    assert commit.message == INITIAL
    assert commit.parents == []
    assert commit.committer == ""
    assert commit.meta_range_id == ""
    assert sdk.branches_api.get_branch(fresh, "trunk").commit_id == commit.id
    assert sdk.objects_api.list_objects(fresh, "trunk").results == []


def test_a_bare_repository_has_no_branch(create, sdk, fresh, refused):
    create(fresh, bare=True)
    with refused(404, "not found"):
        sdk.branches_api.get_branch(fresh, "main")
    assert sdk.branches_api.list_branches(fresh).results == []


def test_sample_data_is_committed(create, sdk, fresh):
    create(fresh, sample_data=True)
    listed = sdk.objects_api.list_objects(fresh, "main").results
    assert "README.md" in [item.path for item in listed]
    newest, first = sdk.refs_api.log_commits(fresh, "main").results
    assert (newest.message, first.message) == ("Add sample data", INITIAL)
    assert sdk.branches_api.diff_branch(fresh, "main").results == []


@pytest.mark.parametrize("other", ["the same namespace", "its own namespace"])
def test_a_name_can_be_had_once(create, fresh, refused, other, server):
    create(fresh)
    namespace = f"{server.storage}{fresh}" + ("" if other == "the same namespace" else "-other")
    with refused(409, "error creating repository: not unique"):
        create(fresh, storage_namespace=namespace)


def test_a_namespace_can_be_had_once(create, sdk, fresh, refused, server):
    create(fresh)
    with refused(400, "storage namespace already in use"):
        create(f"{fresh}-other", storage_namespace=f"{server.storage}{fresh}")
    with refused(404, "repository not found"):
        sdk.repositories_api.get_repository(f"{fresh}-other")


@pytest.mark.parametrize("namespace", ["gs://bucket/folder", "mem://folder", "https://host/folder"])
def test_a_namespace_of_another_store_is_refused(create, fresh, refused, namespace):
    with refused(400, "invalid namespace"):
        create(fresh, storage_namespace=namespace)


def test_an_unknown_repository_is_not_found(sdk, fresh, refused):
    for call in (
        sdk.repositories_api.get_repository,
        sdk.repositories_api.delete_repository,
        sdk.repositories_api.get_repository_metadata,
        sdk.branches_api.list_branches,
        sdk.tags_api.list_tags,
    ):
        with refused(404, "repository not found"):
            call(fresh)


def test_repositories_are_listed_page_by_page(create, sdk, fresh):
    names = [f"{fresh}-{letter}" for letter in "dbac"]
    for each in names:
        create(each)
    api = sdk.repositories_api
    listed = api.list_repositories(prefix=fresh)
    assert [each.id for each in listed.results] == sorted(names)
    assert not listed.pagination.has_more
    assert listed.pagination.next_offset == ""
    first = api.list_repositories(prefix=fresh, amount=3)
    assert [each.id for each in first.results] == sorted(names)[:3]
    assert (first.pagination.has_more, first.pagination.results) == (True, 3)
    assert first.pagination.max_per_page == 1000
    assert first.pagination.next_offset == sorted(names)[2]
    rest = api.list_repositories(prefix=fresh, after=first.pagination.next_offset)
    assert [each.id for each in rest.results] == sorted(names)[3:]


def test_repositories_are_searched_by_a_part_of_the_name(create, sdk, fresh):
    create(f"a-{fresh}"[:63])
    found = sdk.repositories_api.list_repositories(search=fresh[3:40])
    assert [each.id for each in found.results] == [f"a-{fresh}"[:63]]


def test_metadata_of_a_repository_is_merged_and_removed(sdk, repo):
    repositories, internal = sdk.repositories_api, sdk.internal_api
    assert repositories.get_repository_metadata(repo.id) == {}
    for metadata in ({"team": "rivers", "tier": "1"}, {"tier": "2"}):
        internal.set_repository_metadata(
            repo.id, lakefs_sdk.RepositoryMetadataSet(metadata=metadata)
        )
    assert repositories.get_repository_metadata(repo.id) == {"team": "rivers", "tier": "2"}
    keys = lakefs_sdk.RepositoryMetadataKeys(keys=["team", "unknown"])
    internal.delete_repository_metadata(repo.id, keys)
    assert repositories.get_repository_metadata(repo.id) == {"tier": "2"}


def test_a_deleted_repository_is_gone_and_its_name_free(create, sdk, repo, refused, server):
    repo.save("a")
    repo.branch("side")
    sdk.tags_api.create_tag(repo.id, lakefs_sdk.TagCreation(id="v1", ref="main"))
    sdk.repositories_api.delete_repository(repo.id)
    with refused(404, "repository not found"):
        repo.head()
    create(repo.id, storage_namespace=f"{server.storage}{repo.id}-again")
    assert [each.id for each in sdk.branches_api.list_branches(repo.id).results] == ["main"]
    assert sdk.tags_api.list_tags(repo.id).results == []
    assert repo.paths() == []
    assert [commit.message for commit in repo.log()] == [INITIAL]


def test_a_read_only_repository_refuses_unless_forced(create, sdk, fresh, refused):
    assert create(fresh, read_only=True).read_only is True
    creation = lakefs_sdk.CommitCreation(message="Forced", force=True)
    with refused(403, "read-only repository"):
        sdk.objects_api.upload_object(fresh, "main", "a", content=b"1")
    with refused(403, "read-only repository"):
        sdk.branches_api.create_branch(fresh, lakefs_sdk.BranchCreation(name="b", source="main"))
    assert sdk.objects_api.list_objects(fresh, "main").results == []
    sdk.objects_api.upload_object(fresh, "main", "a", content=b"1", force=True)
    with refused(403, "read-only repository"):
        sdk.commits_api.commit(fresh, "main", lakefs_sdk.CommitCreation(message="Refused"))
    assert sdk.commits_api.commit(fresh, "main", creation).message == "Forced"
    with refused(403, "read-only repository"):
        sdk.repositories_api.delete_repository(fresh)
    sdk.repositories_api.delete_repository(fresh, force=True)
    with refused(404, "repository not found"):
        sdk.repositories_api.get_repository(fresh)
