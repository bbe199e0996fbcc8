"""A table that leaves the catalog: its last metadata, read by pyiceberg without a catalog."""

from __future__ import annotations

import threading
import uuid

import pytest
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, RESTError
from pyiceberg.table import StaticTable
from pyiceberg.table.metadata import TableMetadataUtil

from .conftest import ids, trips

PATH = "/namespaces/city/tables/trips/unregister"


def read(lake, location):
    """Returns the ids in the table of a metadata file, as a reader that knows no catalog."""
    key, secret = lake.server.auth
    settings = {
        "s3.endpoint": lake.url,
        "s3.access-key-id": key,
        "s3.secret-access-key": secret,
        "s3.region": "us-east-1",
        "s3.force-virtual-addressing": "false",
    }
    return ids(StaticTable.from_metadata(location, settings))


def test_the_record_goes_and_all_files_stay(lake, table):
    lake.branch("dev")
    lake.tag("v1")
    answer = lake.http.post(lake.path("main", PATH))  # without a body, as the specification says
    assert answer.status_code == 200, answer.text
    last = answer.json()
    assert set(last) == {"metadata-location", "metadata"}
    assert last["metadata-location"] == table.metadata_location
    assert TableMetadataUtil.parse_obj(last["metadata"]) == table.metadata
    main = lake.catalog()
    assert main.list_tables("city") == []
    assert lake.messages()[0] == "Iceberg: unregister city.trips"
    with pytest.raises(RESTError, match="NoSuchTableException"):
        table.append(trips(9))
    assert read(lake, last["metadata-location"]) == [1, 2]
    for reference in ("dev", "v1", "main~1"):
        assert ids(lake.catalog(reference).load_table("city.trips")) == [1, 2]
    assert ids(main.register_table("city.back", last["metadata-location"])) == [1, 2]
    assert (
        "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister"
        in (lake.http.get("/v1/config", params={"warehouse": lake.name}).json()["endpoints"])
    )


@pytest.mark.usefixtures("table")
def test_it_is_carried_out_once(lake):
    key = {"Idempotency-Key": str(uuid.uuid4())}
    answers = [lake.http.post(lake.path("main", PATH), headers=key) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    missing = lake.http.post(lake.path("main", PATH))
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "NoSuchTableException")


@pytest.mark.usefixtures("table")
def test_what_cannot_be_unregistered(lake):
    lake.tag("v1")
    assert lake.http.post(lake.path("v1", PATH)).status_code == 403
    view = "/namespaces/city/tables/seen/unregister"
    assert lake.http.post(lake.path("main", view)).status_code == 404
    rules = [{"pattern": "main"}]
    place = f"{lake.root}/settings/branch_protection"
    assert lake.api.put(place, json=rules).status_code == 204
    assert lake.http.post(lake.path("main", PATH)).status_code == 403
    assert ids(lake.catalog().load_table("city.trips")) == [1, 2]


def test_a_staged_removal_is_committed_with_others(lake, table):
    table.transaction().set_properties(**{"anabranch.commit": "staged"}).commit_transaction()
    before = lake.messages()
    assert lake.http.post(lake.path("main", PATH)).status_code == 200
    assert lake.messages() == before
    assert lake.catalog().list_tables("city") == []
    assert lake.catalog("main@").list_tables("city") == [("city", "trips")]


def test_no_acknowledged_append_is_missing_from_the_last_metadata(lake):
    lake.catalog().create_table("city.trips", trips().schema)
    acknowledged, begun = [], threading.Event()

    def write(first):
        catalog = lake.catalog()
        for number in range(first, first + 1000):
            try:
                catalog.load_table("city.trips").append(trips(number))
            except CommitFailedException:
                continue
            except (NoSuchTableError, RESTError):
                return
            acknowledged.append(number)
            if len(acknowledged) > 5:
                begun.set()

    writers = [threading.Thread(target=write, args=(first,)) for first in (0, 1000, 2000)]
    for writer in writers:
        writer.start()
    assert begun.wait(300)
    last = {}
    while "metadata-location" not in last:  # a conflict with a writer is one to repeat
        last = lake.http.post(lake.path("main", PATH)).json()
    for writer in writers:
        writer.join(300)
    assert read(lake, last["metadata-location"]) == sorted(acknowledged)
