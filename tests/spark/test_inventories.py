"""Inventories and files of rows on Spark: the rows that the local engine reads."""

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


def both(frame, source, tmp_path):
    """Returns the rows of both engines, in the same order; CSV has no other nothing than ""."""
    ours = pa.Table.from_batches(list(source.rows(None)(tmp_path)))
    spark = frame.toArrow().cast(ours.schema)
    for rows in (spark.to_pylist(), ours.to_pylist()):
        for row in rows:
            row.update({name: value or None for name, value in row.items()})
        yield sorted(rows, key=lambda row: (row["path"] or "", str(row)))


@pytest.mark.parametrize("kind", FORMATS)
def test_an_inventory(spark, tmp_path, kind):
    rows = [Version(f"a/{name}", n) for n, name in enumerate(['é +%"', "x,\n", "b", ""])]
    rows += [Version("a/gone", 5, latest=False), Version("a/gone", None)]
    rows += [Version("a/old", 6, latest=False), Version("a/old", 7), Version("other", 8)]
    place = str(write_inventory(tmp_path, kind, rows, versions=True))
    frame = anabranch.spark.inventory_listing(spark, place, prefix="a/")
    found, expected = both(frame, ListingSource(place, inventory=True, prefix="a/"), tmp_path)
    assert found == expected
    assert [each["path"] for each in found] == ["b", "old", "x,\n", 'é +%"']


def test_an_inventory_of_nothing(spark, tmp_path):
    place = write_inventory(tmp_path, "CSV", [], files=0)
    assert anabranch.spark.inventory_listing(spark, str(place)).count() == 0


def test_files_of_rows(spark, tmp_path):
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
    found, expected = both(frame, ListingSource(folder), tmp_path)
    assert found == expected
    assert [each["size"] for each in found] == [-3] * 3 + [None] * 3 + [1] * 3


def test_what_cannot_be(spark, tmp_path):
    with pytest.raises(NotFound):
        anabranch.spark.file_listing(spark, [str(tmp_path / "none")])
    with pytest.raises(NotFound):
        anabranch.spark.inventory_listing(spark, str(tmp_path))
    pq.write_table(pa.table({"path": ["a"]}), tmp_path / "l.parquet")
    with pytest.raises(Invalid, match="no column physical_address, size"):
        anabranch.spark.file_listing(spark, [str(tmp_path / "l.parquet")])
