"""Tables on branches, as pyiceberg writes and reads them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    ForbiddenError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType

from .conftest import ids, trips


def test_rows_are_appended_overwritten_and_deleted(lake, table):
    assert ids(lake.catalog().load_table("city.trips")) == [1, 2]
    table.overwrite(trips(3, 4))
    assert ids(table) == [3, 4]
    table.delete("id = 3")
    assert ids(lake.catalog().load_table("city.trips")) == [4]
    assert lake.messages()[:3] == [
        "Iceberg: overwrite in city.trips",
        "Iceberg: delete from city.trips",  # pyiceberg overwrites by a deletion and an append
        "Iceberg: append to city.trips",
    ]


def test_a_table_is_made_with_its_rows_in_one_commit(lake):
    before = len(lake.messages())
    with lake.catalog().create_table_transaction("city.made", trips().schema) as made:
        made.append(trips(7))
    assert ids(lake.catalog().load_table("city.made")) == [7]
    assert lake.messages()[: len(lake.messages()) - before] == ["Iceberg: create city.made"]


def test_schemas_and_partitions_evolve(lake, table):
    with table.update_schema() as update:
        update.add_column("tip", LongType())
        update.rename_column("name", "title")
    with table.update_spec() as update:
        update.add_field("title", IdentityTransform(), "by_title")
    table.append(pa.table({"id": [3], "title": ["x"], "tip": pa.array([5], pa.int64())}))
    loaded = lake.catalog().load_table("city.trips")
    assert [field.name for field in loaded.schema().fields] == ["id", "title", "tip"]
    assert [field.name for field in loaded.spec().fields] == ["by_title"]
    assert ids(loaded) == [1, 2, 3]
    assert lake.messages()[1:3] == [
        "Iceberg: change the partitions of city.trips",
        "Iceberg: change the schema of city.trips",
    ]


def test_a_branch_of_the_lake_is_one_of_its_tables(lake, table):
    dev = lake.branch("dev")
    dev.load_table("city.trips").append(trips(3))
    assert ids(dev.load_table("city.trips")) == [1, 2, 3]
    assert ids(lake.catalog().load_table("city.trips")) == [1, 2]
    lake.tag("v1")
    lake.tag("v2", "dev")
    assert lake.merge("dev").status_code == 200
    assert ids(lake.catalog().load_table("city.trips")) == [1, 2, 3]
    assert lake.api.delete(f"{lake.root}/branches/dev").status_code == 204
    table.refresh().overwrite(trips(9))
    assert ids(lake.catalog().load_table("city.trips")) == [9]
    assert ids(lake.catalog("v1").load_table("city.trips")) == [1, 2]
    assert ids(lake.catalog("v2").load_table("city.trips")) == [1, 2, 3]
    assert ids(lake.catalog("main~1").load_table("city.trips")) == [1, 2, 3]


def test_a_revert_is_one_of_the_table(lake, table):
    table.append(trips(3))
    body = {"ref": "main", "parent_number": 0}
    assert lake.api.post(f"{lake.root}/branches/main/revert", json=body).status_code == 204
    assert ids(lake.catalog().load_table("city.trips")) == [1, 2]


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("reference", ["v1", "main~1", "main@"])
def test_what_is_no_branch_is_read_only(lake, reference):
    lake.tag("v1")
    catalog = lake.catalog(reference)
    loaded = catalog.load_table("city.trips")
    with pytest.raises(ForbiddenError, match="read only"):
        loaded.update_schema().add_column("tip", LongType()).commit()
    with pytest.raises(ForbiddenError):
        catalog.create_namespace("other")
    with pytest.raises(ForbiddenError):
        catalog.drop_table("city.trips")
    with pytest.raises(ForbiddenError):
        catalog.rename_table("city.trips", "city.other")
    with pytest.raises(ForbiddenError):
        catalog.create_table("city.other", trips().schema)


@pytest.mark.usefixtures("table")
def test_tables_are_renamed_and_dropped_on_one_branch(lake):
    lake.branch("dev")
    catalog = lake.catalog()
    renamed = catalog.rename_table("city.trips", "city.rides")
    renamed.append(trips(3))
    assert catalog.list_tables("city") == [("city", "rides")]
    assert ids(catalog.load_table("city.rides")) == [1, 2, 3]
    catalog.purge_table("city.rides")
    assert catalog.list_tables("city") == []
    with pytest.raises(NoSuchTableError):
        catalog.load_table("city.rides")
    assert ids(lake.catalog("dev").load_table("city.trips")) == [1, 2]


def test_a_purge_leaves_what_a_tag_reads(lake, table):
    lake.tag("v1")
    lake.catalog().purge_table("city.trips")
    kept = lake.catalog("v1").load_table("city.trips")
    assert ids(kept) == [1, 2]
    for file in kept.inspect.files()["file_path"].to_pylist():
        table.io.delete(file)  # as an engine removes what it thinks is not needed
        with pytest.raises(OSError, match="ACCESS_DENIED"):
            kept.io.delete(file)
    assert ids(kept) == [1, 2]


def test_a_commit_on_old_metadata_is_refused(lake, table):
    other = lake.catalog().load_table("city.trips")
    table.update_schema().add_column("tip", LongType()).commit()
    with pytest.raises(CommitFailedException):
        other.update_schema().add_column("tax", LongType()).commit()


def test_snapshots_expire_on_one_branch(lake, table):
    lake.tag("v1")
    first = table.current_snapshot().snapshot_id
    table.overwrite(trips(5))
    table.maintenance.expire_snapshots().by_id(first).commit()
    assert first not in [each.snapshot_id for each in table.refresh().snapshots()]
    assert ids(lake.catalog("v1").load_table("city.trips")) == [1, 2]


def test_namespaces_have_properties_and_levels(lake):
    catalog = lake.catalog()
    catalog.create_namespace("city.raw", {"owner": "ana"})
    assert catalog.load_namespace_properties("city.raw") == {"owner": "ana"}
    changed = catalog.update_namespace_properties("city.raw", {"none"}, {"owner": "bo", "x": "1"})
    assert (sorted(changed.updated), changed.missing) == (["owner", "x"], ["none"])
    assert catalog.load_namespace_properties("city.raw") == {"owner": "bo", "x": "1"}
    assert catalog.list_namespaces("city") == [("city", "raw")]
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace("city")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("city")
    catalog.drop_namespace("city.raw")
    catalog.drop_namespace("city")
    with pytest.raises(NoSuchNamespaceError):
        catalog.drop_namespace("city")
    with pytest.raises(NoSuchNamespaceError):
        catalog.create_table("city.trips", trips().schema)


@pytest.mark.usefixtures("table")
def test_a_name_in_use_is_refused(lake):
    with pytest.raises(TableAlreadyExistsError):
        lake.catalog().create_table("city.trips", trips().schema)
    lake.catalog().create_table("city.other", trips().schema)
    with pytest.raises(TableAlreadyExistsError):
        lake.catalog().rename_table("city.other", "city.trips")


def test_changes_are_staged_where_the_table_says_so(lake):
    properties = {"anabranch.commit": "staged"}
    before = lake.messages()
    table = lake.catalog().create_table("city.later", trips().schema, properties=properties)
    table.append(trips(1))
    table.append(trips(2))
    assert ids(lake.catalog().load_table("city.later")) == [1, 2]
    assert lake.messages() == before
    with pytest.raises(NoSuchTableError):
        lake.catalog("main@").load_table("city.later")
    body = {"message": "all of it"}
    assert lake.api.post(f"{lake.root}/branches/main/commits", json=body).status_code == 201
    assert ids(lake.catalog("main@").load_table("city.later")) == [1, 2]


def test_a_table_that_is_staged_is_renamed_so_too(lake):
    staged = {"anabranch.commit": "staged"}
    main = lake.catalog()
    main.create_table("city.trips", trips().schema, properties=staged).append(trips(1))
    messages = lake.messages()
    main.rename_table("city.trips", "city.rides")
    assert ids(main.load_table("city.rides")) == [1]
    assert main.list_tables("city") == [("city", "rides")]
    assert lake.messages() == messages


def test_what_others_have_staged_is_no_part_of_a_commit(lake, table):
    place = f"{lake.root}/branches/main/objects"
    assert lake.api.post(place, params={"path": "a.csv"}, content=b"x").status_code == 201
    table.append(trips(3))
    changes = lake.api.get(f"{lake.root}/branches/main/diff").json()["results"]
    assert [each["path"] for each in changes] == ["a.csv"]
    stat = lake.api.get(f"{lake.root}/refs/main@/objects/stat", params={"path": "a.csv"})
    assert stat.status_code == 404
    assert ids(lake.catalog("main@").load_table("city.trips")) == [1, 2, 3]


@pytest.mark.usefixtures("table")
def test_the_forms_of_lakefs(lake):
    common = {"type": "rest", "credential": ":".join(lake.server.auth)}
    inside = load_catalog("a", uri=f"{lake.url}/iceberg/api", **common)
    assert (lake.name,) in inside.list_namespaces()
    assert inside.list_namespaces(lake.name) == [(lake.name, "main")]
    assert inside.list_namespaces((lake.name, "main")) == [(lake.name, "main", "city")]
    name = (lake.name, "main", "city", "trips")
    assert inside.list_tables(name[:-1]) == [name]
    inside.load_table(name).append(trips(3))
    uri = f"{lake.url}/iceberg/relative_to/{lake.name}.main/api"
    relative = load_catalog("b", uri=uri, **common)
    assert relative.list_tables("city") == [("city", "trips")]
    assert ids(relative.load_table("city.trips")) == [1, 2, 3]


def test_an_undo_is_one_of_the_table(lake, table):
    table.overwrite(trips(9))
    lake.catalog().drop_table("city.trips")
    for expected in ([9], [1, 2]):
        undone = lake.api.post(f"{lake.root}/undo", json={})
        assert undone.status_code in {200, 201}, undone.text
        assert ids(lake.catalog().load_table("city.trips")) == expected
