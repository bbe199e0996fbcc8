"""Who may compare the rows of a table: whoever may read the object."""

from __future__ import annotations

import pytest

from .conftest import allow, deny

OBJECT = "arn:lakefs:fs:::repository/{}/object/{}"


@pytest.mark.parametrize(
    ("statements", "status"),
    [
        ([allow("fs:ReadObject", on=OBJECT.format("{}", "open/*"))], 200),
        ([allow("fs:ReadObject", on=OBJECT.format("{}", "other/*"))], 401),
        ([allow("fs:ListObjects"), allow("fs:ReadRepository")], 401),
        ([allow("fs:*"), deny("fs:ReadObject", on=OBJECT.format("{}", "open/*"))], 401),
    ],
)
def test_rows_are_compared_for_those_who_may_read_the_object(team, statements, status):
    lake = team.repository("open/a.csv")
    named = [
        statement | {"resource": statement["resource"].format(lake)} for statement in statements
    ]
    member = team.member(*named)
    place = f"/repositories/{lake}/refs/main~1/diff/main/rows"
    found = member.api.get(place, params={"path": "open/a.csv", "type": "two_dot"})
    assert found.status_code == status, found.text
    assert ("results" in found.json()) == (status == 200)
