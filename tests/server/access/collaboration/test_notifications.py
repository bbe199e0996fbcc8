"""Who may send a repository's notifications to an address, and who learns of it."""

from __future__ import annotations

import logging

import pytest

from tests.server.access.conftest import allow, deny

SECRET = "cedfca83"
URL = f"https://ada:{SECRET}@chat.example:8443/{SECRET}?{SECRET}"
ALL_NEEDED = ("fs:UpdateRepository", "pr:ReadPullRequest", "ci:ReadAction")


@pytest.fixture
def path(team):
    return f"/repositories/{team.repository('a')}/settings/notifications"


def test_addresses_are_listed_without_their_secrets(team, path, caplog):
    caplog.set_level(logging.DEBUG)
    owner = team.member(*(allow(action) for action in ALL_NEEDED))
    created = owner.api.post(path, json={"url": URL, "format": "slack", "events": ["reviewed"]})
    assert created.status_code == 201
    listed = owner.api.get(path)
    item = {"id": created.json()["id"], "host": "chat.example", "format": "slack"}
    assert listed.json() == {"results": [{**item, "events": ["reviewed"]}]}
    assert SECRET not in created.text + listed.text
    assert owner.api.delete(f"{path}/{item['id']}").status_code == 204
    assert owner.api.delete(f"{path}/{item['id']}").status_code == 404
    assert owner.api.get(path).json() == {"results": []}


def test_others_neither_change_nor_see_them(team, path):
    created = team.admin.api.post(path, json={"url": URL}).json()
    developer = team.member(groups=("Developers",))
    stranger = team.member(allow("fs:UpdateRepository", on="arn:lakefs:fs:::repository/other"))
    for member in (developer, stranger):
        responses = [
            member.api.get(path),
            member.api.post(path, json={"url": URL}),
            member.api.delete(f"{path}/{created['id']}"),
            member.api.delete(f"{path}/absent"),
        ]
        assert {response.status_code for response in responses} == {401}
        assert not any("chat.example" in response.text for response in responses)
    assert len(team.admin.api.get(path).json()["results"]) == 1


@pytest.mark.parametrize("missing", ALL_NEEDED)
def test_address_needs_the_permission_to_read_what_is_sent(team, path, missing):
    member = team.member(allow("*"), deny(missing))
    assert member.api.post(path, json={"url": URL}).status_code == 401
    assert team.admin.api.get(path).json() == {"results": []}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"url": ""},
        {"url": f"ftp://chat.example/{SECRET}"},
        {"url": f"https://chat.example/{SECRET}" + "x" * 2048},
        {"url": [SECRET]},
        {"url": URL, "format": "xml"},
        {"url": URL, "events": ["pushed"]},
        {"url": URL, "secret": SECRET},
    ],
)
def test_invalid_addresses_are_refused_and_not_quoted(team, path, body):
    response = team.admin.api.post(path, json=body)
    assert response.status_code == 400
    assert SECRET not in response.text + str(response.headers)
    assert team.admin.api.get(path).json() == {"results": []}
