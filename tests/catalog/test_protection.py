"""Protected branches: what is rejected, what is allowed, and how rules are stored."""

from __future__ import annotations

import hashlib

import pytest

from anabranch.catalog.objects.objects import Objects
from anabranch.catalog.protection import CACHE_SECONDS, Protection
from anabranch.errors import (
    DirtyBranch,
    Invalid,
    NotFound,
    PreconditionFailed,
    ProtectedBranch,
    ReadOnlyRepository,
)
from anabranch.keyvalue.contract import Write
from anabranch.records import lakefs_pb2 as records

KEY = b"settings/protected_branches"


@pytest.fixture
def protected(lake):
    """A repository whose main has one commit and one uncommitted object, and is then protected;
    the branch `work` has something to merge.
    """
    lake.objects.upload("sea", "main", "old", [b"1"])
    lake.commits.commit("sea", "main", message="one", committer="ada")
    lake.branches.create("sea", "work", "main")
    lake.objects.upload("sea", "work", "new", [b"2"])
    lake.commits.commit("sea", "work", message="two", committer="ada")
    lake.protection.replace("sea", ["ma*", "release-?"])
    return lake


def state(lake, branch="main"):
    listed = lake.objects.listing("sea", branch, amount=100).items
    changes = lake.branches.changes("sea", branch, amount=100).items
    return lake.branches.get("sea", branch), listed, changes


def blocks_on_disk(tmp_path):
    return sorted(path for path in (tmp_path / "blocks").rglob("data/*/*") if path.is_file())


def writes(lake):
    objects, staging = lake.objects, lake.staging
    address = {"address": "local://elsewhere/x", "checksum": "c", "size": 1}
    yield lambda: objects.upload("sea", "main", "a", [b"1"])
    yield lambda: objects.upload("sea", "main", "a", [b"1"], if_absent=True)
    yield lambda: objects.upload("sea", "main", "a", [b"1"], force=True)
    yield lambda: objects.copy("sea", "main", "a", source_path="old")
    yield lambda: objects.delete("sea", "main", "old")
    yield lambda: objects.delete_many("sea", "main", ["old", "none"])
    yield lambda: objects.set_user_metadata("sea", "main", "old", {"k": "v"})
    yield lambda: objects.change_user_metadata("sea", "main", "old", dict)
    yield lambda: staging.stage("sea", "main", "a", **address)
    yield lambda: staging.link("sea", "main", "a", **address)
    yield lambda: lake.branches.reset("sea", "main", "reset")
    yield lambda: lake.branches.reset("sea", "main", "object", "old")


def test_nothing_is_staged_on_a_protected_branch_or_taken_from_there(protected, tmp_path):
    before = state(protected), blocks_on_disk(tmp_path)
    for write in writes(protected):
        with pytest.raises(ProtectedBranch, match=r"^cannot write to protected branch$"):
            write()
    assert (state(protected), blocks_on_disk(tmp_path)) == before


def test_a_protected_branch_takes_no_commit_and_no_hard_reset(protected):
    before = state(protected)
    with pytest.raises(ProtectedBranch, match=r"^cannot commit to protected branch$"):
        protected.commits.commit("sea", "main", message="m", committer="ada", allow_empty=True)
    with pytest.raises(ProtectedBranch, match=r"^protected branch$"):
        protected.branches.hard_reset("sea", "main", "work")
    assert state(protected) == before


def test_protected_branch_accepts_merges_reverts_cherry_picks_and_deletion(protected):
    merged = protected.refs.merge("sea", "work", "main", committer="ada")
    assert protected.objects.stat("sea", "main", "new")
    protected.branches.revert("sea", "main", merged, parent_number=1, committer="ada")
    with pytest.raises(NotFound):
        protected.objects.stat("sea", "main", "new")
    protected.branches.cherry_pick("sea", "main", "work", committer="ada")
    assert protected.objects.stat("sea", "main", "new")
    protected.branches.create("sea", "release-1", "main")
    protected.branches.delete("sea", "release-1")


def test_rules_do_not_affect_other_branches_and_repositories(protected):
    protected.repositories.create("lake", "local://lake")
    for repository, branch in (("sea", "work"), ("lake", "main")):
        protected.objects.upload(repository, branch, "a", [b"1"])
        protected.commits.commit(repository, branch, message="m", committer="ada")
    protected.branches.create("sea", "release-10", "main")
    protected.objects.upload("sea", "release-10", "a", [b"1"])


def test_rules_are_replaced_on_condition(lake):
    none = lake.protection.rules("sea")
    assert (none.patterns, none.etag) == ([], "")
    first = lake.protection.replace("sea", ["b", "a", "a"], if_match="")
    assert lake.protection.rules("sea") == first
    assert first.patterns == ["a", "b"]
    for wrong in ("", none.etag, "0" * 64):
        with pytest.raises(PreconditionFailed, match=r"^Precondition failed$"):
            lake.protection.replace("sea", [], if_match=wrong)
    assert lake.protection.rules("sea") == first
    lake.protection.replace("sea", ["c"], if_match=first.etag)
    last = lake.protection.replace("sea", [])
    assert (last.patterns, last.etag) == ([], hashlib.sha256(b"").hexdigest())
    lake.objects.upload("sea", "main", "a", [b"1"])


def test_invalid_pattern_changes_no_rule(protected):
    before = protected.protection.rules("sea")
    with pytest.raises(Invalid):
        protected.protection.replace("sea", ["good", "[a"])
    assert protected.protection.rules("sea") == before


def test_rules_of_a_read_only_repository_stay(lake):
    lake.repositories.create("fixed", "local://fixed", read_only=True)
    with pytest.raises(ReadOnlyRepository, match="read-only repository"):
        lake.protection.replace("fixed", ["main"])
    with pytest.raises(NotFound):
        lake.protection.replace("nothing", ["main"])


def test_the_record_is_lakefs_s_own(lake):
    lake.protection.replace("sea", ["main", "v*"])
    partition = lake.repositories.get("sea").partition
    raw = lake.keyvalue.get(partition, KEY)
    message = records.BranchProtectionRules.FromString(raw)
    both = records.BranchProtectionBlockedActions(value=["STAGING_WRITE", "COMMIT"])
    assert dict(message.branch_pattern_to_blocked_actions) == {"main": both, "v*": both}
    assert lake.protection.rules("sea").etag == hashlib.sha256(raw).hexdigest()


def store(lake, **blocked):
    rules = {pattern: {"value": value} for pattern, value in blocked.items()}
    message = records.BranchProtectionRules(branch_pattern_to_blocked_actions=rules)
    partition = lake.repositories.get("sea").partition
    lake.keyvalue.apply([Write(partition, KEY, message.SerializeToString())])


def test_rules_that_block_one_thing_are_understood(lake):
    store(lake, main=["COMMIT"])
    lake.objects.upload("sea", "main", "a", [b"1"])
    with pytest.raises(ProtectedBranch, match="commit"):
        lake.commits.commit("sea", "main", message="m", committer="ada")


def test_a_stored_pattern_that_cannot_be_read_protects_every_branch(lake):
    store(lake, **{"[a": ["STAGING_WRITE"]})
    with pytest.raises(ProtectedBranch) as caught:
        lake.objects.upload("sea", "main", "a", [b"1"])
    assert "[a" in caught.value.hint


def test_rules_of_another_process_take_effect_within_a_second(lake):
    now = 100.0
    protection = Protection(lake.core, lambda: now)
    objects = Objects(lake.core, lake.blocks, lambda: now, protection)
    objects.upload("sea", "main", "a", [b"1"])
    lake.protection.replace("sea", ["main"])
    now += CACHE_SECONDS - 0.1
    objects.upload("sea", "main", "a", [b"2"])
    now += 0.1
    with pytest.raises(ProtectedBranch):
        objects.upload("sea", "main", "a", [b"3"])
    lake.protection.replace("sea", [])
    protection.replace("sea", [])
    objects.upload("sea", "main", "a", [b"4"])


def test_recreated_repository_has_no_rules(protected):
    protected.repositories.delete("sea")
    protected.repositories.create("sea", "local://again")
    assert protected.protection.rules("sea").patterns == []
    protected.objects.upload("sea", "main", "a", [b"1"])


def test_sample_data_is_protected(lake):
    lake.repositories.create("sample", "local://sample", default_branch="trunk", sample_data=True)
    assert lake.protection.rules("sample").patterns == ["trunk"]


def test_a_hard_reset_moves_a_branch_that_has_no_uncommitted_changes(lake):
    lake.objects.upload("sea", "main", "a", [b"1"])
    first = lake.commits.commit("sea", "main", message="one", committer="ada")
    lake.objects.upload("sea", "main", "a", [b"2"])
    lake.commits.commit("sea", "main", message="two", committer="ada")
    lake.objects.upload("sea", "main", "b", [b"3"])
    before = state(lake)
    with pytest.raises(DirtyBranch):
        lake.branches.hard_reset("sea", "main", first.id)
    after = state(lake)
    assert after[0].commit_id == before[0].commit_id
    assert after[1:] == before[1:]
    lake.branches.reset("sea", "main", "reset")
    lake.branches.hard_reset("sea", "main", "main~1")
    branch, _, changes = state(lake)
    assert (branch.commit_id, changes) == (first.id, [])
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"1"
    with pytest.raises(NotFound):
        lake.branches.hard_reset("sea", "main", "nothing")
