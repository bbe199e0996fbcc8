"""Tables of the catalog that two branches have changed: merged, and read by pyiceberg."""

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from .conftest import Lake, ids, trips

TRIPS = "city.trips"
RECORD = "_tables/city/trips/table.json"


@pytest.fixture
def lake(server):
    return Lake(server)


@pytest.fixture
def branches(lake):
    """The catalogs of two branches with the same table of three rows."""
    main = lake.catalog()
    main.create_table(TRIPS, trips(1).schema).append(trips(1, 2, 3))
    return main, lake.branch("dev")


def reasons(response):
    """The reasons and details of the conflicts with which a merge was refused."""
    assert response.status_code == 409, response.text
    found = response.json()["conflicts"]
    return [each.get("reason", "") for each in found], [
        detail["message"] for each in found for detail in each.get("details", ())
    ]


def test_appends_of_both_branches_are_merged(lake, branches):
    main, dev = branches
    dev.load_table(TRIPS).append(trips(4))
    dev.load_table(TRIPS).append(trips(5))
    main.load_table(TRIPS).append(trips(6))
    assert lake.merge("dev").status_code == 200
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 4, 5, 6]
    assert ids(dev.load_table(TRIPS)) == [1, 2, 3, 4, 5]
    assert lake.merge("main", "dev").status_code == 200
    assert ids(dev.load_table(TRIPS)) == [1, 2, 3, 4, 5, 6]
    main.load_table(TRIPS).append(trips(7))
    dev.load_table(TRIPS).append(trips(8))
    assert lake.merge("dev").status_code == 200
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 4, 5, 6, 7, 8]
    log = main.load_table(TRIPS).metadata.metadata_log
    assert all(entry.metadata_file.startswith(f"s3://{lake.name}/.tables/") for entry in log)


@pytest.mark.slow
def test_many_branches_are_merged_one_after_another(lake, branches):
    main, _ = branches
    others = [lake.branch(f"b{number}") for number in range(4)]
    for number, catalog in enumerate(others):
        catalog.load_table(TRIPS).append(trips(10 + number))
    for number in range(4):
        assert lake.merge(f"b{number}").status_code == 200
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 10, 11, 12, 13]


def test_rows_deleted_on_a_branch_are_deleted_in_the_merge(lake):
    main = lake.catalog()
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    by_id = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id_part"))
    main.create_table(TRIPS, schema, partition_spec=by_id).append(trips(1, 2, 3))
    dev = lake.branch("dev")
    dev.load_table(TRIPS).delete("id = 2")
    main.load_table(TRIPS).append(trips(9))
    assert lake.merge("dev").status_code == 200
    assert ids(main.load_table(TRIPS)) == [1, 3, 9]


def test_namespaces_of_both_branches_are_merged(lake, branches):
    main, dev = branches
    for catalog, name in ((main, "a"), (dev, "b")):
        catalog.create_namespace("raw")
        catalog.create_table(f"raw.{name}", trips(1).schema)
        catalog.update_namespace_properties("city", updates={name: "1", "owner": "ada"})
    assert lake.merge("dev").status_code == 200
    assert sorted(main.list_tables("raw")) == [("raw", "a"), ("raw", "b")]
    properties = main.load_namespace_properties("city")
    assert {"a": "1", "b": "1", "owner": "ada"}.items() <= properties.items()


def test_a_conflict_names_the_file_and_changes_nothing(lake, branches):
    main, dev = branches
    dev.load_table(TRIPS).delete("id = 1")
    main.load_table(TRIPS).delete("id = 2")
    _, details = reasons(lake.merge("dev"))
    assert "both sides removed or replaced rows of the file" in details
    assert ids(main.load_table(TRIPS)) == [1, 3]


def test_a_table_that_both_branches_have_created_is_a_conflict(lake):
    dev = lake.branch("dev")
    for catalog in (lake.catalog(), dev):
        catalog.create_table(TRIPS, trips(1).schema).append(trips(1))
    found, _ = reasons(lake.merge("dev"))
    assert "both sides created the table" in found[0]


def test_a_table_that_one_branch_has_dropped_or_created_anew_is_a_conflict(lake, branches):
    main, dev = branches
    dev.drop_table(TRIPS)
    main.load_table(TRIPS).append(trips(4))
    found, _ = reasons(lake.merge("dev"))
    assert "the source deleted the table" in found[0]
    dev.create_table(TRIPS, trips(1).schema).append(trips(1))
    found, _ = reasons(lake.merge("dev"))
    assert "the source created the table anew" in found[0]


@pytest.mark.slow
def test_a_strategy_of_the_merge_comes_first(lake, branches):
    main, dev = branches
    dev.load_table(TRIPS).append(trips(4))
    main.load_table(TRIPS).append(trips(5))
    path = f"{lake.root}/refs/dev/merge/main"
    assert lake.api.post(path, json={"strategy": "source-wins"}).status_code == 200
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 4]


def test_a_resolution_of_the_request_comes_first(lake, branches):
    main, dev = branches
    dev.load_table(TRIPS).append(trips(4))
    main.load_table(TRIPS).append(trips(5))
    body = {"resolutions": [{"path": RECORD, "strategy": "dest-wins"}]}
    assert lake.api.post(f"{lake.root}/refs/dev/merge/main", json=body).status_code == 200
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 5]


def test_a_preview_tells_what_the_merge_will_do(lake, branches):
    main, dev = branches
    dev.load_table(TRIPS).append(trips(4))
    main.load_table(TRIPS).append(trips(5))
    path = f"{lake.root}/refs/dev/merge/main"
    preview = lake.api.post(path, json={"dry_run": True})
    assert preview.status_code == 200, preview.text
    settled = [(each["path"], each["strategy"]) for each in preview.json()["settled"]]
    assert settled == [(RECORD, "iceberg")]
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 5]
    main.load_table(TRIPS).delete("id = 1")
    dev.load_table(TRIPS).delete("id = 2")
    found = lake.api.post(path, json={"dry_run": True}).json()
    assert [each["path"] for each in found["conflicts"]] == [RECORD]


@pytest.mark.slow
def test_a_change_of_another_branch_is_picked(lake, branches):
    main, dev = branches
    dev.load_table(TRIPS).append(trips(4))
    main.load_table(TRIPS).append(trips(5))
    body = {"ref": "dev"}
    response = lake.api.post(f"{lake.root}/branches/main/cherry-pick", json=body)
    assert response.status_code in (200, 201), response.text
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 4, 5]


def test_an_append_is_reverted_and_later_ones_stay(lake):
    main = lake.catalog()
    main.create_table(TRIPS, trips(1).schema).append(trips(1, 2, 3))
    main.load_table(TRIPS).append(trips(4))
    main.load_table(TRIPS).append(trips(5))
    with main.load_table(TRIPS).update_schema() as update:
        update.add_column("score", LongType())
    path = f"{lake.root}/branches/main/revert"
    body = {"ref": "main~2", "parent_number": 0}
    assert lake.api.post(path, json=body).status_code == 204
    table = main.load_table(TRIPS)
    assert ids(table) == [1, 2, 3, 5]
    assert table.schema().column_names == ["id", "name", "score"]
    assert lake.api.post(path, json={"ref": "main", "parent_number": 0}).status_code == 204
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 4, 5]  # the revert is reverted


def test_changes_of_a_branch_are_rebased(lake, branches):
    main, dev = branches
    for number in (4, 5):
        dev.load_table(TRIPS).append(trips(number))
    main.load_table(TRIPS).append(trips(6))
    response = lake.api.post(f"{lake.root}/branches/dev/rebase", json={"onto": "main"})
    assert response.status_code in (200, 201, 204), response.text
    assert ids(dev.load_table(TRIPS)) == [1, 2, 3, 4, 5, 6]
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 6]


def test_a_record_that_names_other_files_is_refused(lake, branches):
    main, dev = branches
    secret = main.create_table("city.secret", trips(1).schema)
    dev.load_table(TRIPS).append(trips(4))
    main.load_table(TRIPS).append(trips(5))
    area = secret.location().rpartition("/")[2]
    forged = {
        "format": "iceberg",
        "uuid": str(main.load_table(TRIPS).metadata.table_uuid),
        "area": area,
        "metadata": secret.metadata_location,
    }
    path = f"{lake.root}/branches/dev/objects?path={RECORD}"
    assert lake.api.post(path, files={"content": str(forged).replace("'", '"')}).status_code == 201
    commit = {"message": "forged"}
    assert lake.api.post(f"{lake.root}/branches/dev/commits", json=commit).status_code == 201
    found, _ = reasons(lake.merge("dev"))
    assert "the source created the table anew" in found[0]
    assert ids(main.load_table(TRIPS)) == [1, 2, 3, 5]


def test_schema_changes_on_both_branches_are_a_conflict(lake, branches):
    main, dev = branches
    for catalog, name in ((main, "a"), (dev, "b")):
        with catalog.load_table(TRIPS).update_schema() as update:
            update.add_column(name, LongType())
    _, details = reasons(lake.merge("dev"))
    assert any("schema" in each for each in details)


def test_a_column_that_one_branch_adds_is_in_the_merge(lake, branches):
    main, dev = branches
    with dev.load_table(TRIPS).update_schema() as update:
        update.add_column("score", LongType())
    scored = trips(4).append_column("score", pa.array([7], pa.int64()))
    dev.load_table(TRIPS).append(scored)
    main.load_table(TRIPS).append(trips(5))
    assert lake.merge("dev").status_code == 200
    found = main.load_table(TRIPS).scan().to_arrow().sort_by("id").to_pydict()
    assert found["id"] == [1, 2, 3, 4, 5]
    assert found["score"] == [None, None, None, 7, None]


@pytest.mark.slow
def test_files_of_both_branches_have_each_row_once(lake, branches):
    main, dev = branches
    for number in range(10, 20):
        (main if number % 2 else dev).load_table(TRIPS).append(trips(number))
    assert lake.merge("dev").status_code == 200
    found = main.load_table(TRIPS).scan().to_arrow()
    assert pa.compute.count_distinct(found["id"]).as_py() == found.num_rows == 13
    assert main.load_table(TRIPS).inspect.files().num_rows == 11
