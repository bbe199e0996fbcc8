"""lakefs-sdk: retention rules, and the lists that garbage collections begin with."""

from __future__ import annotations

import time
import urllib.request
from pathlib import Path

import lakefs_sdk
import pytest
from lakefs_sdk.exceptions import ApiException

HALF_A_MINUTE = 30


def rules(days=7, **branches):
    return lakefs_sdk.GarbageCollectionRules(
        default_retention_days=days,
        branches=[
            lakefs_sdk.GarbageCollectionRule(branch_id=name, retention_days=kept)
            for name, kept in branches.items()
        ],
    )


def lines(prepared):
    """Returns the lines of a list of commits, read in the store."""
    if prepared.gc_commits_presigned_url:
        with urllib.request.urlopen(prepared.gc_commits_presigned_url) as response:
            return response.read().decode().splitlines()
    return Path(prepared.gc_commits_location.removeprefix("local://")).read_text().splitlines()


@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_rules_are_set_read_and_deleted_by_both_paths(sdk, repo, refused):
    api, internal = sdk.repositories_api, sdk.internal_api
    with refused(404):
        api.get_gc_rules(repo.id)
    with refused(404):
        internal.internal_get_garbage_collection_rules(repo.id)
    api.set_gc_rules(repo.id, rules(21, main=28))
    assert api.get_gc_rules(repo.id) == rules(21, main=28)
    assert internal.internal_get_garbage_collection_rules(repo.id) == rules(21, main=28)
    internal.internal_set_garbage_collection_rules(repo.id, rules(14))
    assert api.get_gc_rules(repo.id) == rules(14)
    internal.set_garbage_collection_rules_preflight(repo.id)
    api.delete_gc_rules(repo.id)
    with refused(404):
        api.get_gc_rules(repo.id)
    internal.internal_set_garbage_collection_rules(repo.id, rules())
    internal.internal_delete_garbage_collection_rules(repo.id)
    with refused(404):
        api.get_gc_rules(repo.id)


@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_rules_of_an_unknown_repository_are_refused(sdk, fresh, refused):
    for call in (sdk.repositories_api.delete_gc_rules, sdk.repositories_api.get_gc_rules):
        with refused(404, "repository not found"):
            call(fresh)
    with refused(404, "repository not found"):
        sdk.repositories_api.set_gc_rules(fresh, rules())


def test_a_list_of_commits_has_all_that_are_active(sdk, repo, refused):
    internal = sdk.internal_api
    with refused(404):
        internal.prepare_garbage_collection_commits(repo.id)
    sdk.repositories_api.set_gc_rules(repo.id, rules())
    repo.save("a")
    repo.save("b")
    prepared = internal.prepare_garbage_collection_commits(repo.id)
    head, *rows = lines(prepared)
    assert head == "commit_id,expired,metarange_id"
    expected = {f"{commit.id},false,{commit.meta_range_id}" for commit in repo.log()}
    assert set(rows) == expected
    assert prepared.run_id in prepared.gc_commits_location


def test_a_list_of_commits_is_prepared_in_the_background(sdk, repo, refused):
    internal = sdk.internal_api
    sdk.repositories_api.set_gc_rules(repo.id, rules())
    repo.save("a")
    task = internal.prepare_garbage_collection_commits_async(repo.id).id
    deadline = time.monotonic() + HALF_A_MINUTE
    while not (
        status := internal.prepare_garbage_collection_commits_status(repo.id, task)
    ).completed:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert status.task_id == task
    assert status.error is None
    assert len(lines(status.result)) == 1 + len(repo.log())
    with refused(404):
        internal.prepare_garbage_collection_commits_status(repo.id, "GCPC-none")


def test_uncommitted_addresses_are_listed(sdk, repo):
    internal = sdk.internal_api
    nothing = internal.prepare_garbage_collection_uncommitted(repo.id)
    assert nothing.gc_uncommitted_location == ""
    assert nothing.continuation_token is None
    repo.put("a")
    page = internal.prepare_garbage_collection_uncommitted(repo.id)
    assert page.run_id in page.gc_uncommitted_location
    request = lakefs_sdk.PrepareGCUncommittedRequest(continuation_token="none such")
    with pytest.raises(ApiException) as caught:
        internal.prepare_garbage_collection_uncommitted(
            repo.id, prepare_gc_uncommitted_request=request
        )
    assert caught.value.status == 400
