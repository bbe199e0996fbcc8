"""Random operations on tables, made by the formats' own packages, which also read the rows."""

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.types import LongType, StringType
from support.formats.folder_objects import FolderObjects, live_rows
from support.formats.iceberg_tables import FolderCatalog
from support.formats.table_rows import comparable_rows
from support.session.hypothesis_profiles import examples

from anabranch.tables.delta.snapshot import read_delta_table
from anabranch.tables.iceberg.snapshot import read_iceberg_table
from anabranch.tables.live_rows.addresses import TablePlace

PLACE = TablePlace("sea", "t/")
NUMBERS = st.integers(0, 9)
TEXTS = st.one_of(st.none(), st.sampled_from(["", "a b", "ü%2F:", "x/y", "[c]*", "é\u0001"]))
ROWS = st.lists(st.tuples(NUMBERS, TEXTS), min_size=1, max_size=4)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), ROWS),
        st.tuples(st.just("overwrite"), ROWS),
        st.tuples(st.just("delete"), NUMBERS),
        st.tuples(st.just("update"), NUMBERS),
        st.tuples(st.sampled_from(["checkpoint", "compact", "add", "rename"]), st.none()),
    ),
    min_size=1,
    max_size=6,
)


def data(rows, *names):
    numbers, texts = zip(*rows, strict=True)
    columns = [pa.array(numbers, pa.int64()), pa.array(texts, pa.string())]
    return pa.table(dict(zip(names, columns, strict=True)))


def change_delta(folder, operation, given):
    table = DeltaTable(folder)
    if operation in ("append", "overwrite"):
        rows = data(given, "id", "text")
        write_deltalake(folder, rows, mode=operation, schema_mode="merge")
    elif operation == "delete":
        table.delete(f"id > {given}")
    elif operation == "update":
        table.update(updates={"text": "'changed'"}, predicate=f"id = {given}")
    elif operation == "checkpoint":
        table.create_checkpoint()
    elif operation == "compact":
        table.optimize.compact()
    elif operation == "add":
        more = data([(1, "m")], "id", "text").append_column("more", pa.array([b"\xff"]))
        write_deltalake(folder, more, mode="append", schema_mode="merge")


@settings(max_examples=examples(12), deadline=None)
@given(ROWS, OPERATIONS, st.sampled_from([[], ["text"], ["id"]]))
def test_delta_tables(tmp_path_factory, rows, operations, columns):
    folder = tmp_path_factory.mktemp("delta")
    objects = FolderObjects(folder)
    write_deltalake(folder / "t", data(rows, "id", "text"), partition_by=columns)
    for operation in operations:
        change_delta(folder / "t", *operation)
    for version in range(DeltaTable(folder / "t").version() + 1):
        expected = DeltaTable(folder / "t", version=version).to_pyarrow_table()
        found = live_rows(read_delta_table(objects, PLACE, version), objects)
        assert found.column_names == expected.column_names
        assert comparable_rows(found) == comparable_rows(expected)


def change_iceberg(catalog, operation, given):
    table = catalog.load()
    names = table.schema().column_names[:2]
    if operation == "append":
        table.append(data(given, *names))
    elif operation == "overwrite":
        table.overwrite(data(given, *names))
    elif operation == "delete":
        table.delete(f"{names[0]} > {given}")
    elif operation == "update":
        table.overwrite(data([(given, "changed")], *names), f"{names[0]} = {given}")
    elif operation == "add":
        with table.update_schema() as update:
            update.add_column(f"more{len(table.schema().column_names)}", StringType())
    elif operation == "rename":
        with table.update_schema() as update:
            update.rename_column(names[0], f"{names[0]}_")
    elif operation == "checkpoint":
        with table.update_schema() as update:
            update.add_column(f"n{len(table.schema().column_names)}", LongType())


@settings(max_examples=examples(12), deadline=None)
@given(ROWS, OPERATIONS)
def test_iceberg_tables(tmp_path_factory, rows, operations):
    folder = tmp_path_factory.mktemp("iceberg")
    objects = FolderObjects(folder)
    (folder / "t").mkdir()
    catalog = FolderCatalog(folder / "t")
    catalog.create()
    catalog.load().append(data(rows, "id", "day"))
    for operation in operations:
        change_iceberg(catalog, *operation)
    table = catalog.load()
    for number in (None, *(each.snapshot_id for each in table.snapshots())):
        expected = table.scan(snapshot_id=number).to_arrow()
        found = live_rows(read_iceberg_table(objects, PLACE, number), objects)
        assert found.column_names == expected.column_names
        assert comparable_rows(found) == comparable_rows(expected)
