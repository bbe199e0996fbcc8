"""Whom a pull request may ask for a review, and for whom it waits, by users and groups."""

from __future__ import annotations

import pytest

from tests.server.access.conftest import allow


@pytest.fixture
def repository(team):
    """A repository with a branch `fix` that is one commit ahead of `main`."""
    name = team.repository("a")
    root = f"/repositories/{name}"
    team.admin.api.post(f"{root}/branches", json={"name": "fix", "source": "main"})
    team.upload(name, "fix", "b")
    team.admin.api.post(f"{root}/branches/fix/commits", json={"message": "b"})
    return name


def propose(member, repository, *reviewers):
    body = {"title": "t", "source_branch": "fix", "destination_branch": "main"}
    body["reviewers"] = list(reviewers)
    return member.api.post(f"/repositories/{repository}/pulls", json=body)


def change(member, repository, pull, **body):
    return member.api.patch(f"/repositories/{repository}/pulls/{pull}/reviewers", json=body)


def listed(member, repository):
    pulls = member.api.get(f"/repositories/{repository}/pulls?waits_for_me=true")
    return [item["id"] for item in pulls.json()["results"]]


def kind(response):
    return response.status_code, response.headers["x-anabranch-kind"]


def named(name, kind="user"):
    return {"name": name, "kind": kind}


def group_of(team, name, *members):
    assert team.admin.api.post("/auth/groups", json={"id": name}).is_success
    for member in members:
        assert team.admin.api.put(f"/auth/groups/{name}/members/{member.name}").is_success


def test_users_and_groups_are_asked_and_their_answers_shown(team, repository):
    author, bob, cleo = (team.member(groups=("Developers",)) for _ in range(3))
    group_of(team, "curators", cleo, author)
    pull = propose(author, repository, named(bob.name), named("curators", "group")).json()["id"]
    assert listed(bob, repository) == listed(cleo, repository) == [pull]
    assert listed(author, repository) == listed(team.admin, repository) == []
    path = f"/repositories/{repository}/pulls/{pull}"
    for member, state in ((bob, "changes_requested"), (cleo, "approved")):
        assert member.api.post(f"{path}/reviews", json={"state": state}).status_code == 201
    assert listed(bob, repository) == listed(cleo, repository) == []
    asked = [
        {"name": "curators", "kind": "group", "state": "approved"},
        {"name": bob.name, "kind": "user", "state": "changes_requested"},
    ]
    assert author.api.get(path).json()["reviewers"] == asked
    (row,) = author.api.get(f"/repositories/{repository}/pulls").json()["results"]
    assert row["reviewers"] == asked
    removed = change(author, repository, pull, remove=[named(bob.name)])
    assert removed.json() == {"reviewers": asked[:1]}
    assert kind(change(author, repository, pull, remove=[named(bob.name)])) == (
        404,
        "reviewer_not_asked",
    )
    change(author, repository, pull, remove=[named("curators", "group")])
    assert "reviewers" not in author.api.get(path).json()


def test_names_that_cannot_review_are_refused(team, repository):
    author = team.member(groups=("Developers",))
    reader, stranger = team.member(groups=("Viewers",)), team.member()
    group_of(team, "strangers", stranger)
    group_of(team, "empty")
    pull = propose(author, repository).json()["id"]
    refused = {
        "unknown_reviewer": (
            named("nobody"),
            named("Viewers"),
            named(reader.name, "group"),
            named(f"{reader.name} "),
            named("a/b%c"),
        ),
        "reviewer_cannot_read": (
            named(stranger.name),
            named("strangers", "group"),
            named("empty", "group"),
        ),
        "author_as_reviewer": (named(author.name),),
    }
    for reason, names in refused.items():
        for name in names:
            response = change(author, repository, pull, add=[named(reader.name), name])
            assert kind(response) == (400, reason)
            assert kind(propose(author, repository, name)) == (400, reason)
    assert (
        repr(stranger.name)
        in change(author, repository, pull, add=[named(stranger.name)]).json()["message"]
    )
    pulls = author.api.get(f"/repositories/{repository}/pulls").json()["results"]
    assert [(item["id"], "reviewers" in item) for item in pulls] == [(pull, False)]
    assert change(author, repository, pull, add=[named(reader.name)]).is_success
    assert team.admin.api.patch(f"/auth/users/{reader.name}", json={"active": False}).is_success
    pull = propose(author, repository).json()["id"]
    response = change(author, repository, pull, add=[named(reader.name)])
    assert kind(response) == (400, "reviewer_cannot_read")


def test_request_grants_nothing_and_needs_the_permission_to_write(team, repository):
    author, reader = team.member(groups=("Developers",)), team.member(groups=("Viewers",))
    pull = propose(author, repository, named(reader.name)).json()["id"]
    path = f"/repositories/{repository}/pulls/{pull}"
    assert listed(reader, repository) == [pull]
    assert reader.api.post(f"{path}/reviews", json={"state": "approved"}).status_code == 401
    for body in ({"add": [named("nobody")]}, {"remove": [named(reader.name)]}):
        response = change(reader, repository, pull, **body)
        assert response.status_code == 401
        assert "nobody" not in response.text
    stranger = team.member(allow("pr:*", on="arn:lakefs:fs:::repository/other"))
    assert change(stranger, repository, pull, add=[named("nobody")]).status_code == 401
    pulls = stranger.api.get(f"/repositories/{repository}/pulls?waits_for_me=true")
    assert pulls.status_code == 401


def test_request_with_an_idempotency_key_is_answered_again(team, repository):
    author, reader = team.member(groups=("Developers",)), team.member(groups=("Viewers",))
    pull = propose(author, repository).json()["id"]
    answers = [
        author.api.patch(
            f"/repositories/{repository}/pulls/{pull}/reviewers",
            json={"add": [named(reader.name)]},
            headers={"Idempotency-Key": "one"},
        )
        for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["reviewers"] == [
        {"name": reader.name, "kind": "user", "state": "waiting"}
    ]


def test_reviewers_who_may_not_read_any_more_do_not_return_by_undo(team, repository):
    author, bob, cleo = (team.member(groups=("Developers",)) for _ in range(3))
    pull = propose(author, repository, named(bob.name), named(cleo.name)).json()["id"]
    change(author, repository, pull, remove=[named(cleo.name)])
    change(author, repository, pull, remove=[named(bob.name)])
    assert team.admin.api.delete(f"/auth/groups/Developers/members/{cleo.name}").is_success
    place = f"/repositories/{repository}"
    taken_bob, taken_cleo = (
        each["id"] for each in author.api.get(f"{place}/operations?amount=2").json()["results"]
    )
    refused = author.api.post(f"{place}/undo", json={"operation": taken_cleo})
    assert kind(refused) == (400, "reviewer_cannot_read")
    undone = author.api.post(f"{place}/undo", json={"operation": taken_bob})
    (shown,) = undone.json()["settings"]
    assert (shown["kind"], shown["name"], shown["after"]["reviewers"]) == ("pull_request", pull, [])
    assert listed(bob, repository) == [pull]
    # whoever has no right to it any more takes nothing back
    assert team.admin.api.delete(f"/auth/groups/Developers/members/{author.name}").is_success
    refused = author.api.post(f"{place}/undo", json={})
    assert refused.status_code == 401
    assert listed(bob, repository) == [pull]
