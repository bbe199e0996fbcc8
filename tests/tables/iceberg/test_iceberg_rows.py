"""Rows of Iceberg tables, as the package pyiceberg reads them."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
)
from support.formats.iceberg_tables import FolderCatalog

from anabranch.errors import Invalid
from anabranch.tables.iceberg.snapshot import read_iceberg_versions
from anabranch.tables.json_values import json_column

from .conftest import PLACE, ROWS, append, assert_same, create, stored


@pytest.mark.parametrize(
    "columns",
    [
        *([], ["text"], ["day"], ["price"], ["at"], ["local"], ["flag"], ["raw"], ["small"]),
        *(["time"], ["text", "day", "flag"]),
    ],
    ids="-".join,
)
@pytest.mark.sample(1)
def test_rows_of_partitions_by_every_type_are_those_of_pyiceberg(folder, read, columns):
    catalog = FolderCatalog(folder)
    create(catalog, *columns)
    append(catalog, *ROWS)
    append(catalog, *ROWS[:2])
    catalog.load().delete("id = 3")
    for snapshot in catalog.load().snapshots():
        assert_same(read, catalog, snapshot.snapshot_id)
    assert_same(read, catalog)


@pytest.mark.sample(1)
def test_columns_are_known_by_their_ids(catalog, read):
    create(catalog, "text")
    append(catalog, *ROWS)
    before = catalog.load().current_snapshot().snapshot_id
    with catalog.load().update_schema() as update:
        update.rename_column("id", "number")
        update.rename_column("nested.x", "z")
        update.rename_column("by_name.value.y", "yy")
        update.rename_column("text", "words")
        update.add_column(("by_name", "value", "q"), IntegerType())
        update.delete_column("level")
        update.update_column("small", LongType())
        update.update_column("ratio", DoubleType())
        update.update_column("price", DecimalType(20, 2))
        update.move_first("flag")
    with catalog.load().update_schema() as update:
        update.add_column("id", StringType())
        update.add_column(("nested", "x"), IntegerType())
    assert_same(read, catalog)
    append(
        catalog,
        {"number": 100, "id": "e", "small": 2**40, "nested": {"z": 1, "x": 2, "words": None}},
        {"price": Decimal("123456789012345678.25"), "ratio": 0.1, "words": "a"},
    )
    assert_same(read, catalog)
    assert_same(read, catalog, before)
    assert read()["id"].to_pylist().count("e") == 1


@pytest.mark.sample(1)
def test_operations_leave_the_rows_that_pyiceberg_reads(catalog, read):
    create(catalog, "flag")
    assert read().num_rows == 0
    append(catalog, *ROWS)
    table = catalog.load()
    new = pa.Table.from_pylist([{**ROWS[1], "text": "new"}], table.schema().as_arrow())
    table.overwrite(new, overwrite_filter="id = 1")
    assert_same(read, catalog)
    catalog.load().dynamic_partition_overwrite(new)
    assert_same(read, catalog)
    catalog.load().delete("id >= 0")
    assert read().num_rows == 0


@pytest.mark.sample(1)
def test_partition_specs_may_change(catalog, read):
    create(catalog, "flag")
    append(catalog, *ROWS)
    with catalog.load().update_spec() as update:
        update.remove_field("flag")
        update.add_identity("day")
    append(catalog, *ROWS[:3])
    catalog.load().delete("small = -2")
    assert_same(read, catalog)


@pytest.mark.sample(1)
def test_branches_and_tags_of_the_table_are_read_by_name(catalog, read):
    create(catalog)
    append(catalog, *ROWS[:2])
    table = catalog.load()
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "two").commit()
    append(catalog, *ROWS[2:3])
    with catalog.load().update_schema() as update:
        update.rename_column("id", "number")
    assert read("two")["id"].to_pylist() == [0, 1]
    assert sorted(read("main")["number"].to_pylist()) == [0, 1, 2]
    with pytest.raises(Invalid, match="no branch or tag 'three'"):
        read("three")
    with pytest.raises(Invalid, match="no snapshot 5"):
        read(5)


@pytest.mark.sample(1)
def test_a_preview_reads_as_many_files_as_it_needs(catalog, objects, read):
    create(catalog)
    for row in ROWS[:5]:
        append(catalog, row)
    assert read(max_rows=2).num_rows == 2
    assert sum(path.endswith(".parquet") for path in objects.opened) == 2


@pytest.mark.sample(1)
def test_versions_are_snapshots(catalog, objects):
    create(catalog)
    append(catalog, *ROWS[:1])
    append(catalog, *ROWS[:1])
    catalog.load().delete("id = 0")
    found = read_iceberg_versions(objects, PLACE, 10)
    expected = reversed(catalog.load().snapshots())
    assert [(each.version, each.time, each.operation) for each in found] == [
        (each.snapshot_id, each.timestamp_ms, each.summary.operation.value) for each in expected
    ]
    assert read_iceberg_versions(objects, PLACE, 1) == found[:1]


def test_new_columns_have_their_defaults_in_old_rows(folder, read, deletes):
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, *ROWS[:1])
    metadata = deletes.metadata()
    (schema,) = metadata["schemas"]
    defaults = {
        "int": 7,
        "string": "it's",
        "boolean": True,
        "decimal(9, 2)": "14.20",
        "date": "2007-12-03",
        "timestamptz": "2007-12-03T10:15:30.000001+00:00",
        "timestamp": "2007-12-03T10:15:30",
        "time": "10:15:30",
        "binary": "00ff",
        "uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7",
        "double": 1.5,
    }
    added = [
        {"id": 100 + number, "name": f"n{number}", "required": False, "type": kind}
        | {"initial-default": value}
        for number, (kind, value) in enumerate(defaults.items())
    ]
    changed = {**schema, "fields": [*schema["fields"], *added]}
    deletes.change_metadata(schemas=[changed], **{"format-version": 3})
    (row,) = read().select([f"n{number}" for number in range(len(defaults))]).to_pylist()
    assert list(row.values()) == [
        *(7, "it's", True, Decimal("14.20"), dt.date(2007, 12, 3)),
        dt.datetime(2007, 12, 3, 10, 15, 30, 1, tzinfo=dt.UTC),
        dt.datetime(2007, 12, 3, 10, 15, 30),  # noqa: DTZ001
        *(dt.time(10, 15, 30), b"\x00\xff", defaults["uuid"], 1.5),
    ]


@pytest.mark.parametrize("year", ["-0043", "0001", "1582", "+20240", "+123456"])
def test_defaults_may_be_of_any_year(folder, read, deletes, year):
    # ISO 8601 has a sign before years of more than four digits, as Java writes them
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, *ROWS[:1])
    kinds = {"date": "", "timestamp": "T10:15:30", "timestamptz": "T10:15:30.5+00:00"}
    added = [
        {"id": 100 + number, "name": kind, "required": False, "type": kind}
        | {"initial-default": f"{year}-03-15{time}"}
        for number, (kind, time) in enumerate(kinds.items())
    ]
    (schema,) = deletes.metadata()["schemas"]
    changed = {**schema, "fields": [*schema["fields"], *added]}
    deletes.change_metadata(schemas=[changed], **{"format-version": 3})
    shown = [json_column(each)[0] for each in read().select(list(kinds)).columns]
    day = f"{year.removeprefix('+')}-03-15"
    assert shown == [day, f"{day} 10:15:30", f"{day} 10:15:30.500000+00:00"]


def test_a_new_struct_has_the_defaults_of_its_fields(folder, read, deletes):
    # "Default values": that of a struct is empty, and its fields have their own
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, *ROWS[:1])
    parts = [
        {"id": 101, "name": "x", "required": True, "type": "int", "initial-default": 7},
        {"id": 102, "name": "y", "required": False, "type": "string"},
    ]
    kind = {"type": "struct", "fields": parts}
    new = {"id": 100, "name": "s", "required": True, "type": kind, "initial-default": {}}
    (schema,) = deletes.metadata()["schemas"]
    changed = {**schema, "fields": [*schema["fields"], new]}
    deletes.change_metadata(schemas=[changed], **{"format-version": 3})
    assert read().select(["s"]).to_pylist() == [{"s": {"x": 7, "y": None}}]


def test_files_without_ids_need_a_name_mapping(folder, read, deletes):
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, *ROWS[:2])
    (address,) = deletes.data_files()
    path = address.removeprefix("file://")

    def number(name):
        return catalog.load().schema().find_field(name).field_id

    plain = pa.table({"ident": [1, 2], "nested": [{"old": 5}, None]})
    pa.parquet.write_table(plain, path)
    with pytest.raises(Invalid, match="have no ids, by which they are known"):
        read()
    mapping = [
        {"field-id": number("id"), "names": ["id", "ident"]},
        {
            "field-id": number("nested"),
            "names": ["nested"],
            "fields": [{"field-id": number("nested.x"), "names": ["old", "x"]}],
        },
    ]
    deletes.change_metadata(properties={"schema.name-mapping.default": json.dumps(mapping)})
    found = read().select(["id", "nested", "text"]).to_pylist()
    assert found == [
        {"id": 1, "nested": {"x": 5, "words": None}, "text": None},
        {"id": 2, "nested": None, "text": None},
    ]


def test_files_without_the_partition_column_have_its_value(folder, read, deletes):
    catalog = FolderCatalog(folder)
    create(catalog, "text")
    append(catalog, ROWS[2])
    (address,) = deletes.data_files()
    lacking = pa.table([[8]], schema=pa.schema([stored(catalog, "id", pa.int64())]))
    pa.parquet.write_table(lacking, address.removeprefix("file://"))
    assert read().select(["id", "text"]).to_pylist() == [{"id": 8, "text": "a"}]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format-version": 4}, "format version 4"),
        ({"current-snapshot-id": 5}, "does not have its current snapshot"),
        ({"current-schema-id": 5}, "cannot be read"),
        ({"schemas": [{"schema-id": 0, "fields": [{"id": 1}]}]}, "cannot be read"),
        ({"partition-specs": 7}, "cannot be read"),
        ({"snapshots": 7}, "cannot be read"),
        ({"properties": {"schema.name-mapping.default": "{"}}, "cannot be read"),
    ],
)
def test_damaged_metadata_are_refused(folder, read, deletes, changes, reason):
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, ROWS[1])
    deletes.change_metadata(**changes)
    with pytest.raises(Invalid, match=reason):
        read()


@pytest.mark.parametrize(
    "address", ["s3://land/main/m.avro", "file:///etc/passwd", "../x/metadata/m.avro"]
)
def test_metadata_that_refer_to_other_places_are_refused(folder, read, deletes, address):
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, ROWS[1])
    (snapshot,) = deletes.metadata()["snapshots"]
    deletes.change_metadata(snapshots=[{**snapshot, "manifest-list": address}])
    with pytest.raises(Invalid, match=r"outside of the repository sea|no path of an object"):
        read()
