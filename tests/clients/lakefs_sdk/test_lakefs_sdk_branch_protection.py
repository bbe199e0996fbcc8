"""lakefs-sdk: rules that protect branches."""

from __future__ import annotations

import lakefs_sdk
import pytest


@pytest.fixture
def protect(sdk, repo):
    """Returns a function that sets the rules of the repository."""

    def set_rules(*patterns, **conditions):
        rules = [lakefs_sdk.BranchProtectionRule(pattern=pattern) for pattern in patterns]
        sdk.repositories_api.set_branch_protection_rules(repo.id, rules, **conditions)

    return set_rules


def patterns(sdk, repo):
    got = sdk.repositories_api.get_branch_protection_rules_with_http_info(repo.id)
    return [rule.pattern for rule in got.data], got.headers["etag"]


def test_rules_have_an_etag(sdk, repo, protect, refused):
    assert patterns(sdk, repo) == ([], "")
    protect("main", "stable_*")
    rules, etag = patterns(sdk, repo)
    assert rules == ["main", "stable_*"]
    with refused(412, "Precondition failed"):
        protect(if_match="0" * 64)
    protect("other", if_match=etag)
    assert patterns(sdk, repo)[0] == ["other"]
    protect()
    assert patterns(sdk, repo)[0] == []


def test_protected_branch_rejects_changes(sdk, repo, protect, refused):
    repo.save("old")
    repo.put("staged")
    protect("ma*")
    before = repo.paths(), repo.head().id
    with refused(403, "cannot write to protected branch"):
        repo.put("new")
    with refused(403, "cannot write to protected branch"):
        repo.delete("old")
    with refused(403, "cannot write to protected branch"):
        copy = lakefs_sdk.ObjectCopyCreation(src_path="old")
        sdk.objects_api.copy_object(repo.id, "main", "new", copy)
    with refused(403, "cannot write to protected branch"):
        metadata = lakefs_sdk.UpdateObjectUserMetadata(set={"k": "v"})
        sdk.experimental_api.update_object_user_metadata(repo.id, "main", "old", metadata)
    with refused(403, "cannot write to protected branch"):
        reset = lakefs_sdk.ResetCreation(type="reset")
        sdk.branches_api.reset_branch(repo.id, "main", reset)
    with refused(403, "cannot commit to protected branch"):
        repo.commit()
    with refused(403, "protected branch"):
        sdk.experimental_api.hard_reset_branch(repo.id, "main", "main~1")
    assert (repo.paths(), repo.head().id) == before


def test_protected_branch_accepts_merges_reverts_and_cherry_picks(sdk, repo, protect):
    protect("main")
    repo.branch("work")
    commit = repo.save("new", branch="work")
    merged = repo.merge("work")
    assert repo.paths() == ["new"]
    revert = lakefs_sdk.RevertCreation(ref=merged, parent_number=1)
    sdk.branches_api.revert_branch(repo.id, "main", revert)
    assert repo.paths() == []
    pick = lakefs_sdk.CherryPickCreation(ref=commit.id)
    sdk.branches_api.cherry_pick(repo.id, "main", pick)
    assert repo.paths() == ["new"]


def test_the_older_calls(sdk, repo, refused):
    rule = lakefs_sdk.BranchProtectionRule(pattern="main")
    internal = sdk.internal_api
    internal.create_branch_protection_rule_preflight(repo.id)
    internal.internal_create_branch_protection_rule(repo.id, rule)
    assert internal.internal_get_branch_protection_rules(repo.id) == [rule]
    internal.internal_delete_branch_protection_rule(repo.id, rule)
    with refused(404):
        internal.internal_delete_branch_protection_rule(repo.id, rule)


def test_a_hard_reset(sdk, repo, refused):
    first = repo.save("a")
    repo.save("b")
    repo.put("c")
    with refused(400, "dirty branch"):
        sdk.experimental_api.hard_reset_branch(repo.id, "main", first.id)
    repo.delete("c")
    sdk.experimental_api.hard_reset_branch(repo.id, "main", first.id)
    assert (repo.head().id, repo.paths()) == (first.id, ["a"])
