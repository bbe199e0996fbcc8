"""What is sent to the addresses of a repository, when, and what of it is logged."""

from __future__ import annotations

import logging

import pytest
from support.eventually import eventually

from anabranch.catalog.notifications.sender import DEFAULT_RETRIES, Sender
from anabranch.errors import PreconditionFailed
from anabranch.model.notifications import BodyFormat, NotificationEvent
from anabranch.model.pull_request import Reviewer, ReviewerKind

from .conftest import SECRET, outbox

GATE = (
    b"on: {pre-commit: }\nhooks:\n- {id: never, type: check, properties: {commit_metadata: [x]}}\n"
)


def propose(lake, **fields):
    fields = {"title": "t", "author": "ada"} | fields
    return lake.pulls.create("sea", source="work", destination="main", **fields)


def everything(lake):
    """Makes one of each event; returns the pull request."""
    pull = propose(lake, reviewers=[Reviewer("bob")])
    lake.reviewers.change("sea", pull.id, add=[Reviewer("bob"), Reviewer("c", ReviewerKind.GROUP)])
    lake.reviews.comment("sea", pull.id, "why?", author="bob")
    lake.reviews.comment("sea", pull.id, "hidden", path="secret/a", line=1, author="bob")
    lake.reviews.create("sea", pull.id, "approved", text="good", author="bob")
    lake.objects.upload("sea", "work", "_lakefs_actions/a.yaml", [GATE])
    with pytest.raises(PreconditionFailed):
        lake.commits.commit("sea", "work", message="m", committer="ada")
    lake.pulls.merge("sea", pull.id, committer="ada")
    return pull


def test_all_events_are_sent_with_their_fields(lake, receiver, deliver):
    lake.notifications.add("sea", receiver.url)
    pull = everything(lake)
    deliver()
    assert outbox(lake) == []
    bodies = sorted(receiver.bodies, key=lambda body: body["id"])
    about = {
        "id": pull.id,
        "title": "t",
        "author": "ada",
        "source_branch": "work",
        "destination_branch": "main",
    }
    assert [body.pop("pull_request", None) == about for body in bodies] == [
        *[True] * 6,
        False,
        True,
    ]
    head = lake.branches.get("sea", "work").commit_id
    for body in bodies:
        assert len(body.pop("id")) == 20
        assert body.pop("time").startswith("2023-11-14T")
        assert body.pop("repository") == "sea"
    failed = bodies.pop(6)
    assert len(failed.pop("run_id")) == 20
    assert failed == {
        "event": "hook_failed",
        "hook_event": "pre-commit",
        "branch": "work",
        "hooks": ["a.yaml/never"],
    }
    assert bodies == [
        {"event": "pull_request_opened", "user": "ada"},
        {"event": "review_requested", "user": "ada", "reviewers": ["bob"]},
        {"event": "review_requested", "reviewers": ["c"]},
        {"event": "commented", "user": "bob", "text": "why?"},
        {"event": "commented", "user": "bob", "is_on_object": True},
        {
            "event": "reviewed",
            "user": "bob",
            "state": "approved",
            "commit_id": head,
            "text": "good",
        },
        {
            "event": "pull_request_merged",
            "commit_id": lake.pulls.get("sea", pull.id).merged_commit_id,
        },
    ]
    assert "secret/a" not in str(receiver.requests)


def test_only_chosen_events_are_sent_in_the_chosen_form(lake, receiver, deliver):
    events = [NotificationEvent.COMMENTED, NotificationEvent.REVIEWED]
    lake.notifications.add("sea", receiver.url, format=BodyFormat.SLACK, events=events)
    lake.repositories.create("lake", "local://lake")
    pull = propose(lake, title="<!channel> & co")
    lake.reviews.comment("sea", pull.id, "<https://evil|click>", author="bob")
    lake.reviews.comment("sea", pull.id, "x", path="a", author="bob")
    lake.reviews.create("sea", pull.id, "changes_requested", text="y" * 3000, author="bob")
    deliver()
    subject = f"the pull request “&lt;!channel&gt; &amp; co” ({pull.id}) in sea"
    assert sorted(body.pop("text") for body in receiver.bodies) == [
        f"bob asked for changes of {subject}: {'y' * 2000}…",
        f"bob commented on an object of {subject}",
        f"bob commented on {subject}: &lt;https://evil|click&gt;",
    ]
    assert receiver.bodies == [{}, {}, {}]


def test_sentences_of_all_events(lake, receiver, deliver):
    lake.notifications.add("sea", receiver.url, format=BodyFormat.SLACK)
    pull = everything(lake)
    deliver()
    subject = f"“t” ({pull.id}) in sea"
    sentences = {body["text"] for body in receiver.bodies}
    assert f"ada opened the pull request {subject}: work into main" in sentences
    assert f"ada asks bob to review the pull request {subject}" in sentences
    assert f"Somebody merged the pull request {subject}" in sentences
    (failed,) = (text for text in sentences if text.startswith("Hooks"))
    assert failed.startswith("Hooks of pre-commit on work in sea failed: a.yaml/never (run ")


def test_failed_notification_is_sent_again_with_its_id(lake, receiver, deliver, clock):
    lake.notifications.add("sea", receiver.url)
    receiver.status = 503
    propose(lake)
    deliver()
    deliver()
    assert len(receiver.requests) == 1, "not before its time"
    clock.advance(DEFAULT_RETRIES.pause(1))
    receiver.status = 200
    deliver()
    assert outbox(lake) == []
    (first, second) = receiver.requests
    assert first[2] == second[2]
    headers = {request[1]["X-Anabranch-Delivery"] for request in receiver.requests}
    assert headers == {first[2]["id"]}
    assert first[1]["X-Anabranch-Event"] == "pull_request_opened"


def test_notification_is_given_up_and_no_log_has_the_address(
    lake, receiver, deliver, clock, caplog
):
    caplog.set_level(logging.DEBUG)
    target = lake.notifications.add("sea", receiver.url)
    receiver.status = 500
    propose(lake)
    for attempt in range(1, DEFAULT_RETRIES.attempts + 1):
        deliver()
        assert len(receiver.requests) == attempt
        clock.advance(DEFAULT_RETRIES.pause(attempt))
    assert outbox(lake) == []
    assert f"of sea to {target.id} failed: status 500; it is not sent again" in caplog.text
    assert "cedfca83" not in caplog.text + repr(target)


def test_addresses_that_the_guard_refuses_are_not_reached(lake, receiver, caplog):
    lake.notifications.add("sea", receiver.url)
    propose(lake)
    sender = Sender(lake.core, [])
    sender.send_waiting()
    eventually(lambda: "address_denied" in caplog.text)
    sender.stop()
    assert receiver.requests == []
    assert "cedfca83" not in caplog.text


def test_removed_address_and_repository_get_nothing(lake, receiver, deliver):
    target = lake.notifications.add("sea", receiver.url)
    propose(lake)
    lake.notifications.delete("sea", target.id)
    deliver()
    lake.notifications.add("sea", receiver.url)
    propose(lake)
    lake.repositories.delete("sea")
    lake.repositories.create("sea", "local://again")
    deliver()
    assert (receiver.requests, outbox(lake)) == ([], [])


def test_slow_address_delays_no_request(lake, receiver, sender):
    lake.notifications.add("sea", receiver.url)
    pull = propose(lake)
    receiver.server.shutdown()  # connections are accepted, and never answered
    sender.send_waiting()
    lake.reviews.comment("sea", pull.id, "at once", author="bob")
    lake.pulls.merge("sea", pull.id, committer="ada")
    assert len(outbox(lake)) == 3
    receiver.server.server_close()


def test_two_senders_send_each_notification_once(lake, receiver, sender):
    lake.notifications.add("sea", receiver.url)
    for _ in range(10):
        propose(lake)
    other = Sender(lake.core, ["127.0.0.1"])

    def sent():
        sender.send_waiting()
        other.send_waiting()
        return not outbox(lake)

    eventually(sent)
    other.stop()
    assert len({body["id"] for body in receiver.bodies}) == len(receiver.bodies) == 10


def test_claim_of_a_server_that_has_died_ends(lake, receiver, deliver, clock):
    lake.notifications.add("sea", receiver.url)
    propose(lake)
    (waiting,) = lake.core.outbox.waiting()
    assert lake.core.outbox.claim(waiting, 60) is not None
    assert lake.core.outbox.claim(waiting, 60) is None
    deliver()
    assert receiver.requests == []
    clock.advance(60)
    deliver()
    assert len(receiver.requests) == 1


def test_started_sender_sends_by_itself(lake, receiver):
    lake.notifications.add("sea", receiver.url)
    sender = Sender(lake.core, ["127.0.0.1"])
    sender.start()
    propose(lake)
    eventually(lambda: receiver.requests)
    sender.stop()
    assert receiver.requests[0][0] == f"/{SECRET}?token={SECRET}"
