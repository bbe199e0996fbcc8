"""What merges tell about objects that the caller may not read."""

from __future__ import annotations

import pytest
from support.eventually import eventually

from tests.server.access.conftest import allow, deny

OBJECT = "arn:lakefs:fs:::repository/{}/object/{}"
SECRET = "4711"


@pytest.fixture
def lake(team):
    """A repository whose branches main and dev both changed `open/a.json` and `shut/a.json`."""
    lake = team.repository()
    place, api = f"/repositories/{lake}", team.admin.api

    def commit(branch, content):
        for folder in ("open", "shut"):
            at = f"{place}/branches/{branch}/objects"
            path = {"path": f"{folder}/a.json"}
            assert api.post(at, params=path, content=content).status_code == 201
        made = api.post(f"{place}/branches/{branch}/commits", json={"message": "m"})
        assert made.status_code == 201

    commit("main", '{"x": 1}')
    body = {"name": "dev", "source": "main"}
    assert api.post(f"{place}/branches", json=body).status_code == 201
    commit("dev", f'{{"x": {SECRET}}}')
    commit("main", '{"x": 3}')
    return lake


@pytest.fixture
def member(team, lake):
    """A user who may merge, and read below `open/` only."""
    return team.member(
        allow("fs:*"),
        deny("fs:ReadObject", on=OBJECT.format(lake, "shut/*")),
    )


def merge(member, lake, *resolutions, **body):
    body["resolutions"] = list(resolutions)
    return member.api.post(f"/repositories/{lake}/refs/dev/merge/main", json=body)


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("open/a.json", 409),
        ("open/*", 409),
        ("shut/a.json", 401),
        ("shut/*", 401),
        ("s*", 401),
        ("**", 401),
    ],
)
@pytest.mark.parametrize("strategy", ["json", "webhook"])
def test_strategies_read_only_what_the_caller_may_read(member, lake, path, status, strategy):
    options = {"url": "http://127.0.0.1:9/"} if strategy == "webhook" else {}
    for more in ({}, {"dry_run": True}):
        sent = merge(member, lake, {"path": path, "strategy": strategy, **options}, **more)
        assert sent.status_code == (200 if more and status == 409 else status), sent.text
        assert (SECRET in sent.text) == (status == 409 and strategy == "json")


def test_sides_are_taken_without_reading(member, lake):
    assert merge(member, lake, {"path": "**", "strategy": "base"}).status_code == 200


OPTIONS = {"json": "", "rows": ", format: jsonl, key: [nope]"}


@pytest.fixture(params=OPTIONS)
def rules(team, lake, request):
    """The strategy for `shut/*` of a file of rules on main."""
    api, place = team.admin.api, f"/repositories/{lake}"
    rule = f'{{path: "shut/*", strategy: {request.param}{OPTIONS[request.param]}}}'
    at, params = f"{place}/branches/main/objects", {"path": "_lakefs_merge.yaml"}
    assert api.post(at, params=params, content=f"rules:\n  - {rule}\n").status_code == 201
    body = {"message": "rules"}
    assert api.post(f"{place}/branches/main/commits", json=body).status_code == 201
    return request.param


def test_conflicts_of_what_the_caller_may_not_read_are_left_out(team, member, lake, rules):
    told = merge(team.admin, lake).json()
    assert [each["path"] for each in told["conflicts"]] == ["open/a.json", "shut/a.json"]
    if rules == "json":
        assert told["conflicts"][1]["details"][0]["source"] == int(SECRET)
    else:
        assert told["message"].startswith("conflict found: shut/a.json: the destination has a row")
    left = merge(member, lake)
    assert left.status_code == 409
    assert [each["path"] for each in left.json()["conflicts"]] == ["open/a.json"]
    assert left.json()["message"] == "conflict found"
    assert SECRET not in left.text


@pytest.mark.usefixtures("rules")
def test_asynchronous_merges_tell_no_more(member, lake):
    at = f"/repositories/{lake}/refs/dev/merge/main/async"
    started = member.api.post(at, json={})
    assert started.status_code == 202, started.text
    place = f"{at}/{started.json()['id']}/status"
    eventually(lambda: member.api.get(place).json()["completed"])
    assert member.api.get(place).json()["error"] == {"message": "conflict found"}
