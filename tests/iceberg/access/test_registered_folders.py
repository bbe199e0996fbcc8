"""The folder that a table was registered from is listed where its table is not."""

from __future__ import annotations

import pytest
from support.formats.iceberg_tables import FolderCatalog, rows_table

from tests.server.access.conftest import allow

RECORD = "_tables/city/old/table.json"


@pytest.fixture
def lake(lake_of_team):
    """A lake with a table in the folder `raw/old/`, which pyiceberg has written over S3."""
    lake = lake_of_team
    key, secret = lake.server.auth
    properties = {
        "s3.endpoint": lake.url,
        "s3.access-key-id": key,
        "s3.secret-access-key": secret,
        "s3.region": "us-east-1",
    }
    address = f"s3://{lake.name}/main/raw/old"
    catalog = FolderCatalog(address, hadoop=False, properties=properties)
    catalog.create()
    catalog.load().append(rows_table({1: "mon", 2: "tue"}))
    lake.metadata = f"{address}/metadata/{catalog.load().metadata_location.rpartition('/')[2]}"
    commits = f"{lake.root}/branches/main/commits"
    assert lake.api.post(commits, json={"message": "old"}).status_code == 201
    return lake


def listed(lake, api=None, reference="main", **query):
    answer = (api or lake.api).get(f"{lake.root}/refs/{reference}/tables", params=query)
    assert answer.status_code == 200, answer.text
    return [each["path"] for each in answer.json()["results"]]


def test_a_folder_is_listed_while_its_table_is_not_registered(lake):
    lake.branch("dev")
    assert listed(lake) == ["raw/old/"]
    main = lake.catalog()
    table = main.register_table("city.old", lake.metadata)
    assert listed(lake) == [RECORD]
    assert listed(lake, reference="dev") == listed(lake, reference="main~1") == ["raw/old/"]
    table.transaction().set_properties(steward="ada").commit_transaction()
    assert lake.merge("main", "dev").status_code == 200
    assert listed(lake, reference="dev") == [RECORD]
    main.rename_table("city.old", "city.new")
    assert listed(lake) == ["_tables/city/new/table.json"]
    main.drop_table("city.new")
    assert listed(lake) == ["raw/old/"]


def test_a_folder_stays_for_who_may_not_read_its_table(team, lake):
    lake.catalog().register_table("city.old", lake.metadata)
    member = team.member(
        allow("fs:List*"),
        allow("fs:ReadObject", on=f"arn:lakefs:fs:::repository/{lake.name}/object/raw/*"),
    )
    assert listed(lake, member.api) == ["raw/old/"]
    # all that has the prefix may be read, and that says nothing of the table
    assert listed(lake, member.api, prefix="raw/") == ["raw/old/"]


def test_a_folder_stays_for_who_may_not_read_its_renamed_table(team, lake):
    """The files are those of the path that the table was made for."""
    lake.catalog().register_table("city.old", lake.metadata)
    lake.catalog().rename_table("city.old", "city.new")
    objects, new = f"arn:lakefs:fs:::repository/{lake.name}/object/", "_tables/city/new/table.json"
    raw = allow("fs:List*"), allow("fs:ReadObject", on=f"{objects}raw/*")
    member = team.member(*raw, allow("fs:ReadObject", on=objects + new))
    assert listed(lake, member.api) == [new, "raw/old/"]
    member = team.member(*raw, allow("fs:ReadObject", on=f"{objects}_tables/*"))
    assert listed(lake, member.api) == [new]


def test_a_folder_of_another_branch_hides_none_of_the_same_path(lake):
    """Who writes to a branch of their own chooses what is at a path there."""
    lake.branch("dev")
    name = lake.metadata.rpartition("/")[2]
    path = {"path": f"raw/old/metadata/{name}"}
    content = lake.api.get(f"{lake.root}/refs/main/objects", params=path).content
    place = f"{lake.root}/branches/dev/objects"
    lake.api.post(place, params=path, content=content).raise_for_status()
    copy = lake.metadata.replace("/main/", "/dev/")
    lake.catalog().register_table("city.own", copy)
    own = "_tables/city/own/table.json"
    assert listed(lake) == [own, "raw/old/"]
    lake.catalog().register_table("city.old", lake.metadata)
    assert listed(lake) == [RECORD, own]


def test_records_that_are_damaged_hide_no_folder(lake):
    place = f"{lake.root}/branches/main/objects"
    for name, content in (("a", b"{}"), ("b", b"\xff")):
        path = {"path": f"_tables/city/{name}/table.json"}
        assert lake.api.post(place, params=path, content=content).status_code == 201
    assert listed(lake)[-1] == "raw/old/"
