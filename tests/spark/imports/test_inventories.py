"""Inventories and files of rows on Spark have the same rows as with the local engine."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest
from support.formats.inventories import FORMATS, Version, write_inventory

import anabranch.spark
from anabranch.errors import Invalid, NotFound
from anabranch.pipelines.imports.listings.sources import ListingSource

pytestmark = pytest.mark.timeout(600)


def rows_of_both(frame, source, tmp_path):
    """Yields the rows of Spark and of the local engine, sorted. Empty strings become None, because
    CSV does not distinguish them.
    """
    local = pa.Table.from_batches(list(source.rows(None)(tmp_path)))
    spark = frame.toArrow().cast(local.schema)
    for rows in (spark.to_pylist(), local.to_pylist()):
        for row in rows:
            row.update({name: value or None for name, value in row.items()})
        yield sorted(rows, key=lambda row: (row["path"] or "", str(row)))


@pytest.mark.parametrize("kind", FORMATS)
def test_inventory_rows_equal_those_of_the_local_engine(spark, tmp_path, kind):
    rows = [Version(f"a/{name}", n) for n, name in enumerate(['é +%"', "x,\n", "b", ""])]
    rows += [Version("a/gone", 5, latest=False), Version("a/gone", None)]
    rows += [Version("a/old", 6, latest=False), Version("a/old", 7), Version("other", 8)]
    location = str(write_inventory(tmp_path, kind, rows, versions=True))
    frame = anabranch.spark.inventory_listing(spark, location, prefix="a/")
    actual, expected = rows_of_both(
        frame, ListingSource(location, inventory=True, prefix="a/"), tmp_path
    )
    assert actual == expected
    assert [each["path"] for each in actual] == ["b", "old", "x,\n", 'é +%"']


def test_empty_inventory_has_no_rows(spark, tmp_path):
    location = write_inventory(tmp_path, "CSV", [], files=0)
    assert anabranch.spark.inventory_listing(spark, str(location)).count() == 0


def test_rows_of_files_equal_those_of_the_local_engine(spark, tmp_path):
    rows = {
        "Path": ["ä", 'b,\n"c', None],
        "physical_address": ["s3://b/1", "s3://b/2", ""],
        "size": ["1", "many", "-3"],
        "metadata": ['{"k": "v"}', "", "{}"],
        "other": ["x", "y", "z"],
    }
    table = pa.table(rows)
    folder = tmp_path / "rows"
    folder.mkdir()
    pq.write_table(table, folder / "a.parquet")
    pa_orc.write_table(table, folder / "b.orc")
    pa_csv.write_csv(table, folder / "c.csv")
    (folder / "_SUCCESS").touch()
    frame = anabranch.spark.file_listing(spark, [str(folder)])
    actual, expected = rows_of_both(frame, ListingSource(folder), tmp_path)
    assert actual == expected
    assert [each["size"] for each in actual] == [-3] * 3 + [None] * 3 + [1] * 3


def test_missing_files_and_columns_raise_errors(spark, tmp_path):
    with pytest.raises(NotFound):
        anabranch.spark.file_listing(spark, [str(tmp_path / "none")])
    with pytest.raises(NotFound):
        anabranch.spark.inventory_listing(spark, str(tmp_path))
    pq.write_table(pa.table({"path": ["a"]}), tmp_path / "l.parquet")
    with pytest.raises(Invalid, match="no column physical_address, size"):
        anabranch.spark.file_listing(spark, [str(tmp_path / "l.parquet")])
