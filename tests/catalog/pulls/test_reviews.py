"""Comments, reviews, and the approvals that a protection rule requires."""

from __future__ import annotations

import pytest

from anabranch.errors import (
    Conflict,
    Denied,
    Invalid,
    MergeConflict,
    NotFound,
    PreconditionFailed,
    ProtectedBranch,
)
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.commit_import import ImportRequest
from anabranch.records import lakefs_pb2 as records

APPROVED, CHANGES = "approved", "changes_requested"


@pytest.fixture
def lake(lake):
    """A repository with a branch `work` that is one commit ahead of `main`."""
    lake.branches.create("sea", "work", "main")
    commit(lake, "work", a="1")
    return lake


@pytest.fixture
def made(lake):
    """A pull request of ada, into a branch that requires two approvals."""
    lake.protection.replace("sea", ["main"], approvals={"main": 2})
    return lake.pulls.create("sea", title="t", source="work", destination="main", author="ada")


def commit(lake, branch, **contents):
    for path, content in contents.items():
        lake.objects.upload("sea", branch, path, [content.encode()])
    return lake.commits.commit("sea", branch, message="m", committer="ada").id


def review(lake, made, author, state=APPROVED, **fields):
    return lake.reviews.create("sea", made.id, state, author=author, **fields)


def given(lake, made):
    return len(lake.reviews.approvals("sea", made.id).review_ids)


def refused(lake, made, message):
    head = lake.branches.get("sea", "main").commit_id
    with pytest.raises(Denied, match=message) as error:
        lake.pulls.merge("sea", made.id, committer="c", force=True)
    assert error.value.kind == "approvals_missing"
    assert lake.branches.get("sea", "main").commit_id == head
    assert lake.pulls.get("sea", made.id).status == "open"
    return error.value


def test_merge_needs_the_approvals_of_the_rule(lake, made):
    error = refused(lake, made, r"^2 of 2 required approvals are missing$")
    assert lake.branches.get("sea", "work").commit_id in error.hint
    review(lake, made, "bob")
    review(lake, made, "bob")
    refused(lake, made, r"^1 of 2 required approvals is missing$")
    review(lake, made, "cleo")
    lake.pulls.merge("sea", made.id, committer="c")


def test_own_approval_does_not_count(lake, made):
    for _ in range(2):
        assert not review(lake, made, "ada").counted
    assert not review(lake, made, "Ada Lovelace", username="ada").counted
    refused(lake, made, "2 of 2")


def test_last_review_of_a_user_counts(lake, made):
    review(lake, made, "bob")
    review(lake, made, "cleo")
    review(lake, made, "bob", CHANGES, text="no")
    assert given(lake, made) == 1
    refused(lake, made, "1 of 2")
    again = review(lake, made, "bob")
    assert again.id in lake.reviews.approvals("sea", made.id).review_ids
    lake.pulls.merge("sea", made.id, committer="c")
    assert given(lake, made) == 2
    commit(lake, "work", b="2")
    assert given(lake, made) == 2


def test_approvals_expire_when_the_source_moves(lake, made):
    first = lake.branches.get("sea", "work").commit_id
    for user in ("bob", "cleo"):
        review(lake, made, user, commit_id=first)
    lake.objects.upload("sea", "work", "b", [b"2"])
    assert given(lake, made) == 2
    second = commit(lake, "work", b="2")
    refused(lake, made, "2 of 2")
    with pytest.raises(Conflict, match=second) as error:
        review(lake, made, "bob", commit_id=first)
    assert error.value.kind == "source_moved"
    lake.branches.hard_reset("sea", "work", first)
    assert given(lake, made) == 2
    lake.branches.delete("sea", "work")
    assert lake.reviews.approvals("sea", made.id) == (frozenset(), 2, "")
    with pytest.raises(NotFound, match="branch not found"):
        review(lake, made, "bob")


def test_reviews_are_of_open_pull_requests(lake, made):
    lake.pulls.update("sea", made.id, status="closed")
    with pytest.raises(Invalid, match="bad pull request status"):
        review(lake, made, "bob")
    lake.reviews.comment("sea", made.id, "late", author="bob")
    with pytest.raises(Invalid, match="argument state"):
        review(lake, made, "bob", "maybe")
    assert lake.reviews.list("sea", made.id, amount=10).items == []


def test_pages_of_comments_and_reviews_are_complete(lake, made, clock):
    other = lake.pulls.create("sea", title="t", source="work", destination="main", author="ada")
    comments, reviews = [], []
    for number in range(11):
        clock.advance(number % 2)
        path = "a" if number % 3 else ""
        comments.append(lake.reviews.comment("sea", made.id, f"c{number}", path=path, author="bob"))
        reviews.append(review(lake, made, f"u{number}", CHANGES, text="t"))
        lake.reviews.comment("sea", other.id, "other", author="bob")
    for read, expected in ((lake.reviews.comments, comments), (lake.reviews.list, reviews)):
        for amount in (1, 4, 11, 12):
            found, after = [], ""
            while True:
                page = read("sea", made.id, after=after, amount=amount)
                found += page.items
                if not page.has_more:
                    break
                after = page.next_offset
            assert found == expected


@pytest.mark.parametrize(
    "fields",
    [{"text": ""}, {"text": " \n"}, {"text": "x" * 65_537}, {"text": "t", "path": "x" * 1025}],
)
def test_invalid_comments_are_rejected(lake, made, fields):
    with pytest.raises(Invalid, match="validation error"):
        lake.reviews.comment("sea", made.id, fields.pop("text"), author="bob", **fields)
    for repository, pull_id, message in (
        ("sea", "ceh8bs1ksduasdr2aobg", "pull request"),
        ("none", made.id, "repository"),
    ):
        with pytest.raises(NotFound, match=f"{message} not found"):
            lake.reviews.comment(repository, pull_id, "t", author="bob")
    assert lake.reviews.comments("sea", made.id, amount=10).items == []


def direct_changes(lake, tmp_path):
    """Yields all ways to change the history of `main` without a pull request."""
    head = lake.branches.get("sea", "work").commit_id
    yield lambda: lake.refs.merge("sea", "work", "main", committer="c", force=True)
    yield lambda: lake.refs.merge("sea", head, "main", committer="c", allow_empty=True)
    yield lambda: lake.branches.cherry_pick("sea", "main", head, committer="c")
    yield lambda: lake.branches.revert(
        "sea", "main", "main", committer="c", allow_empty=True, parent_number=0
    )
    yield lambda: lake.branches.hard_reset("sea", "main", head)
    yield lambda: lake.commits.commit("sea", "main", message="m", committer="c", allow_empty=True)
    source = ImportSource(type="object", path=f"local://{tmp_path}/x", destination="x")
    request = ImportRequest(branch="main", sources=[source], committer="c")
    yield lambda: lake.imports.start("sea", request, force=True)
    rows = [{"path": "x", "address": "local://x", "size": 1, "checksum": "c"}]
    yield lambda: lake.import_listing("sea", "main", rows, verify="none", force=True)


@pytest.mark.usefixtures("made")
def test_branch_that_requires_approvals_changes_by_pull_requests_alone(lake, tmp_path):
    head = lake.branches.get("sea", "main").commit_id
    for change in direct_changes(lake, tmp_path):
        with pytest.raises(ProtectedBranch, match="protected branch"):
            change()
    assert lake.branches.get("sea", "main").commit_id == head
    lake.protection.replace("sea", ["*"], approvals={"*": 1})
    lake.branches.create("sea", "other", "main")
    with pytest.raises(ProtectedBranch, match="cannot delete protected branch other"):
        lake.branches.delete("sea", "other")
    with pytest.raises(Denied, match="cannot delete repository default branch"):
        lake.branches.delete("sea", "main")
    lake.protection.replace("sea", ["*"], approvals={"*": 0})
    lake.refs.merge("sea", "work", "main", committer="c")
    lake.branches.delete("sea", "other")


def test_largest_number_of_the_matching_rules_is_required(lake, made):
    lake.protection.replace("sea", ["m*", "main", "x"], approvals={"m*": 1, "x": 9})
    assert lake.reviews.approvals("sea", made.id).required == 2
    review(lake, made, "bob")
    refused(lake, made, "1 of 2")
    lake.protection.replace("sea", ["m*", "x"])
    lake.pulls.merge("sea", made.id, committer="c")


def test_rules_keep_their_approvals_unless_a_number_is_given(lake):
    protection = lake.protection
    protection.replace("sea", ["a", "b", "c"], approvals={"a": 1, "b": 10})
    rules = protection.replace("sea", ["a", "b", "d"], approvals={"d": 3})
    assert rules.approvals == {"a": 1, "b": 10, "d": 3}
    assert protection.replace("sea", ["a", "b"], approvals={"a": 0}).approvals == {"b": 10}
    assert protection.replace("sea", []).approvals == {}
    assert protection.replace("sea", ["b"]).approvals == {}
    for number in (-1, 11):
        with pytest.raises(Invalid, match="required_approvals"):
            protection.replace("sea", ["b"], approvals={"b": number})
    with pytest.raises(PreconditionFailed):
        protection.replace("sea", ["b"], approvals={"b": 1}, if_match="0")
    assert protection.rules("sea").approvals == {}


def test_record_of_rules_is_read_by_lakefs(lake):
    etag = lake.protection.replace("sea", ["main"], approvals={"main": 3}).etag
    partition = lake.repositories.get("sea").partition
    raw = lake.keyvalue.get(partition, b"settings/protected_branches")
    stored = records.BranchProtectionRules.FromString(raw)
    # without our field the record is lakeFS's
    stored.branch_pattern_to_blocked_actions["main"].ClearField("required_approvals")
    lake.protection.replace("sea", ["main"], approvals={"main": 0})
    plain = lake.keyvalue.get(partition, b"settings/protected_branches")
    assert plain == stored.SerializeToString(deterministic=True) != raw
    assert lake.protection.rules("sea").etag != etag


@pytest.fixture
def conflicting(lake):
    """An approved pull request whose branches both changed `c.txt`, and one requires approvals."""
    commit(lake, "main", **{"c.txt": "1\n2\n3\n4\n5\n"})
    lake.branches.create("sea", "fix", "main")
    commit(lake, "fix", **{"c.txt": "one\n2\n3\n4\n5\n"})
    commit(lake, "main", **{"c.txt": "1\n2\n3\n4\nfive\n"})
    lake.protection.replace("sea", ["main"], approvals={"main": 1})
    made = lake.pulls.create("sea", title="t", source="fix", destination="main", author="ada")
    review(lake, made, "bob")
    return made


def merge(lake, made, **options):
    return lake.pulls.merge("sea", made.id, committer="ada", **options)


def text(lake, branch):
    return lake.objects.open("sea", branch, "c.txt").read_bytes()


def choices(lake):
    """Returns the options of a merge that settle its conflict by a choice of the caller."""
    lake.objects.upload("sea", "work", "evil", [b"unseen"])
    address = lake.objects.stat("sea", "work", "evil").physical_address
    return [
        {"strategy": "source-wins"},
        {"strategy": "dest-wins"},
        {"resolutions": [{"path": "c.txt", "physical_address": address}]},
        {"resolutions": [{"path": "**", "strategy": "text"}]},
        {"resolutions": [{"path": "elsewhere", "strategy": "fail"}]},
    ]


def test_choices_settle_no_conflict_where_approvals_are_required(lake, conflicting):
    head = lake.branches.get("sea", "main").commit_id
    with pytest.raises(MergeConflict):
        merge(lake, conflicting)
    for given in choices(lake):
        with pytest.raises(Denied, match="takes no strategy and no resolutions") as error:
            merge(lake, conflicting, force=True, **given)
        assert error.value.kind == "unreviewed_choices"
        assert "Merge main into fix" in error.value.hint
        with pytest.raises(Denied, match="takes no strategy"):
            lake.pulls.preview_merge("sea", conflicting.id, **given)
    assert lake.branches.get("sea", "main").commit_id == head
    assert lake.pulls.preview_merge("sea", conflicting.id).conflict_count == 1


@pytest.mark.parametrize("number", [0, 1, 3, 4])
def test_choices_settle_conflicts_where_no_approval_is_required(lake, conflicting, number):
    lake.protection.replace("sea", [])
    given = choices(lake)[number]
    if number < 4:
        merge(lake, conflicting, **given)
    else:
        with pytest.raises(MergeConflict):
            merge(lake, conflicting, **given)


def test_rules_of_the_destination_settle_conflicts_of_approved_pull_requests(lake, conflicting):
    lake.protection.replace("sea", [])
    rule = b"rules:\n- {path: '*.txt', strategy: text}\n"
    lake.objects.upload("sea", "main", "_lakefs_merge.yaml", [rule])
    lake.commits.commit("sea", "main", message="rules", committer="ada")
    lake.protection.replace("sea", ["main"], approvals={"main": 1})
    merge(lake, conflicting)
    assert text(lake, "main") == b"one\n2\n3\n4\nfive\n"


def test_conflicts_settled_on_the_source_need_another_approval(lake, conflicting):
    settling = [{"path": "c.txt", "strategy": "dest-wins"}]
    made = lake.refs.merge("sea", "main", "fix", committer="ada", resolutions=settling)
    assert lake.branches.get("sea", "fix").commit_id == made
    refused(lake, conflicting, r"^1 of 1 required approval is missing$")
    review(lake, conflicting, "bob")
    merge(lake, conflicting)
    assert text(lake, "main") == b"one\n2\n3\n4\n5\n"
