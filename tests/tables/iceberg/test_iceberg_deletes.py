"""Rows that Iceberg tables have deleted: by position, by vectors, by equality."""

import pyarrow as pa
import pytest
from pyiceberg.types import (
    LongType,
)
from support.formats.iceberg_tables import FolderCatalog

from .conftest import ROWS, append, assert_same, create, stored


@pytest.mark.sample(1)
@pytest.mark.parametrize("only", [True, False], ids=["one-file", "any-file"])
def test_rows_of_position_deletes_are_left_out(folder, read, deletes, only):
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, *ROWS[:4])
    (first,) = deletes.data_files()
    deletes.delete_positions([(first, 1), (first, 3)], only=first if only else "")
    append(catalog, *ROWS[4:])
    second = next(each for each in deletes.data_files() if each != first)
    deletes.delete_positions([(second, 0)])
    assert sorted(read()["id"].to_pylist()) == [0, 2, 5, 6, 7]
    assert_same(read, catalog)  # pyiceberg applies them, too


def test_position_deletes_do_not_concern_files_of_later_snapshots(folder, read, deletes):
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, *ROWS[:2])
    (address,) = deletes.data_files()
    deletes.delete_positions([(address, 0)])
    # a file with the same address is added once more, as after a rollback
    metadata = deletes.metadata()
    old, new = metadata["snapshots"]
    assert read(old["snapshot-id"]).num_rows == 2
    assert read(new["snapshot-id"])["id"].to_pylist() == [1]


def test_vectors_in_puffin_files_replace_position_deletes(folder, read, deletes):
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, *ROWS)
    (address,) = deletes.data_files()
    deletes.delete_positions([(address, 0)])
    deletes.delete_vector(address, [5, 6])
    deletes.change_metadata(**{"format-version": 3})
    assert sorted(read()["id"].to_pylist()) == [0, 1, 2, 3, 4, 7]


def values(schema, *rows):
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def test_rows_of_equality_deletes_are_left_out(folder, read, deletes):
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, *ROWS)
    number, text = stored(catalog, "id", pa.int64()), stored(catalog, "text", pa.string())
    deletes.delete_values(values(pa.schema([number]), [1], [2], [99]))
    deletes.delete_values(
        values(pa.schema([number, text]), [3, None], [4, "b ü/:%"], [5, "b ü/:%"])
    )
    append(catalog, ROWS[1], ROWS[5])  # newer rows stay
    assert sorted(read()["id"].to_pylist()) == [0, 1, 4, 5, 6, 7]


def test_equality_deletes_follow_renamed_widened_and_dropped_columns(folder, read, deletes):
    catalog = FolderCatalog(folder)
    create(catalog)
    append(catalog, *ROWS)
    text = stored(catalog, "text", pa.string())
    with catalog.load().update_schema() as update:
        update.rename_column("small", "wide")
        update.update_column("small", LongType())
        update.delete_column("text")
    wide = stored(catalog, "wide", pa.int64())
    deletes.delete_values(values(pa.schema([wide]), [-2]))
    deletes.delete_values(values(pa.schema([text]), ["b ü/:%"]))
    kept = [each for each in range(8) if each != 2 and ROWS[each]["text"] != "b ü/:%"]
    assert sorted(read()["id"].to_pylist()) == kept


def test_equality_deletes_concern_their_partition(folder, read, deletes):
    catalog = FolderCatalog(folder)
    create(catalog, "flag")
    append(catalog, *ROWS)
    deletes.delete_values(
        values(pa.schema([stored(catalog, "id", pa.int64())]), [1], [2]), flag=True
    )
    assert sorted(read()["id"].to_pylist()) == [0, 2, 3, 4, 5, 6, 7]
