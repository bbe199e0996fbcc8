"""Comments on objects, which only those see who may read the objects."""

from __future__ import annotations

import pytest

from tests.server.access.conftest import allow, deny

SECRET = "secret/salaries.csv"


@pytest.fixture
def pull(team):
    """The path of a pull request that changes two objects."""
    name = team.repository("open.csv")
    root = f"/repositories/{name}"
    team.admin.api.post(f"{root}/branches", json={"name": "fix", "source": "main"})
    team.upload(name, "fix", "b.csv", SECRET)
    team.admin.api.post(f"{root}/branches/fix/commits", json={"message": "b"})
    body = {"title": "t", "source_branch": "fix", "destination_branch": "main"}
    return f"{root}/pulls/{team.admin.api.post(f'{root}/pulls', json=body).json()['id']}"


@pytest.fixture
def outsider(team, pull):
    """A user who may do everything but read what is secret."""
    repository = pull.split("/")[2]
    secret = f"arn:lakefs:fs:::repository/{repository}/object/secret/*"
    return team.member(allow("*"), deny("fs:ReadObject", on=secret))


def comment(member, pull, **fields):
    return member.api.post(f"{pull}/comments", json={"text": "why?", **fields})


def places(member, pull, **params):
    page = member.api.get(f"{pull}/comments", params=params).json()
    return [(item.get("path"), item.get("place")) for item in page["results"]], page


def test_comments_on_unreadable_objects_are_not_shown(team, pull, outsider):
    head = team.admin.api.get(f"{pull.rsplit('/', 2)[0]}/branches/fix").json()["commit_id"]
    assert comment(team.admin, pull).status_code == 201
    assert comment(team.admin, pull, path=SECRET, row={"name": "ada"}).status_code == 201
    assert comment(team.admin, pull, path=SECRET, line=2).status_code == 201
    assert comment(team.admin, pull, path=SECRET).status_code == 201
    assert comment(outsider, pull, path="b.csv", line=1).status_code == 201
    public = [(None, None), ("b.csv", {"side": "after", "commit_id": head, "line": 1})]
    seen, page = places(outsider, pull)
    assert seen == public
    assert "'ada'" not in str(page)
    assert page["pagination"]["results"] == 2
    assert len(places(team.admin, pull)[0]) == 5
    seen, page = places(outsider, pull, amount=2)
    while page["pagination"]["has_more"]:
        more, page = places(outsider, pull, amount=2, after=page["pagination"]["next_offset"])
        seen += more
    assert seen == public


def test_comment_on_an_unreadable_object_is_refused_and_says_nothing(team, pull, outsider):
    for path in (SECRET, "secret/absent"):
        for place in ({}, {"line": 1}, {"row": {"a": 1}}, {"line": 1, "commit_id": "x"}):
            assert comment(outsider, pull, path=path, **place).status_code == 401
    viewer = team.member(groups=("Viewers",))
    assert comment(viewer, pull, path="b.csv", line=1).status_code == 401
    assert places(team.admin, pull)[0] == []


@pytest.mark.parametrize(
    "fields",
    [
        {"line": 0, "path": "b.csv"},
        {"line": "1", "path": "b.csv"},
        {"line": 1},
        {"row": {"a": 1}},
        {"row": [], "path": "b.csv"},
        {"row": {}, "path": "b.csv"},
        {"row": {"a": "x" * 5000}, "path": "b.csv"},
        {"line": 1, "row": {"a": 1}, "path": "b.csv"},
        {"line": 1, "path": "b.csv", "side": "left"},
        {"line": 1, "path": "b.csv", "side": "before"},
    ],
)
def test_impossible_places_are_refused(team, pull, fields):
    assert comment(team.admin, pull, **fields).status_code == 400
    assert places(team.admin, pull)[0] == []


def test_rows_are_returned_as_they_were_given(team, pull):
    row = {"id": 2**60, "name": "<script>", "day": None, "ok": True, "x": 0.5}
    assert comment(team.admin, pull, path="b.csv", row=row).json()["place"]["row"] == row
    assert places(team.admin, pull)[0][0][1]["row"] == row
