"""Listings as DataFrames: files with rows, and S3 Inventories, for `import_listing`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.imports.listings.columns import parse_columns, to_listed
from anabranch.pipelines.imports.listings.files import files_at
from anabranch.pipelines.imports.listings.inventory import inventory_columns, inventory_rows_of
from anabranch.pipelines.imports.listings.sources import find_inventory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["file_listing", "inventory_listing"]

_ROWS = (
    "path STRING, physical_address STRING, size BIGINT, checksum STRING, last_modified TIMESTAMP, "
    "metadata MAP<STRING, STRING>, content_type STRING"
)
_LOCAL = "local://"


def inventory_listing(
    spark: SparkSession, place: str, blocks: BlockStore | None = None, *, prefix: str = ""
) -> DataFrame:
    """Returns the objects of the S3 Inventory whose manifest, or whose folder, is at a path or at
    an address of the store `blocks`; only keys that begin with `prefix`. Workers read the files at
    their locations, which S3A or all machines must be able to read.

    Raises NotFound, Denied, and Invalid for anything that is not an inventory.
    """
    inventory = find_inventory(place, blocks)
    manifest = inventory.manifest
    places = [_as_spark_says(where) for _, where in inventory.places]
    rows: DataFrame
    if not places:
        rows = spark.createDataFrame(
            [], ", ".join(f"{name} STRING" for name in ("bucket", "key", "size"))
        )
    elif manifest.kind == "csv":
        schema = ", ".join(f"`{name}` STRING" for name in manifest.csv_columns)
        rows = spark.read.schema(schema).option("escape", '"').csv(places)
    else:
        rows = spark.read.format(manifest.kind).load(places)
    encoded = manifest.kind == "csv"

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield inventory_rows_of(batch, encoded=encoded, prefix=prefix)

    return rows.select(*inventory_columns(rows.columns)).mapInArrow(read, _ROWS)


def file_listing(spark: SparkSession, places: Iterable[str]) -> DataFrame:
    """Returns the rows of files in Parquet, ORC or CSV. The files, or folders of files, are given
    by paths or by addresses that S3A can read; their names have the format's extension. Rows are
    read as by the local engine. Raises NotFound, Invalid.
    """
    files = [each for place in places for each in _files(place)]
    frames = [_read(spark, kind, found) for kind, found in _by_format(files).items()]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    return whole


def _read(spark: SparkSession, kind: str, places: list[str]) -> DataFrame:
    if kind == "csv":
        options = {"header": "true", "escape": '"', "multiLine": "true"}
        rows = spark.read.options(**options).csv(places)
    else:
        rows = spark.read.format(kind).load(places)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield to_listed(batch)

    return rows.select(*parse_columns(rows.columns).values()).mapInArrow(read, _ROWS)


def _files(place: str) -> list[str]:
    if "://" in place and not place.startswith("file://"):
        return [_as_spark_says(place)]
    return [_as_spark_says(str(path)) for path in files_at(Path(place.removeprefix("file://")))]


def _by_format(files: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in files:
        stem = file.rpartition("/")[2]
        kind = next((kind for kind in ("csv", "orc") if f".{kind}" in stem), "parquet")
        found.setdefault(kind, []).append(file)
    return found


def _as_spark_says(place: str) -> str:
    """Returns the URL that Spark uses for a path or an address."""
    if place.startswith(_LOCAL):
        place = place.removeprefix(_LOCAL)
    if "://" not in place:
        return Path(place).resolve().as_uri()
    scheme, _, rest = place.partition("://")
    return f"s3a://{rest}" if scheme == "s3" else place
