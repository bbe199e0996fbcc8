"""A merge of a table needs the rights to the table, also after it was renamed."""

from __future__ import annotations

import pytest

from tests.iceberg.conftest import ids, trips
from tests.server.access.conftest import allow, deny

OBJECT = "arn:lakefs:fs:::repository/{}/object/{}"


@pytest.fixture
def lake(lake_of_team):
    """A lake whose branches main and dev have both appended to a table, which was renamed."""
    lake = lake_of_team
    main = lake.catalog()
    main.create_table("city.trips", trips(1).schema).append(trips(1))
    main.rename_table("city.trips", "city.rides")
    lake.branch("dev").load_table("city.rides").append(trips(2))
    main.load_table("city.rides").append(trips(3))
    return lake


@pytest.mark.parametrize(
    ("action", "path", "reason"),
    [
        ("fs:ReadObject", "_tables/city/rides/table.json", ""),  # nor be told of it
        ("fs:ReadObject", "_tables/city/trips/*", "another object, which you may not read"),
        ("fs:WriteObject", "_tables/city/trips/*", "you may not write to the table"),
        ("fs:WriteObject", "_tables/city/rides/table.json", "you may not write the object"),
    ],
)
def test_a_merge_lends_no_rights(team, lake, action, path, reason):
    member = team.member(allow("fs:*"), deny(action, on=OBJECT.format(lake.name, path)))
    merge = f"{lake.root}/refs/dev/merge/main"
    refused = member.api.post(merge, json={})
    assert refused.status_code == 409
    conflicts = refused.json()["conflicts"]
    assert [reason in each["reason"] for each in conflicts] == ([True] if reason else [])
    assert ids(lake.catalog().load_table("city.rides")) == [1, 3]


def test_a_merge_is_made_by_who_may_read_and_write_the_table(team, lake):
    member = team.member(allow("fs:*"))
    assert member.api.post(f"{lake.root}/refs/dev/merge/main", json={}).status_code == 200
    assert ids(lake.catalog().load_table("city.rides")) == [1, 2, 3]
