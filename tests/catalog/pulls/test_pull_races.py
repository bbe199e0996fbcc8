"""Merges of pull requests with concurrent changes and crashes between any two steps."""

from __future__ import annotations

import pytest

from anabranch.errors import AnabranchError, Busy, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.testing.lake import lake_in
from anabranch.testing.stores import FaultyStore

MAX_STEPS = 60


class Steps:
    """Calls `action` before one step of what a lake does with its references."""

    def __init__(self):
        self.disarm()

    def arm(self, step, action):
        self.remaining, self.action, self.reached = step, action, False

    def disarm(self):
        self.remaining, self.action, self.reached = -1, lambda: None, False

    def __call__(self, _operation, _subject):
        self.remaining -= 1
        if self.remaining == -1 and not self.reached:
            self.reached = True
            self.action()


@pytest.fixture
def steps():
    return Steps()


@pytest.fixture
def lakes(tmp_path, clock, steps):
    """A lake whose steps can be interrupted, and the one of another process."""
    store = MemoryStore()
    with (
        lake_in(tmp_path, clock, FaultyStore(store, steps)) as lake,
        lake_in(tmp_path, clock, store) as other,
    ):
        other.repositories.create("sea", "local://sea")
        other.protection.replace("sea", ["main"], approvals={"main": 1})
        yield lake, other


def commit(lake, branch, path):
    lake.objects.upload("sea", branch, path, [path.encode()])
    return lake.commits.commit("sea", branch, message="m", committer="ada").id


def prepared(lake, number):
    """Returns an approved pull request into `main`, from a branch of its own."""
    branch = f"work-{number}"
    lake.branches.create("sea", branch, "main")
    commit(lake, branch, f"o-{number}")
    made = lake.pulls.create("sea", title="t", source=branch, destination="main", author="ada")
    lake.reviews.create("sea", made.id, "approved", author="bob")
    return made


def head(lake, branch="main"):
    return lake.commits.get("sea", branch)


def outcome(call):
    """Returns the kind of the error that a call raises, or what it returns."""
    try:
        return call()
    except AnabranchError as error:
        return error.kind


def interrupted(lakes, steps, interfere):
    """Yields, for each step of a merge, what happened when something else was done before it: the
    pull request, the result of the merge, that of the other, whether `main` had moved by then.
    """
    lake, other = lakes
    for step in range(MAX_STEPS):
        made = prepared(other, step)
        before = head(other).id
        seen = []

        def action(made=made, seen=seen):
            seen.append(head(other).id)
            seen.append(outcome(lambda: interfere(other, made)))

        steps.arm(step, action)
        result = outcome(lambda: lake.pulls.merge("sea", made.id, committer="c"))  # noqa: B023
        reached = steps.reached
        steps.disarm()
        if not reached:
            assert step > 5
            return
        yield other.pulls.get("sea", made.id), result, seen[1], seen[0] != before
    raise AssertionError("a merge takes too many steps")


def is_commit(result):
    return len(result) == 64


def test_two_merges_at_once_make_one_commit(lakes, steps):
    def merge(other, made):
        return other.pulls.merge("sea", made.id, committer="other")

    for pull, result, others, moved in interrupted(lakes, steps, merge):
        assert (is_commit(result), is_commit(others)) in ((True, False), (False, True))
        assert is_commit(result) == moved
        assert {result, others} - {pull.merged_commit_id} == {"pull_request_merged"}
        assert head(lakes[1]).id == pull.merged_commit_id
        first, second = head(lakes[1]).parents
        assert second == head(lakes[1], pull.source).id != first


def test_closing_and_merging_exclude_each_other(lakes, steps):
    def close(other, made):
        other.pulls.update("sea", made.id, status="closed")
        return "closed"

    for pull, result, others, moved in interrupted(lakes, steps, close):
        assert pull.status == ("merged" if moved else "closed")
        assert result == (pull.merged_commit_id if moved else "pull_request_closed")
        assert others == ("invalid_pull_request_status" if moved else "closed")


def test_merge_after_an_approval_is_withdrawn_is_refused(lakes, steps):
    def withdraw(other, made):
        other.reviews.create("sea", made.id, "changes_requested", author="bob")
        return "withdrawn"

    for pull, result, others, moved in interrupted(lakes, steps, withdraw):
        assert result == (pull.merged_commit_id if moved else "approvals_missing")
        assert others == ("pull_request_merged" if moved else "withdrawn")


def test_merge_after_a_rule_is_tightened_is_refused(lakes, steps):
    def tighten(other, _made):
        other.protection.replace("sea", ["main"], approvals={"main": 2})
        return "tightened"

    checked = 0
    for pull, result, _, moved in interrupted(lakes, steps, tighten):
        assert result == (pull.merged_commit_id if moved else "approvals_missing")
        lakes[1].protection.replace("sea", ["main"], approvals={"main": 1})
        checked += not moved
    assert checked > 5


def test_merge_takes_only_what_was_approved_when_the_source_is_pushed_to(lakes, steps):
    pushed = []

    def push(other, made):
        pushed.append(head(other, made.source).id)
        return commit(other, made.source, "later")

    for pull, result, _, _ in interrupted(lakes, steps, push):
        if is_commit(result):
            assert head(lakes[1]).parents[1] == pushed[-1] == pull.source_commit_id
        else:
            assert result == "approvals_missing"


def test_merge_during_a_change_of_the_destination_contains_both(lakes, steps):
    def merge_another(other, made):
        return other.pulls.merge("sea", prepared(other, f"x{made.id}").id, committer="other")

    for pull, result, others, _ in interrupted(lakes, steps, merge_another):
        assert pull.merged_commit_id == result
        log = [item.id for item in lakes[1].commits.log("sea", "main", amount=1000).items]
        assert {result, others} <= set(log)


def test_direct_merge_into_a_branch_that_begins_to_require_approvals_is_refused(lakes, steps):
    lake, other = lakes
    for step in range(MAX_STEPS):
        other.protection.replace("sea", [])
        branch = f"side-{step}"
        other.branches.create("sea", branch, "main")
        commit(other, branch, branch)
        before, seen = head(other).id, []

        def require(seen=seen):
            seen.append(head(other).id)
            other.protection.replace("sea", ["main"], approvals={"main": 1})

        steps.arm(step, require)
        result = outcome(lambda: lake.refs.merge("sea", branch, "main", committer="c"))  # noqa: B023
        reached = steps.reached
        steps.disarm()
        if not reached:
            break
        assert (result == "pull_request_required") == (seen == [before])
    assert step > 5


def test_choices_for_a_branch_that_begins_to_require_approvals_are_refused(lakes, steps):
    lake, other = lakes
    for step in range(MAX_STEPS):
        other.protection.replace("sea", [])
        made = prepared(other, step)
        before, seen = head(other).id, []

        def require(seen=seen):
            seen.append(head(other).id)
            other.protection.replace("sea", ["main"], approvals={"main": 1})

        steps.arm(step, require)
        result = outcome(
            lambda: lake.pulls.merge("sea", made.id, committer="c", strategy="source-wins")  # noqa: B023
        )
        reached = steps.reached
        steps.disarm()
        if not reached:
            break
        assert (result == "unreviewed_choices") == (seen == [before])
    assert step > 5


def test_crash_between_any_two_steps_leaves_the_merge_and_the_state_or_neither(lakes, steps):
    lake, other = lakes
    for step in range(MAX_STEPS):
        made = prepared(other, step)
        before = head(other).id

        def fail():
            raise Busy("crash", kind="crash")

        steps.arm(step, fail)
        result = outcome(lambda: lake.pulls.merge("sea", made.id, committer="c"))  # noqa: B023
        reached = steps.reached
        steps.disarm()
        after = other.pulls.get("sea", made.id)
        if head(other).id == before:
            assert (after.status, after.merged_commit_id, result) == ("open", "", "crash")
            lake.pulls.merge("sea", made.id, committer="c")
        else:
            assert (after.status, after.merged_commit_id) == ("merged", head(other).id)
        if not reached:
            return
    raise AssertionError("a merge takes too many steps")


def test_reviews_at_once_all_count(lakes, steps):
    lake, other = lakes
    for step in range(MAX_STEPS):
        made = prepared(other, step)
        steps.arm(
            step,
            lambda: other.reviews.create("sea", made.id, "approved", author="dan"),  # noqa: B023
        )
        lake.reviews.create("sea", made.id, "approved", author="cleo")
        reached = steps.reached
        steps.disarm()
        if not reached:
            break
        assert len(other.reviews.approvals("sea", made.id).review_ids) == 3
        assert len(other.reviews.list("sea", made.id, amount=10).items) == 3
    assert step > 2


def test_repository_that_is_deleted_meanwhile(lakes, steps):
    lake, other = lakes
    made = prepared(other, 0)
    steps.arm(3, lambda: other.repositories.delete("sea"))
    with pytest.raises(AnabranchError):
        lake.pulls.merge("sea", made.id, committer="c")
    with pytest.raises(NotFound):
        other.pulls.get("sea", made.id)
