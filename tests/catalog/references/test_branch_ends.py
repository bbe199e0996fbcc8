"""Ends by pattern: which new branches end, and what is stored."""

from __future__ import annotations

import pytest

from anabranch.errors import Denied, Invalid, NotFound, PreconditionFailed, ReadOnlyRepository
from anabranch.model.references.branch_ends import MAX_RULES, BranchEnd
from anabranch.model.references.workspace_request import WorkspaceRequest

DAY = 86_400
DEV = BranchEnd("dev-*", "7d", hidden=True)


@pytest.fixture
def ruled(lake):
    rules = [BranchEnd("dev-long-*", "30d"), DEV, BranchEnd("*[0-9]", "12h")]
    lake.branch_ends.replace("sea", rules)
    return lake


def made(lake, name, **options):
    branch = lake.branches.create("sea", name, "main", **options)
    assert lake.branches.get("sea", name) == branch
    return branch


@pytest.mark.parametrize(
    ("name", "seconds", "hidden"),
    [
        ("dev-long-1", 30 * DAY, False),
        ("dev-1", 7 * DAY, True),
        ("fix-1", DAY // 2, False),
        ("fix", 0, False),
    ],
)
def test_the_first_rule_that_matches_decides(ruled, clock, name, seconds, hidden):
    branch = made(ruled, name)
    assert branch.expires_at == (int(clock()) + seconds if seconds else 0)
    assert branch.hidden is hidden


def test_a_branch_ends_by_its_rule(ruled, clock):
    made(ruled, "fix-1")
    made(ruled, "fix")
    clock.advance(DAY // 2)
    assert ruled.expiry.delete_due() == 1
    assert [each.id for each in ruled.branches.list("sea", amount=9).items] == ["fix", "main"]


def test_an_end_of_its_own_and_never_win(ruled, clock):
    assert made(ruled, "dev-1", expires_at=0).expires_at == 0
    end = int(clock()) + 60
    own = made(ruled, "dev-2", expires_at=end)
    assert (own.expires_at, own.hidden) == (end, False)
    request = WorkspaceRequest(source="main", branch="dev-3", seconds=60)
    assert ruled.workspaces.create("sea", request).branch.expires_at == end


def test_branches_that_exist_keep_their_ends(lake):
    made(lake, "dev-1")
    lake.branch_ends.replace("sea", [DEV])
    assert lake.branches.get("sea", "dev-1").expires_at == 0
    made(lake, "dev-2")
    lake.branch_ends.replace("sea", [])
    assert lake.branches.get("sea", "dev-2").expires_at > 0
    assert made(lake, "dev-3").expires_at == 0


def test_the_default_branch_gets_no_end(lake, clock):
    lake.branch_ends.replace("sea", [BranchEnd("*", "1d")])
    lake.repositories.create("pond", "local://pond", bare=True)
    lake.branch_ends.replace("pond", [BranchEnd("*", "1d")])
    assert lake.branches.get("sea", "main").expires_at == 0
    with pytest.raises(Denied, match="cannot expire"):
        lake.branches.create("pond", "main", "x", expires_at=int(clock()) + DAY)


def test_rules_are_replaced_on_condition(lake):
    none = lake.branch_ends.rules("sea")
    assert (none.rules, none.etag) == ((), "")
    first = lake.branch_ends.replace("sea", [DEV], if_match="")
    assert lake.branch_ends.rules("sea") == first
    for wrong in ("", "0" * 64):
        with pytest.raises(PreconditionFailed):
            lake.branch_ends.replace("sea", [], if_match=wrong)
    last = lake.branch_ends.replace("sea", [], if_match=first.etag)
    assert (last.rules, bool(last.etag)) == ((), True)


@pytest.mark.parametrize(
    "rules",
    [
        [BranchEnd("[a", "7d")],
        [BranchEnd("", "7d")],
        [BranchEnd("a", "soon")],
        [BranchEnd("a", "")],
        [BranchEnd("a", "never")],
        [BranchEnd("a", "99999d")],
        [DEV, BranchEnd(DEV.pattern, "8d")],
        [BranchEnd(f"a{number}", "7d") for number in range(MAX_RULES + 1)],
    ],
)
def test_a_wrong_rule_changes_nothing(ruled, rules):
    before = ruled.branch_ends.rules("sea")
    with pytest.raises(Invalid):
        ruled.branch_ends.replace("sea", rules)
    assert ruled.branch_ends.rules("sea") == before


def test_rules_of_read_only_and_missing_repositories(lake):
    lake.repositories.create("fixed", "local://fixed", read_only=True)
    with pytest.raises(ReadOnlyRepository):
        lake.branch_ends.replace("fixed", [DEV])
    with pytest.raises(NotFound):
        lake.branch_ends.rules("nothing")


def test_undo_brings_rules_back(lake):
    lake.branch_ends.replace("sea", [DEV])
    lake.branch_ends.replace("sea", [])
    lake.operations.undo("sea")
    assert list(lake.branch_ends.rules("sea").rules) == [DEV]


def test_they_return_with_a_deleted_repository(lake):
    lake.branch_ends.replace("sea", [DEV])
    lake.repositories.delete("sea")
    lake.repositories.restore("sea")
    assert list(lake.branch_ends.rules("sea").rules) == [DEV]
