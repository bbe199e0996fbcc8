"""Undo of changes of pull requests and of addresses of notifications: what was changed returns,
and what others have done since stays.
"""

from __future__ import annotations

import threading
from base64 import b64decode

import msgspec
import pytest
from support.histories.undone_operations import last, without

from anabranch.errors import Conflict, Denied, Invalid, ProtectedBranch
from anabranch.model.caller import Caller, acting_as
from anabranch.model.notifications import NotificationEvent
from anabranch.model.pull_request import Reviewer

SECRET = "https://chat.example/hooks/cedfca83?key=s3cret"


def kinds(operation):
    return [each.kind for each in operation.settings]


@pytest.fixture
def pull(lake):
    """Returns the id of a pull request of a branch with one commit."""
    lake.branches.create("sea", "dev", "main")
    lake.objects.upload("sea", "dev", "a", [b"a"])
    lake.commits.commit("sea", "dev", committer="ada", message="m")
    return propose(lake, "dev")


def propose(lake, source, **fields):
    fields = {"title": "t", "description": "long", "author": "ada"} | fields
    return lake.pulls.create("sea", source=source, destination="main", **fields).id


def status(lake, pull):
    return lake.pulls.get("sea", pull).status.value


def test_a_pull_request_that_was_created_is_closed_and_opened_again(lake, pull):
    created = last(lake)
    assert [(each.kind, each.name) for each in created.settings] == [("pull_request", pull)]
    assert created.settings[0].before is None
    lake.operations.undo("sea", created.id)
    assert status(lake, pull) == "closed"
    assert lake.pulls.get("sea", pull).closed_date is not None
    with pytest.raises(Conflict, match="undone already"):
        lake.operations.undo("sea", created.id)
    lake.operations.undo("sea", last(lake).id)
    found = lake.pulls.get("sea", pull)
    assert (found.status, found.closed_date, found.description) == ("open", None, "long")


def test_a_merge_is_taken_back_with_its_pull_request_and_made_again(lake, pull):
    main = lake.branches.get("sea", "main").commit_id
    commit_id = lake.pulls.merge("sea", pull, committer="ada")
    merge = last(lake)
    assert [each.name for each in merge.changes] == ["main"]
    assert kinds(merge) == ["pull_request"]
    merged = lake.pulls.get("sea", pull)
    lake.operations.undo("sea", merge.id)
    assert status(lake, pull) == "open"
    assert lake.pulls.get("sea", pull).merged_commit_id == ""
    assert lake.branches.get("sea", "main").commit_id == main
    lake.operations.undo("sea", last(lake).id)
    assert lake.pulls.get("sea", pull) == merged
    assert lake.branches.get("sea", "main").commit_id == commit_id


def test_a_merge_by_another_way_takes_its_pull_requests_back_and_others_are_merged(lake, pull):
    lake.refs.merge("sea", "dev", "main", committer="ada")
    merge = last(lake)
    assert status(lake, pull) == "merged"
    lake.operations.undo("sea", merge.id)
    assert status(lake, pull) == "open"
    undo = last(lake)
    other = propose(lake, "dev")
    lake.operations.undo("sea", undo.id)
    assert [status(lake, each) for each in (pull, other)] == ["merged", "merged"]


def test_undo_of_a_merge_needs_the_rights_of_both_changes(lake, pull):
    lake.pulls.merge("sea", pull, committer="ada")
    merge = last(lake)
    for action in ("pr:WritePullRequest", "fs:RevertBranch", "pr:ReadPullRequest"):
        with pytest.raises(Denied):
            lake.operations.undo("sea", merge.id, actor=without((action, "*")))
    assert status(lake, pull) == "merged"
    lake.protection.replace("sea", ["main"], approvals={"main": 1})
    with pytest.raises(ProtectedBranch):
        lake.operations.undo("sea", merge.id)
    assert status(lake, pull) == "merged"


def test_a_merge_into_a_branch_that_asks_for_approvals_is_not_made_again_by_undo(lake, pull):
    lake.pulls.merge("sea", pull, committer="ada")
    lake.operations.undo("sea", last(lake).id)
    undo = last(lake)
    lake.protection.replace("sea", ["main"], approvals={"main": 1})
    with pytest.raises(ProtectedBranch):
        lake.operations.undo("sea", undo.id)
    assert status(lake, pull) == "open"


def test_each_change_of_a_pull_request_is_taken_back_alone(lake, pull):
    lake.pulls.update("sea", pull, title="other")
    titled = last(lake)
    lake.pulls.update("sea", pull, description="x" * 60_000)
    described = last(lake)
    lake.pulls.update("sea", pull, status="closed")
    closed = last(lake)
    assert len(titled.settings[0].after) < 200  # the log has a description once
    lake.operations.undo("sea", titled.id)
    lake.operations.undo("sea", closed.id)
    lake.operations.undo("sea", described.id)
    found = lake.pulls.get("sea", pull)
    assert (found.title, found.description, found.status) == ("t", "long", "open")


def test_what_has_changed_again_is_in_the_way(lake, pull):
    created = last(lake)
    lake.pulls.update("sea", pull, title="other")
    titled = last(lake)
    lake.pulls.update("sea", pull, title="third", status="closed")
    for operation in (created, titled):
        with pytest.raises(Conflict, match="cannot be undone"):
            lake.operations.undo("sea", operation.id)
    lake.operations.undo("sea", last(lake).id)
    found = lake.pulls.get("sea", pull)
    assert (found.title, found.status) == ("other", "open")


def test_reviews_are_not_in_the_log_and_stay(lake, pull):
    lake.pulls.update("sea", pull, title="other")
    titled = last(lake)
    lake.reviews.create("sea", pull, "approved", author="jane")
    lake.reviews.comment("sea", pull, "well", author="jane")
    assert last(lake) == titled
    lake.operations.undo("sea", titled.id)
    found = lake.pulls.get("sea", pull)
    assert (found.title, list(found.approvals)) == ("t", ["jane"])


def test_reviewers_return_to_an_open_pull_request_alone(lake, pull):
    lake.reviewers.change("sea", pull, add=[Reviewer("jane"), Reviewer("sam")])
    lake.reviewers.change("sea", pull, remove=[Reviewer("sam")])
    removed = last(lake)
    lake.pulls.update("sea", pull, status="closed")
    with pytest.raises(Conflict, match="is closed now"):
        lake.operations.undo("sea", removed.id)
    lake.pulls.update("sea", pull, status="open")
    lake.operations.undo("sea", removed.id)
    assert [each.name for each in lake.pulls.get("sea", pull).reviewers] == ["jane", "sam"]


class Names:
    """The names that can be asked for a review."""

    def __init__(self, *names):
        self.names = names

    def require(self, _repository, reviewer):
        if reviewer.name not in self.names:
            raise Invalid("no such reviewer", kind="unknown_reviewer", hint="Ask another one.")

    def members_among(self, _group, _usernames):
        return ()


def test_reviewers_who_return_are_notified_once_and_only_if_the_undo_is_made(lake, pull):
    lake.reviewers.change("sea", pull, add=[Reviewer("jane"), Reviewer("sam")])
    lake.reviewers.change("sea", pull, remove=[Reviewer("sam")])
    removed = last(lake)
    lake.pulls.update("sea", pull, title="other")
    titled = last(lake)
    event = NotificationEvent.REVIEW_REQUESTED
    lake.notifications.add("sea", "https://chat.example/x", events=[event])

    def notified():
        queued = [each.queued.notification.occurrence for each in lake.core.outbox.waiting()]
        return [(each.event, each.user, each.reviewers) for each in queued]

    with acting_as(Caller("ada")):
        lake.operations.undo("sea", titled.id)
        with pytest.raises(Invalid):
            lake.operations.undo("sea", removed.id, names=Names("jane"))
        assert notified() == []
        lake.operations.undo("sea", removed.id, names=Names("jane", "sam"))
        assert notified() == [(event, "ada", ("sam",))]
        with pytest.raises(Conflict, match="undone already"):
            lake.operations.undo("sea", removed.id)
        lake.operations.undo("sea", last(lake).id)  # withdrawn without a notification
        assert [each.name for each in lake.pulls.get("sea", pull).reviewers] == ["jane"]
    assert notified() == [(event, "ada", ("sam",))]


def test_who_may_not_read_pull_requests_does_not_see_their_operations(lake, pull):
    operation = last(lake)
    hidden = without(("pr:ReadPullRequest", "*"))
    shown = lake.operations.list("sea", amount=9, actor=hidden).items
    assert operation.id not in [each.id for each in shown]
    with pytest.raises(Denied):
        lake.operations.undo("sea", operation.id, actor=hidden)
    with pytest.raises(Denied):
        lake.operations.undo("sea", operation.id, actor=without(("pr:WritePullRequest", "*")))
    assert status(lake, pull) == "open"


def test_undo_without_an_id_takes_back_one_s_own_pull_request(lake, pull):
    with acting_as(Caller("jane")):
        lake.pulls.update("sea", pull, title="other")
    with acting_as(Caller("sam")):
        lake.pulls.update("sea", pull, description="other")
    with acting_as(Caller("jane")):
        lake.operations.undo("sea")
    found = lake.pulls.get("sea", pull)
    assert (found.title, found.description) == ("t", "other")


def test_of_undos_of_a_merge_at_once_one_is_made(lake, pull):
    lake.pulls.merge("sea", pull, committer="ada")
    merge = last(lake)
    results = []
    start = threading.Barrier(4)

    def undo():
        start.wait()
        try:
            lake.operations.undo("sea", merge.id)
            results.append("undone")
        except Conflict as error:
            results.append(error.kind)

    threads = [threading.Thread(target=undo) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["operation_undone"] * 3 + ["undone"]
    assert status(lake, pull) == "open"


def test_odd_titles_are_in_the_log_as_they_are(lake, pull):
    title = "\u202ex\x00\U0001f40be\u0301"
    lake.pulls.update("sea", pull, title=title)
    lake.pulls.update("sea", pull, title="plain")
    lake.operations.undo("sea", last(lake).id)
    assert lake.pulls.get("sea", pull).title == title
    with pytest.raises(Invalid):
        lake.pulls.update("sea", pull, title="\udcff")


def test_an_address_that_was_added_is_removed_and_its_secret_is_not_in_the_log(lake):
    first = lake.notifications.add("sea", SECRET, events=[NotificationEvent.REVIEWED])
    second = lake.notifications.add("sea", "https://chat.example/x")
    added = lake.operations.list("sea", amount=2).items[1]
    raw = b"".join(row for _, row in lake.keyvalue.scan(log_partition(lake)))
    assert b"s3cret" not in raw
    assert b"cedfca83" not in raw
    lake.operations.undo("sea", added.id)
    assert [each.id for each in lake.notifications.list("sea")] == [second.id]
    removed = last(lake)
    with pytest.raises(Conflict) as caught:
        lake.operations.undo("sea", removed.id)
    assert caught.value.kind == "not_undoable"
    with pytest.raises(Conflict, match="undone already"):
        lake.operations.undo("sea", added.id)
    assert first.id not in {each.id for each in lake.notifications.list("sea")}


def test_addresses_are_read_and_removed_by_those_who_may_change_the_repository(lake):
    lake.notifications.add("sea", SECRET)
    added = last(lake)
    assert kinds(added) == ["notifications"]
    limited = without(("fs:UpdateRepository", "*"))
    assert added.id not in [
        each.id for each in lake.operations.list("sea", amount=9, actor=limited).items
    ]
    with pytest.raises(Denied):
        lake.operations.undo("sea", added.id, actor=limited)
    lake.notifications.delete("sea", lake.notifications.list("sea")[0].id)
    with pytest.raises(Conflict, match="deleted since"):
        lake.operations.undo("sea", added.id)


def test_settings_of_a_read_only_repository_are_undone_where_they_can_be_set(lake):
    lake.repositories.create("land", "local://land", read_only=True)
    lake.operations.set_undo_days("land", 7)
    lake.operations.undo("land")
    assert lake.operations.undo_days("land") == 30
    lake.repositories.set_metadata("land", {"a": "b"})
    lake.operations.undo("land")
    assert lake.repositories.metadata("land") == {}


def log_partition(lake):
    repository = lake.core.repositories.get("sea")
    return f"anabranch-operations:{repository.partition}"


def test_what_is_given_up_has_no_texts_of_pull_requests_any_more(lake, pull):
    lake.pulls.update("sea", pull, title="s3cret title", description="s3cret description")
    lake.pulls.update("sea", pull, title="t", description="d")
    partition = log_partition(lake)

    def stored():
        found = [
            msgspec.json.decode(raw) for key, raw in lake.keyvalue.scan(partition, b"log/", b"log0")
        ]
        texts = [each.get("settings", []) for each in found]
        return b"".join(
            b64decode(one[side])
            for each in texts
            for one in each
            for side in ("before", "after")
            if one.get(side)
        )

    assert b"s3cret" in stored()
    for operation in lake.operations.list("sea", amount=2).items:
        lake.operations.give_up("sea", operation.id)
        with pytest.raises(Conflict, match="given up"):
            lake.operations.undo("sea", operation.id)
    assert b"s3cret" not in stored()
    assert lake.pulls.get("sea", pull).description == "d"
