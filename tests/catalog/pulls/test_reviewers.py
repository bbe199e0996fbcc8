"""Users and groups that are asked for a review, and their answers."""

from __future__ import annotations

import pytest

from anabranch.catalog.pulls.reviewers import WaitsFor
from anabranch.errors import Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.pull_request import MAX_REVIEWERS, Reviewer, ReviewerKind
from anabranch.records import lakefs_pb2 as records
from anabranch.testing.lake import lake_in
from anabranch.testing.stores import FaultyStore

BOB, CLEO = Reviewer("bob"), Reviewer("cleo")
CURATORS = Reviewer("curators", ReviewerKind.GROUP)


class Curators:
    """Names of an installation whose group `curators` has these members."""

    def __init__(self, *members):
        self.members = members

    def require(self, repository, reviewer):
        """Accepts all names."""

    def members_among(self, group, usernames):
        return [name for name in usernames if group == "curators" and name in self.members]


@pytest.fixture
def lake(lake):
    """A repository with a branch `work` that is one commit ahead of `main`."""
    lake.branches.create("sea", "work", "main")
    commit(lake, "a")
    return lake


def commit(lake, path):
    lake.objects.upload("sea", "work", path, [b"1"])
    return lake.commits.commit("sea", "work", message="m", committer="ada").id


def propose(lake, *reviewers, author="ada"):
    return lake.pulls.create(
        "sea", title="t", source="work", destination="main", author=author, reviewers=reviewers
    )


def states(lake, pull, names=Curators()):  # noqa: B008  without state
    asked = lake.reviewers.asked("sea", lake.pulls.get("sea", pull.id), names)
    return {item.reviewer.name: str(item.state) for item in asked}


def waiting(lake, username, *groups, names=Curators()):  # noqa: B008
    waits_for = WaitsFor(username, frozenset(groups))
    page = lake.pulls.list("sea", waits_for=waits_for, names=names, amount=10)
    return [item.id for item in page.items]


def test_reviewers_are_asked_and_no_longer(lake):
    pull = propose(lake, CLEO, BOB, BOB)
    assert pull.reviewers == (BOB, CLEO)
    changed = lake.reviewers.change("sea", pull.id, add=[CURATORS, BOB], remove=[CLEO])
    assert changed.reviewers == lake.pulls.get("sea", pull.id).reviewers == (BOB, CURATORS)
    with pytest.raises(NotFound, match="user 'cleo' is not asked") as error:
        lake.reviewers.change("sea", pull.id, add=[Reviewer("dan")], remove=[CLEO])
    assert error.value.kind == "reviewer_not_asked"
    assert lake.pulls.get("sea", pull.id).reviewers == (BOB, CURATORS)
    lake.pulls.update("sea", pull.id, title="new")
    lake.pulls.merge("sea", pull.id, committer="c")
    assert lake.pulls.get("sea", pull.id).reviewers == (BOB, CURATORS)


def test_answer_is_the_last_review_of_the_present_commit(lake):
    pull = propose(lake, BOB, CLEO)
    assert states(lake, pull) == {"bob": "waiting", "cleo": "waiting"}
    lake.reviews.create("sea", pull.id, "approved", author="bob")
    lake.reviews.create("sea", pull.id, "changes_requested", author="cleo")
    assert states(lake, pull) == {"bob": "approved", "cleo": "changes_requested"}
    lake.reviews.create("sea", pull.id, "approved", author="cleo")
    lake.reviews.create("sea", pull.id, "changes_requested", author="bob")
    assert states(lake, pull) == {"bob": "changes_requested", "cleo": "approved"}
    commit(lake, "b")
    assert states(lake, pull) == {"bob": "waiting", "cleo": "waiting"}
    lake.reviews.create("sea", pull.id, "approved", author="bob")
    lake.pulls.merge("sea", pull.id, committer="c")
    commit(lake, "c")
    assert states(lake, pull) == {"bob": "approved", "cleo": "waiting"}


def test_review_of_a_member_is_the_answer_of_the_group(lake):
    pull = propose(lake, CURATORS)
    names = Curators("bob", "ada")
    for author in ("cleo", "ada"):
        lake.reviews.create("sea", pull.id, "changes_requested", author=author)
    assert states(lake, pull, names) == {"curators": "waiting"}
    lake.reviews.create("sea", pull.id, "approved", author="bob")
    assert states(lake, pull, names) == {"curators": "approved"}
    assert states(lake, pull, Curators("bob", "cleo")) == {"curators": "changes_requested"}


def test_pull_requests_wait_for_those_who_have_not_answered(lake):
    pull, other = propose(lake, BOB), propose(lake, CURATORS, author="bob")
    propose(lake)
    names = Curators("bob", "cleo", "dan")
    assert waiting(lake, "bob") == [pull.id]
    assert waiting(lake, "bob", "curators", names=names) == [pull.id], "not of one's own"
    assert waiting(lake, "cleo", "curators", names=names) == [other.id]
    assert waiting(lake, "ada") == waiting(lake, "curators") == []
    lake.reviews.create("sea", other.id, "approved", author="dan")
    lake.reviews.create("sea", pull.id, "changes_requested", author="bob")
    assert waiting(lake, "bob") == waiting(lake, "cleo", "curators", names=names) == []
    commit(lake, "b")
    assert waiting(lake, "bob") == [pull.id]
    lake.pulls.update("sea", pull.id, status="closed")
    assert waiting(lake, "bob") == []


def test_invalid_requests_change_nothing(lake):
    pull = propose(lake, BOB)
    many = [Reviewer(f"user-{number}") for number in range(MAX_REVIEWERS + 1)]
    for kind, added in (
        ("author_as_reviewer", [Reviewer("ada")]),
        ("too_many_reviewers", many),
        ("too_many_reviewers", many[1:]),
    ):
        with pytest.raises(Invalid) as error:
            lake.reviewers.change("sea", pull.id, add=[CLEO, *added])
        assert error.value.kind == kind
    with pytest.raises(Invalid):
        propose(lake, Reviewer("ada"))
    assert [item.reviewers for item in lake.pulls.list("sea", amount=10).items] == [(BOB,)]
    lake.pulls.update("sea", pull.id, status="closed")
    with pytest.raises(Invalid, match="bad pull request status"):
        lake.reviewers.change("sea", pull.id, remove=[BOB])


def test_changes_at_once_lose_none(tmp_path, clock):
    store, pending = MemoryStore(), []

    def interrupt(_operation, _subject):
        if pending:
            pending.pop()()

    with (
        lake_in(tmp_path, clock, FaultyStore(store, interrupt)) as lake,
        lake_in(tmp_path, clock, store) as other,
    ):
        other.repositories.create("sea", "local://sea")
        other.branches.create("sea", "work", "main")
        pull = propose(other, Reviewer("ann"))
        changes = (
            lambda: other.reviewers.change("sea", pull.id, add=[BOB]),
            lambda: other.reviews.create("sea", pull.id, "approved", author="ann"),
            lambda: other.reviewers.change("sea", pull.id, remove=[Reviewer("ann")]),
        )
        for number, change in enumerate(changes):
            pending.append(change)
            name = f"user-{number}"
            lake.reviewers.change("sea", pull.id, add=[Reviewer(name)])
            assert not pending
        stored = other.pulls.get("sea", pull.id)
        assert [each.name for each in stored.reviewers] == ["bob", "user-0", "user-1", "user-2"]
        assert list(stored.approvals) == ["ann"]


def test_record_without_reviewers_is_that_of_lakefs(lake):
    pull = propose(lake)
    partition = lake.core.repositories.get("sea").partition
    key = f"pulls/{pull.id}".encode()
    plain = lake.keyvalue.get(partition, key)
    lake.reviewers.change("sea", pull.id, add=[BOB, CURATORS])
    stored = records.PullRequestData.FromString(lake.keyvalue.get(partition, key))
    assert (stored.reviewers, stored.reviewer_groups) == (["bob"], ["curators"])
    for field in ("reviewers", "reviewer_groups"):
        stored.ClearField(field)
    assert stored.SerializeToString(deterministic=True) == plain
