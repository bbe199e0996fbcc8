"""`table` with tables in folders: of Delta Lake, and of Iceberg that no catalog has."""

from __future__ import annotations

import shlex

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.formats.iceberg_tables import FolderCatalog, rows_table

from .conftest import rows


@pytest.fixture
def upload(ana, tables):
    """Uploads the files of a folder, and commits them."""

    def put(folder, path, message="files", ref="main"):
        ana.ok("fs", "upload", tables.lake.at(f"{ref}/{path}"), "--source", folder, "--recursive")
        ana.ok("commit", tables.lake.at(ref), "-m", message)

    return put


@pytest.fixture
def old(tables):
    """A table in a folder of `main`, which pyiceberg has written over S3."""
    key, secret = tables.server.auth
    properties = {
        "s3.endpoint": str(tables.server.url),
        "s3.access-key-id": key,
        "s3.secret-access-key": secret,
        "s3.region": "us-east-1",
    }
    address = f"s3://{tables.lake.name}/main/raw/flights"
    catalog = FolderCatalog(address, hadoop=False, properties=properties)
    catalog.create()
    catalog.load().append(rows_table({1: "mon", 2: "tue"}))
    return catalog.load()


def test_an_iceberg_folder_is_listed_shown_and_registered_by_the_command_that_is_shown(
    ana, tables, old
):
    lake, at = tables.lake, tables.lake.at("main")
    ran = ana.ok("table", "list", at)
    assert ran.rows[-1] == ["raw/flights/", "table", "iceberg (not registered)"]
    (*_, item) = ana.ok("table", "list", at, "--json").json
    command = (
        f"anabranch table register --create-namespace {at}/raw.flights s3://{lake.name}/main/raw/"
        "flights/"
    )
    assert item["register"] == command
    assert command in " ".join(ran.err.split())

    shown = ana.ok("table", "show", f"{at}/raw/flights/", "--json").json
    assert shown["register"] == command
    assert shown["metadata_location"].endswith(old.metadata_location.rpartition("/")[2])
    assert (shown["rows"], shown["files"], shown["format"]) == (2, 2, "iceberg")
    assert [(each["name"], each["type"]) for each in shown["columns"]] == [
        *(("id", "long"), ("day", "string")),
    ]
    words = shlex.split(command)[1:]
    ana.ok(*words)
    registered = tables.catalog().load_table("raw.flights")
    assert registered.metadata.table_uuid == old.metadata.table_uuid
    assert registered.current_snapshot() == old.current_snapshot()
    names = [item["name"] for item in ana.ok("table", "list", at, "--json").json]
    assert "raw.flights" in names
    assert "raw/flights/" not in names


def test_a_folder_that_is_not_to_be_registered_is_refused(ana, tables, upload, tmp_path):
    write_deltalake(tmp_path / "delta", rows(1))
    upload(str(tmp_path / "delta"), "delta/")
    table, name = tables.lake.at("main/city.new"), tables.lake.name
    for folder, text in (
        (f"s3://{name}/main/delta/", "a table of Delta Lake"),
        (f"s3://{name}/main/none/", "holds no table"),
        (f"s3://{name}/", "no folder of a repository"),
        ("https://example.com/main/x/", "no folder of a repository"),
    ):
        ran = ana("table", "register", table, folder)
        assert ran.code in (1, 2), folder
        assert text in ran.err, folder


def test_a_delta_folder_is_shown_compared_and_has_a_history(ana, tables, upload, tmp_path):
    folder, lake = tmp_path / "delta", tables.lake
    write_deltalake(folder, rows(1, 2))
    upload(str(folder), "raw/d/", "first")
    lake.branch("night")
    write_deltalake(folder, pa.table({"id": [3], "seats": [7]}), mode="append", schema_mode="merge")
    DeltaTable(folder).delete("id = 1")
    upload(str(folder), "raw/d/", "second", ref="night")
    lake.commit("night", "else", other="x")

    shown = ana.ok("table", "show", lake.at("night/raw/d"), "--json").json
    assert (shown["format"], shown["name"], shown["rows"]) == ("delta", "raw/d/", 2)
    assert [each["snapshot_id"] for each in shown["snapshots"]] == [0, 1, 2]
    assert "register" not in shown
    assert any(
        "Version 2" in line for line in ana.ok("table", "show", lake.at("night/raw/d")).lines
    )

    found = ana.ok("table", "diff", lake.at("main/raw/d/"), "night", "--json").json
    assert [(each["change"], each["kind"], each["name"]) for each in found] == [
        ("added", "column", "seats"),
        ("added", "version", "1"),
        ("added", "version", "2"),
    ]
    assert ana.ok("table", "diff", lake.at("main/raw/d/"), lake.at("main")).rows == []

    items = ana.ok("table", "history", lake.at("night/raw/d/"), "--json").json
    assert [(each["message"], each["snapshot"]["snapshot_id"]) for each in items] == [
        *(("second", 2), ("second", 1), ("first", 0)),
    ]
    (removed, *_) = ana.ok("table", "diff", lake.at("main/raw/d/"), lake.at("main~1")).rows
    assert removed[:3] == ["removed", "raw/d/", "table"]


def test_what_is_no_folder_of_a_table_is_a_failure(ana, tables):
    at = tables.lake.at("main")
    for words in (("show", f"{at}/raw/none/"), ("history", f"{at}/raw/none/")):
        ran = ana("table", *words, "--json")
        assert (ran.code, ran.error["kind"]) == (1, "no_table")
    assert ana("table", "diff", f"{at}/raw/none/", f"{at}~1").code == 1
    assert ana("table", "diff", f"{at}/raw/none/", f"{at}/city").code == 2
    assert ana("table", "expire", f"{at}/raw/none/", "--older-than", "1d").code == 2
    record = f"{at}/_tables/city/trips/table.json"
    assert ana.ok("table", "show", record, "--json").json["name"] == "city.trips"


@pytest.mark.slow
@pytest.mark.usefixtures("old")
def test_a_table_in_a_folder_is_compared_with_one_of_the_catalog(ana, tables):
    sides = (tables.lake.at("main/raw/flights/"), tables.lake.at("main/city.trips"))
    (*_, last) = ana.ok("table", "diff", *sides, "--json").json
    assert (last["kind"], last["left"], last["right"]) == ("rows", 2, 3)
