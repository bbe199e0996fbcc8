"""Tables of the catalog by the paths of their records: as previews, in SQL, as row differences."""

from __future__ import annotations

import httpx2
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from tests.iceberg.conftest import trips
from tests.server.access.workspaces.test_tables import delta_log

RECORD = "_tables/city/trips/table.json"


def preview(lake, reference="main", path=RECORD, **more):
    place = f"{lake.root}/refs/{reference}/tables/preview"
    return lake.api.get(place, params={"path": path, **more})


def rows_of(response):
    assert response.status_code == 200, response.text
    return sorted(row[0] for row in response.json()["rows"])


def query(lake, reference, *arguments):
    address = f"lakefs://{lake.name}/{reference}/{RECORD}"
    named = "".join(f", {each}" for each in arguments)
    sql = f"SELECT id FROM iceberg_table('{address}'{named})"
    return lake.api.post(f"{lake.root}/refs/{reference}/query", json={"sql": sql, "tables": {}})


def differences(lake, left, right, path=RECORD, **more):
    place = f"{lake.root}/refs/{left}/diff/{right}/rows"
    return lake.api.get(place, params={"path": path, "type": "two_dot", **more})


def test_a_preview_tells_what_a_table_is_at_each_reference(lake, table):
    table.append(trips(3))
    night = lake.branch("night").load_table("city.trips")
    night.delete("id = 2")
    with night.update_schema() as update:
        update.add_column("seats", IntegerType())
    shown = preview(lake).json()
    assert (shown["format"], shown["row_count"], shown["files"]) == ("iceberg", 3, 2)
    assert shown["location"] == table.metadata.location
    assert shown["size_bytes"] == sum(
        task.file.file_size_in_bytes for task in table.scan().plan_files()
    )
    assert shown["properties"] == table.metadata.properties
    counts = [(each["operation"], each["added_rows"], each["rows"]) for each in shown["versions"]]
    assert counts == [("append", 1, 3), ("append", 2, 2)]
    assert [int(each["version"]) for each in shown["versions"]] == [
        each.snapshot_id for each in reversed(table.metadata.snapshots)
    ]
    assert rows_of(preview(lake)) == [1, 2, 3]
    assert rows_of(preview(lake, "night")) == [1, 3]
    assert [each["name"] for each in preview(lake, "night").json()["schema"]] == [
        *("id", "name", "seats")
    ]
    assert rows_of(preview(lake, "main~1")) == [1, 2]
    assert rows_of(preview(lake, version=shown["versions"][1]["version"])) == [1, 2]
    absent = preview(lake, path="_tables/city/absent/table.json")
    assert (absent.status_code, "holds no table" in absent.text) == (400, True)


def test_a_preview_tells_partitions_and_their_sizes(lake):
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"))
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    table = lake.catalog().create_table("city.trips", schema, partition_spec=spec)
    table.append(trips(1, 2))
    shown = preview(lake).json()
    assert shown["partitioning"] == ["name"]
    assert sorted(each["values"]["name"] for each in shown["partitions"]) == ["trip 1", "trip 2"]
    assert [each["rows"] for each in shown["partitions"]] == [1, 1]
    assert sum(each["size_bytes"] for each in shown["partitions"]) == shown["size_bytes"]


def test_sql_reads_a_table_by_the_path_of_its_record(lake, table):
    first = table.metadata.current_snapshot_id
    table.append(trips(3))
    assert rows_of(query(lake, "main")) == [1, 2, 3]
    assert rows_of(query(lake, "main~1")) == [1, 2]
    assert rows_of(query(lake, "main", first)) == [1, 2]


@pytest.mark.slow
def test_rows_of_two_references_are_compared(lake, table):
    night = lake.branch("night").load_table("city.trips")
    night.delete("id = 2")
    night.append(trips(4))
    found = differences(lake, "main", "night", key="id").json()["results"]
    assert sorted((each["kind"], each["key"]["id"]) for each in found) == [
        ("added", 4),
        ("removed", 2),
    ]
    assert differences(lake, "main", "main").json()["results"] == []
    created = differences(lake, "main~2", "main", whole_rows=True).json()["results"]
    assert [each["kind"] for each in created] == ["added", "added"]
    absent = differences(lake, "main", "night", "_tables/city/absent/table.json")
    assert absent.status_code == 404
    table.append(trips(5))  # both sides have changed: against the merge base by default
    since = differences(lake, "main", "night", type="three_dot", key="id").json()["results"]
    assert sorted(each["key"]["id"] for each in since) == [2, 4]


def test_a_renamed_table_is_read_by_its_new_path(lake, table):
    assert table
    lake.catalog().rename_table("city.trips", "city.rides")
    assert rows_of(preview(lake, path="_tables/city/rides/table.json")) == [1, 2]
    assert preview(lake).status_code == 400


def test_a_registered_table_has_files_outside_of_its_area(lake):
    """They are objects of the reference from which the table is read."""
    plain = {"write.avro.compression-codec": "null"}
    table = lake.catalog().create_table("city.trips", trips().schema, properties=plain)
    table.append(trips(1, 2))
    area = table.metadata.location
    old = f"s3://{lake.name}/main/".ljust(len(area), "o")
    snapshot = table.current_snapshot()
    manifests = [each.manifest_path for each in snapshot.manifests(table.io)]
    data = [task.file.file_path for task in table.scan().plan_files()]
    for address in (table.metadata_location, snapshot.manifest_list, *manifests, *data):
        with table.io.new_input(address).open() as file:
            content = file.read().replace(area.encode(), old.encode())
        path = address.replace(area, old).removeprefix(f"s3://{lake.name}/main/")
        place = f"{lake.root}/branches/main/objects"
        lake.api.post(place, params={"path": path}, content=content).raise_for_status()
    lake.api.post(f"{lake.root}/branches/main/commits", json={"message": "old files"})
    lake.catalog().register_table("city.old", table.metadata_location.replace(area, old))
    path = "_tables/city/old/table.json"
    assert rows_of(preview(lake, path=path)) == [1, 2]
    lake.branch("night")
    removed = {"path": data[0].replace(area, old).removeprefix(f"s3://{lake.name}/main/")}
    lake.api.delete(f"{lake.root}/branches/night/objects", params=removed).raise_for_status()
    assert preview(lake, "night", path).status_code == 400
    assert rows_of(preview(lake, "main", path)) == [1, 2]


def test_the_keys_of_a_workspace_do_not_reach_the_files(lake, table):
    assert table
    made = lake.api.post(
        f"{lake.root}/workspaces", json={"source": "main", "branch": "task", "writable": ["out/**"]}
    ).json()
    keys = (made["access_key_id"], made["secret_access_key"])
    with httpx2.Client(base_url=f"{lake.url}/api/v1", auth=keys, timeout=60) as api:
        intruder = type("Intruder", (), {"api": api, "root": lake.root, "name": lake.name})
        answers = [
            preview(intruder, "task"),
            query(intruder, "task"),
            differences(intruder, "task", "task"),
            api.get(f"{lake.root}/refs/task/tables"),
        ]
        others = [
            differences(intruder, "task", "task", f"{RECORD}/"),
            differences(intruder, "task", "task", f"{RECORD}/data"),
        ]
        # a table of Delta Lake that the keys may write, with a file of the other
        (task,) = table.scan().plan_files()
        named = task.file.file_path.replace(
            table.metadata.location, f"s3://{lake.name}/task/{RECORD}"
        )
        log = {"path": f"out/t/_delta_log/{'0' * 20}.json"}
        content = delta_log(named, task.file.file_size_in_bytes).replace(b"word", b"name")
        place = f"{lake.root}/branches/task/objects"
        api.post(place, params=log, content=content).raise_for_status()
        others.append(differences(intruder, made["source_commit"], "task$", "out/t"))
        sql = f"SELECT name FROM delta_table('lakefs://{lake.name}/task/out/t')"
        queried = {"sql": sql, "tables": {}}
        others.append(preview(intruder, "task", "out/t"))
        others.append(api.post(f"{lake.root}/refs/task/query", json=queried))
    assert [each.status_code for each in answers] == [403] * 4, [each.text for each in answers]
    refused = [404, 404, 400, 403, 403]
    assert [each.status_code for each in others] == refused, [each.text for each in others]


def test_a_writer_of_another_branch_does_not_choose_the_metadata(lake, table):
    """The area has files of all branches, which stay there for good."""
    lake.branch("dev").load_table("city.trips").append(trips(3))
    with table.io.new_output(f"{table.location()}/metadata/version-hint.text").create() as file:
        file.write(b"99")
    assert rows_of(preview(lake)) == rows_of(query(lake, "main")) == [1, 2]
    assert rows_of(preview(lake, "dev")) == [1, 2, 3]
    assert len(differences(lake, "main", "dev").json()["results"]) == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("path", ["data/x", "../secret", "metadata/version-hint.text"])
def test_files_that_the_metadata_do_not_name_are_not_there(lake, table, path):
    assert table
    sql = f"FROM read_text('lakefs://{lake.name}/main/{RECORD}/{path}')"
    answer = lake.api.post(f"{lake.root}/refs/main/query", json={"sql": sql, "tables": {}})
    assert answer.status_code != 200 or answer.json()["rows"] == [], answer.text
