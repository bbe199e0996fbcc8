"""Who may list the rows in conflict of a table, and choose for them."""

from __future__ import annotations

import pytest

from tests.server.access.conftest import allow, deny

OBJECT = "arn:lakefs:fs:::repository/{}/object/{}"
SECRET = "4711"


@pytest.fixture
def lake(team):
    """A repository whose branches main and dev both changed a row of `open/a.csv`."""
    lake = team.repository()
    place, api = f"/repositories/{lake}", team.admin.api

    def commit(branch, value):
        at = f"{place}/branches/{branch}/objects"
        content = f"id,v\n1,{value}\n"
        assert api.post(at, params={"path": "open/a.csv"}, content=content).status_code == 201
        made = api.post(f"{place}/branches/{branch}/commits", json={"message": "m"})
        assert made.status_code == 201

    commit("main", 1)
    body = {"name": "dev", "source": "main"}
    assert api.post(f"{place}/branches", json=body).status_code == 201
    commit("dev", SECRET)
    commit("main", 3)
    return lake


def listed(member, lake):
    place = f"/repositories/{lake}/refs/dev/merge/main/conflicts/rows"
    return member.api.get(place, params={"path": "open/a.csv"})


@pytest.mark.parametrize(
    ("statements", "status"),
    [
        ([allow("fs:ReadObject", on=OBJECT.format("{}", "open/*"))], 200),
        ([allow("fs:ReadObject", on=OBJECT.format("{}", "other/*"))], 401),
        ([allow("fs:ListObjects"), allow("fs:ReadRepository")], 401),
        ([allow("fs:*"), deny("fs:ReadObject", on=OBJECT.format("{}", "open/*"))], 401),
    ],
)
def test_rows_are_listed_for_those_who_may_read_the_object(team, lake, statements, status):
    named = [each | {"resource": each["resource"].format(lake)} for each in statements]
    found = listed(team.member(*named), lake)
    assert found.status_code == status, found.text
    assert (SECRET in found.text) == (status == 200)


@pytest.mark.parametrize(
    ("refused", "status", "said"),
    [
        ("fs:ReadObject", 401, ""),
        ("fs:WriteObject", 409, "you may not write the object"),
        ("fs:CreateCommit", 401, ""),
        ("", 200, ""),
    ],
)
def test_choices_need_the_rights_of_the_strategy(team, lake, refused, status, said):
    page = listed(team.admin, lake).json()
    member = team.member(
        allow("fs:*"),
        *([deny(refused, on=f"arn:lakefs:fs:::repository/{lake}*")] if refused else []),
    )
    choices = [{"key": row["key"], "take": "base"} for row in page["results"]]
    chosen = {"path": "open/a.csv", "strategy": "rows", "versions": page["versions"]}
    body = {"resolutions": [{**chosen, "choices": choices}]}
    place = f"/repositories/{lake}/refs/dev/merge/main"
    answered = member.api.post(place, json=body)
    assert answered.status_code == status, answered.text
    assert said in answered.text
    assert (SECRET in answered.text) is False
