"""`table` against a real server, with tables that pyiceberg writes and reads."""

from __future__ import annotations

import json

import httpx2
import pytest
from deltalake import write_deltalake
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import DoubleType

from anabranch.cli.framework.table_address import joined

from .conftest import rows


def test_namespaces_tables_and_views_are_listed(ana, tables):
    catalog = tables.catalog()
    catalog.create_namespace("city.raw")
    catalog.create_table(("city", "raw", "a.b"), rows().schema)
    at = tables.lake.at("main")
    assert ana.ok("table", "list", at).rows == [
        ["city", "namespace", ""],
        ["city.trips", "table", "iceberg"],
        ["city.raw", "namespace", ""],
        ["city.raw.a%2Eb", "table", "iceberg"],
    ]
    assert ana.ok("table", "list", f"{at}/city.raw").rows == [
        ["city.raw.a%2Eb", "table", "iceberg"]
    ]
    assert ana.ok("table", "show", f"{at}/city.raw.a%2Eb", "--json").json["rows"] == 0

    size = tables.trips().current_snapshot().summary["total-files-size"]
    (_, trips, *_) = ana.ok("table", "list", at, "--long").rows
    assert trips[:7] == ["city.trips", "table", "iceberg v2", "3", "2", size, "2"]
    (_, item, *_) = ana.ok("table", "list", at, "--long", "--json").json
    assert (item["rows"], item["size_bytes"], item["snapshots"]) == (3, int(size), 2)


def test_views_are_listed(ana, tables):
    one = {"id": 1, "name": "one", "type": "int", "required": True}
    schema = {"type": "struct", "fields": [one], "schema-id": 0}
    version = {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "default-namespace": ["city"],
        "representations": [{"type": "sql", "sql": "select 1 as one", "dialect": "spark"}],
    }
    body = {"name": "seen", "schema": schema, "view-version": version, "properties": {}}
    url = f"{tables.server.url}/iceberg/v1/{tables.lake.name}/main/namespaces/city/views"
    response = httpx2.post(url, json=body, auth=tables.server.auth)
    assert response.status_code == 200, response.text
    (*_, view) = ana.ok("table", "list", tables.lake.at("main"), "--long").rows
    assert view[:4] == ["city.seen", "view", "iceberg", ""]
    (*_, item) = ana.ok("table", "list", tables.lake.at("main"), "--long", "--json").json
    assert item["sql"] == [{"dialect": "spark", "sql": "select 1 as one"}]
    shown = ana.ok("table", "show", tables.lake.at("main/city.seen"), "--json").json
    assert (shown["type"], shown["sql"], shown["default_namespace"]) == (
        *("view", item["sql"], ["city"]),
    )
    assert [(each["name"], each["type"]) for each in shown["columns"]] == [("one", "int")]
    lines = [
        " ".join(line.split())
        for line in ana.ok("table", "show", tables.lake.at("main/city.seen")).lines
    ]
    assert "SQL of spark: select 1 as one" in lines
    place = f"/api/v1/repositories/{tables.lake.name}/refs/main/tables"
    response = httpx2.get(
        f"{tables.server.url}{place}/view",
        params={"path": "_tables/city/seen/view.json"},
        auth=tables.server.auth,
    )
    assert response.json()["sql"] == item["sql"]
    assert response.json()["schema"][0]["type"] == "int"
    for path, status in (("_tables/city/none/view.json", 404), ("_tables/city/trips/x", 400)):
        response = httpx2.get(
            f"{tables.server.url}{place}/view", params={"path": path}, auth=tables.server.auth
        )
        assert response.status_code == status, response.text


def test_delta_tables_are_listed_after_those_of_the_catalog(ana, tables, tmp_path):
    folder = tmp_path / "flights"
    write_deltalake(folder, rows(1, 2))
    at = tables.lake.at("main")
    ana.ok("fs", "upload", f"{at}/raw/<b> flights/", "--source", str(folder), "--recursive")
    assert ana.ok("table", "list", at).rows[-1] == ["raw/<b> flights/", "table", "delta"]
    assert ana.ok("table", "list", f"{at}/city").rows == [["city.trips", "table", "iceberg"]]
    assert ana.ok("table", "list", f"{at}/raw/").rows == [["raw/<b> flights/", "table", "delta"]]
    (*_, long) = ana.ok("table", "list", at, "--long", "--json").json
    size = sum(file.stat().st_size for file in folder.glob("*.parquet"))
    assert (long["rows"], long["files"], long["size_bytes"], long["snapshots"]) == (2, 1, size, 1)
    assert "changed" not in long  # it is not committed
    ana.ok("commit", at, "-m", "flights")
    (*_, long) = ana.ok("table", "list", at, "--long", "--json").json
    assert long["changed"] == ana.ok("log", at, "--amount", "1", "--json").json[0]["creation_date"]


@pytest.mark.parametrize("name", ["a/b", "100%", "%2E", "ä ✈", "a.b", "?x=1&y#z", "x\x1b[31m"])
@pytest.mark.sample(1)
def test_odd_names_are_listed_as_they_are_asked_for(ana, tables, name):
    catalog = tables.catalog()
    catalog.create_namespace((name,))
    catalog.create_table((name, name), rows().schema)
    at = tables.lake.at("main")
    items = ana.ok("table", "list", at, "--json").json
    (address,) = (
        item["name"] for item in items if item["type"] == "table" and "city" not in item["name"]
    )
    assert address == f"{joined([name])}.{joined([name])}"
    assert ana.ok("table", "show", f"{at}/{address}", "--json").json["rows"] == 0
    assert len(ana.ok("table", "history", f"{at}/{address}").rows) == 1
    assert "\x1b" not in ana.ok("table", "list", at).out
    assert "\x1b" not in ana.ok("table", "show", f"{at}/{address}", terminal=True).out


def test_what_is_not_there_is_a_failure_with_a_hint(ana, tables):
    at = tables.lake.at("main")
    for words in (("list", f"{at}/nothing"), ("show", f"{at}/city.nothing")):
        ran = ana("table", *words, "--json")
        assert (ran.code, ran.error["kind"], ran.error["status"]) == (1, "not_found", 404)
        assert f"anabranch table list {at}" in ran.error["hint"]
    assert ana("table", "show", f"{at}/trips").code == 2
    assert ana("table", "show", f"{at}/city..trips").code == 2
    assert ana("table", "list", tables.lake.at("nothing")).code == 1


def test_a_table_is_shown_as_pyiceberg_sees_it(ana, tables):
    trips = tables.trips()
    with trips.update_schema() as change:
        change.add_column("cost", DoubleType(), doc="in euros")
    with trips.update_spec() as change:
        change.add_field("id", BucketTransform(4), "part")
    with trips.transaction() as change:
        change.set_properties(owner="ada")
    trips = tables.trips()

    address = tables.lake.at("main/city.trips")
    item = ana.ok("table", "show", address, "--json").json
    assert item["metadata_location"] == trips.metadata_location
    assert item["partitioning"] == "bucket[4](id)"
    assert item["properties"]["owner"] == "ada"
    assert [each["name"] for each in item["columns"]] == trips.schema().column_names
    assert [each["snapshot_id"] for each in item["snapshots"]] == [
        each.snapshot_id for each in trips.snapshots()
    ]
    assert [each["rows"] for each in item["snapshots"]] == [2, 3]
    lines = [" ".join(line.split()) for line in ana.ok("table", "show", address).lines]
    assert "Column cost: double -- in euros" in lines
    assert "Property owner: ada" in lines
    assert f"Snapshot {trips.current_snapshot().snapshot_id}: append, 3 rows" in lines


def test_history_has_each_commit_with_its_snapshots(ana, tables):
    lake, address = tables.lake, tables.lake.at("main/city.trips")
    first, second = (each.snapshot_id for each in tables.trips().snapshots())
    lake.branch("night")
    night = tables.trips("night")
    night.append(rows(4, 5))
    third = night.current_snapshot().snapshot_id
    lake.merge("night", "main")
    lake.commit("main", "something else", other="x")
    with tables.trips().transaction() as change:
        change.set_properties(owner="ada")

    items = ana.ok("table", "history", address, "--json").json
    brought = [
        (each["snapshot"]["snapshot_id"], each["snapshot"]["added_rows"])
        for each in items
        if each["brings_snapshot"]
    ]
    assert brought == [(third, 2), (second, 1), (first, 2)]
    log = {each["id"]: each for each in ana.ok("log", lake.at("main"), "--json").json}
    assert {each["commit_id"] for each in items} <= set(log)
    assert all(each["message"] == log[each["commit_id"]]["message"] for each in items)
    assert items[0]["snapshot"]["snapshot_id"] == third
    assert not items[0]["brings_snapshot"]
    assert items[-1]["snapshot"] is None  # it was created

    ran = ana.ok("table", "history", address, "--amount", "1")
    assert [row[3] for row in ran.rows] == [str(third)]
    assert "older commits" in ran.err
    assert ana("table", "history", lake.at("main/city.nothing")).code == 1


@pytest.mark.slow
def test_history_shows_what_is_staged_and_what_was_dropped(ana, tables):
    address = tables.lake.at("main/city.trips")
    with tables.trips().transaction() as change:
        change.set_properties(**{"anabranch.commit": "staged"})
    tables.trips().append(rows(9))
    (newest, *_) = ana.ok("table", "history", address, "--json").json
    assert (newest["commit_id"], newest["snapshot"]["added_rows"]) == (None, 1)

    ana.ok("branch", "reset", tables.lake.at("main"), "--yes")
    with tables.trips().transaction() as change:
        change.remove_properties("anabranch.commit")
    ana.ok("commit", tables.lake.at("main"), "-m", "each commit by itself")
    tables.catalog().drop_table("city.trips")
    (newest, before, *_) = ana.ok("table", "history", address, "--json").json
    assert newest["dropped"]
    assert before["snapshot"]["rows"] == 3


def test_diff_of_a_table_between_references(ana, tables):
    lake = tables.lake
    lake.branch("night")
    night = tables.trips("night")
    with night.update_schema() as change:
        change.add_column("cost", DoubleType())
        change.rename_column("name", "title")
    with night.transaction() as change:
        change.set_properties(owner="ada")
    renamed = rows(4, 5).rename_columns(["id", "title"])
    night.append(renamed)
    added = night.current_snapshot().snapshot_id
    before = tables.trips().current_snapshot().snapshot_id

    found = ana.ok("table", "diff", lake.at("main/city.trips"), "night").rows
    assert all(row[1] == "city.trips" for row in found)
    assert [[row[0], *row[2:]] for row in found] == [
        ["changed", "column", "title", "name: string", "title: string"],
        ["added", "column", "cost", "", "double"],
        ["added", "property", "owner", "", "ada"],
        ["changed", "reference", "main", f"branch at {before}", f"branch at {added}"],
        ["added", "snapshot", str(added), "", "append +2 rows"],
        ["changed", "rows", "", "3", "5"],
    ]
    assert ana.ok("table", "diff", lake.at("main/city.trips"), lake.at("main")).rows == []
    both = (lake.at("night/city.trips"), lake.at("main/city.trips"))
    items = ana.ok("table", "diff", *both, "--json").json
    last = items[-1]
    assert (last["kind"], last["left"], last["right"]) == ("rows", 5, 3)


@pytest.mark.slow
def test_diff_of_all_tables(ana, tables):
    lake = tables.lake
    lake.branch("night")
    catalog = tables.catalog("night")
    catalog.create_table("city.more", rows().schema)
    catalog.drop_table("city.trips")
    for left in (lake.at("main"), lake.at("main/city")):
        assert ana.ok("table", "diff", left, "night").rows == [
            ["added", "city.more", "table", "city.more", "", "iceberg v2, 0 rows"],
            ["removed", "city.trips", "table", "city.trips", "iceberg v2, 3 rows", ""],
        ]
    assert ana("table", "diff", lake.at("main/nothing"), "night").code == 1
    assert ana("table", "diff", lake.at("main/city.nothing"), "night").code == 1
    assert ana("table", "diff", lake.at("main"), "nothing").code == 1


def test_a_metadata_file_is_registered(ana, tables):
    lake = tables.lake
    location = tables.trips().metadata_location
    tables.catalog().drop_table("city.trips")
    words = ("table", "register", lake.at("main/city.trips"), location)
    item = ana.ok(*words, "--json").json
    assert (item["name"], item["rows"]) == ("city.trips", 3)
    assert tables.trips().scan().to_arrow().num_rows == 3
    again = ana(*words, "--json")
    assert (again.code, again.error["status"]) == (1, 409)

    # one that a client has written as an object of the branch
    metadata = json.loads(tables.trips().metadata.model_dump_json(by_alias=True))
    metadata |= {"location": f"s3://{lake.name}/main/old", "snapshots": [], "refs": {}}
    metadata |= {"current-snapshot-id": None, "snapshot-log": [], "metadata-log": []}
    lake.commit("main", "old", **{"old/v1.metadata.json": json.dumps(metadata)})
    address, file = lake.at("main/new.old"), f"s3://{lake.name}/main/old/v1.metadata.json"
    refused = ana("table", "register", address, file, "--json")
    assert (refused.code, refused.error["status"]) == (1, 404)
    assert "--create-namespace" in refused.error["hint"]
    assert ana.ok("table", "register", address, file, "--create-namespace").lines == [
        f"Registered {address}"
    ]
    assert tables.catalog().load_table("new.old").scan().to_arrow().num_rows == 0
    foreign = ana("table", "register", lake.at("main/city.x"), "s3://other/main/v1.metadata.json")
    assert foreign.code == 1
    assert "no metadata file of this repository" in foreign.err


def test_a_table_is_unregistered_and_comes_back(ana, tables):
    address, location = tables.lake.at("main/city.trips"), tables.trips().metadata_location
    item = ana.ok("table", "unregister", address, "--json").json
    assert (item["name"], item["rows"], item["metadata_location"]) == ("city.trips", 3, location)
    missing = ana("table", "unregister", address, "--json")
    assert (missing.code, missing.error["status"]) == (1, 404)
    ana.ok("table", "register", address, location)
    assert tables.trips().scan().to_arrow().num_rows == 3
    shown = ana.ok("table", "unregister", address).lines
    assert (
        "".join(shown)
        .replace(" ", "")
        .startswith(f"Unregistered {address}: its last metadata are s3://".replace(" ", ""))
    )
