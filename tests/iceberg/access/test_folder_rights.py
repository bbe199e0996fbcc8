"""Who reads tables of the catalog by the paths of their records, in each way."""

from __future__ import annotations

import pytest

from tests.iceberg.conftest import trips
from tests.server.access.conftest import allow, deny

ORDERS, SECRET = (f"_tables/city/{name}/table.json" for name in ("orders", "secret"))


@pytest.fixture
def lake(lake_of_team):
    """A lake with two tables."""
    for name in ("city.orders", "city.secret"):
        lake_of_team.catalog().create_table(name, trips().schema).append(trips(1))
    return lake_of_team


@pytest.fixture
def reader(lake, team):
    """Returns a function that makes a user who may list, and read these paths."""

    def make(*paths):
        readable = [f"arn:lakefs:fs:::repository/{lake.name}/object/{path}" for path in paths]
        everything = f"arn:lakefs:fs:::repository/{lake.name}"
        listing = allow("fs:ListObjects", "fs:ListCommits", on=everything)
        return team.member(listing, allow("fs:ReadObject", on=readable)).api

    return make


def answers(lake, api, path):
    """Returns the status of each way to read a table."""
    place = f"{lake.root}/refs/main"
    sql = f"SELECT id FROM iceberg_table('lakefs://{lake.name}/main/{path}')"
    return {
        api.get(f"{place}/tables/preview", params={"path": path}).status_code,
        api.post(f"{place}/query", json={"sql": sql, "tables": {}}).status_code,
        api.get(f"{place}/diff/main/rows", params={"path": path}).status_code,
    }


def test_the_right_to_a_record_is_that_to_the_files(lake, reader):
    api = reader("_tables/city/orders/*")
    assert answers(lake, api, ORDERS) == {200}
    assert answers(lake, api, SECRET) == {401}
    listed = api.get(f"{lake.root}/refs/main/tables").json()["results"]
    assert [each["path"] for each in listed] == [ORDERS]


def test_what_denies_the_table_denies_its_folder_too(lake, team):
    table = f"arn:lakefs:catalog:::table/{lake.name}/city/secret"
    api = team.member(allow("fs:*"), deny("catalog:ReadTable", on=table)).api
    assert answers(lake, api, ORDERS) == {200}
    assert answers(lake, api, SECRET) == {401}
    listed = api.get(f"{lake.root}/refs/main/tables").json()["results"]
    assert [each["path"] for each in listed] == [ORDERS]


def test_a_renamed_table_needs_the_rights_to_both_paths(lake, reader):
    lake.catalog().rename_table("city.secret", "city.open")
    renamed = "_tables/city/open/table.json"
    assert answers(lake, reader("_tables/city/open/*"), renamed) == {401}
    assert answers(lake, reader("_tables/city/open/*", SECRET), renamed) == {200}


def test_a_record_that_names_the_area_of_another_table_gives_nothing(lake, reader):
    record = lake.api.get(f"{lake.root}/refs/main/objects", params={"path": SECRET}).content
    place = f"{lake.root}/branches/main/objects"
    lake.api.post(place, params={"path": ORDERS}, content=record).raise_for_status()
    lake.api.post(f"{lake.root}/branches/main/commits", json={"message": "forged"})
    assert answers(lake, reader("_tables/city/orders/*"), ORDERS) == {401}


def test_who_may_not_list_reads_no_table(lake, team):
    api = team.member(allow("fs:ReadObject")).api
    place = f"{lake.root}/refs/main/tables"
    assert api.get(f"{place}/preview", params={"path": ORDERS}).status_code == 401
    assert api.get(place).status_code == 401
