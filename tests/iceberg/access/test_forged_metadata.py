"""Metadata that a user has stored in the area of a table, and a record that names them."""

from __future__ import annotations

import json

import pytest

from tests.iceberg.access.test_table_files import Files, area_of, s3_of
from tests.iceberg.conftest import ids, trips

TABLES = "/namespaces/city/tables"
RECORD = "_tables/city/orders/table.json"


@pytest.fixture
def forge(lake_of_team):
    """Returns a function that makes bytes the metadata of `city.orders` on main."""
    lake = lake_of_team
    lake.catalog().create_table("city.orders", trips().schema).append(trips(1))
    files = Files(s3_of(lake.server, *lake.server.auth), lake.name, area_of(lake, "orders"))
    record = lake.api.get(f"{lake.root}/refs/main/objects", params={"path": RECORD}).json()
    names = iter(range(100))

    def forged(content):
        name = f"metadata/forged-{next(names)}.metadata.json"
        files.put(name, content)
        folder = record["metadata"].rpartition("/metadata/")[0]
        body = json.dumps(record | {"metadata": f"{folder}/{name}"}).encode()
        place = f"{lake.root}/branches/main/objects"
        assert lake.api.post(place, params={"path": RECORD}, content=body).status_code == 201
        message = {"message": "forged"}
        lake.api.post(f"{lake.root}/branches/main/commits", json=message).raise_for_status()

    return forged


def metadata_of(lake):
    response = lake.http.get(lake.path("main", f"{TABLES}/orders"))
    assert response.status_code == 200, response.text
    return response.json()["metadata"]


def test_metadata_add_nothing_to_the_response(lake_of_team, forge):
    """Clients would send their requests to the endpoint that the configuration names."""
    whole = json.dumps(metadata_of(lake_of_team)).encode()
    elsewhere = b'"config":{"s3.endpoint":"http://example.org"}'
    for content in (
        whole + b"," + elsewhere,
        whole + b',"storage-credentials":[{"prefix":"s3://",' + elsewhere + b"}]",
        whole + b"," + elsewhere + b"}",
        whole[:-1] + b',"x":{no}}',
        b"",
        b"[]",
        whole[:-1] + b',"x":"\xff"}',
        b"\x1f\x8b",
    ):
        forge(content)
        answer = lake_of_team.http.get(lake_of_team.path("main", f"{TABLES}/orders"))
        assert answer.status_code == 422, answer.text
        assert "example.org" not in answer.text


def test_metadata_do_not_place_new_files_elsewhere(lake_of_team, forge):
    """Clients would store them there, with rights of their own."""
    lake = lake_of_team
    metadata = metadata_of(lake)
    elsewhere = f"s3://{lake.name}/main/prod"
    for forged in (
        metadata | {"location": elsewhere},
        metadata | {"location": None},
        metadata | {"properties": {"write.data.path": elsewhere}},
        metadata | {"properties": {"write.metadata.path": "file:///tmp"}},
    ):
        forge(json.dumps(forged).encode())
        answer = lake.http.get(lake.path("main", f"{TABLES}/orders"))
        assert answer.status_code == 422, answer.text
    forge(json.dumps(metadata).encode())
    assert ids(lake.catalog().load_table("city.orders")) == [1]


def test_a_table_with_damaged_metadata_is_dropped(lake_of_team, forge):
    forge(b"no metadata")
    lake_of_team.catalog().drop_table("city.orders")
    assert lake_of_team.catalog().list_tables("city") == []
