"""Listings for `import_listing` as DataFrames: files of rows, and S3 Inventories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.imports.listings.columns import parse_columns, to_listed
from anabranch.pipelines.imports.listings.files import files_at
from anabranch.pipelines.imports.listings.inventory import inventory_columns, to_listing_rows
from anabranch.pipelines.imports.listings.sources import find_inventory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["file_listing", "inventory_listing"]

_LISTING_SCHEMA = (
    "path STRING, physical_address STRING, size BIGINT, checksum STRING, last_modified TIMESTAMP, "
    "metadata MAP<STRING, STRING>, content_type STRING"
)
_LOCAL = "local://"


def inventory_listing(
    spark: SparkSession, location: str, blocks: BlockStore | None = None, *, prefix: str = ""
) -> DataFrame:
    """Returns the objects of an S3 Inventory whose keys begin with `prefix`. `location` is the path
    of its manifest or of its folder, or an address of either in the store `blocks`. Workers read
    the files of the inventory in place, through S3A or from a path that all machines share.

    Raises NotFound, Denied, and Invalid for anything that is not an inventory.
    """
    inventory = find_inventory(location, blocks)
    manifest = inventory.manifest
    urls = [_spark_url(each) for _, each in inventory.places]
    rows: DataFrame
    if not urls:
        rows = spark.createDataFrame(
            [], ", ".join(f"{name} STRING" for name in ("bucket", "key", "size"))
        )
    elif manifest.kind == "csv":
        schema = ", ".join(f"`{name}` STRING" for name in manifest.csv_columns)
        rows = spark.read.schema(schema).option("escape", '"').csv(urls)
    else:
        rows = spark.read.format(manifest.kind).load(urls)
    encoded = manifest.kind == "csv"

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield to_listing_rows(batch, encoded=encoded, prefix=prefix)

    return rows.select(*inventory_columns(rows.columns)).mapInArrow(read, _LISTING_SCHEMA)


def file_listing(spark: SparkSession, locations: Iterable[str]) -> DataFrame:
    """Returns the rows of Parquet, ORC or CSV files. `locations` are paths, or addresses that S3A
    can read, of files or of folders of files; the extension of a file is that of its format. Rows
    are parsed as by the local engine. Raises NotFound, Invalid.
    """
    urls = [url for location in locations for url in _file_urls(location)]
    frames = [_read(spark, kind, each) for kind, each in _by_format(urls).items()]
    union = frames[0]
    for frame in frames[1:]:
        union = union.unionByName(frame)
    return union


def _read(spark: SparkSession, kind: str, urls: list[str]) -> DataFrame:
    if kind == "csv":
        options = {"header": "true", "escape": '"', "multiLine": "true"}
        rows = spark.read.options(**options).csv(urls)
    else:
        rows = spark.read.format(kind).load(urls)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield to_listed(batch)

    return rows.select(*parse_columns(rows.columns).values()).mapInArrow(read, _LISTING_SCHEMA)


def _file_urls(location: str) -> list[str]:
    if "://" in location and not location.startswith("file://"):
        return [_spark_url(location)]
    return [_spark_url(str(path)) for path in files_at(Path(location.removeprefix("file://")))]


def _by_format(urls: list[str]) -> dict[str, list[str]]:
    by_format: dict[str, list[str]] = {}
    for url in urls:
        name = url.rpartition("/")[2]
        kind = next((kind for kind in ("csv", "orc") if f".{kind}" in name), "parquet")
        by_format.setdefault(kind, []).append(url)
    return by_format


def _spark_url(location: str) -> str:
    """Returns the URL that Spark uses for a path or an address."""
    location = location.removeprefix(_LOCAL)
    if "://" not in location:
        return Path(location).resolve().as_uri()
    scheme, _, rest = location.partition("://")
    return f"s3a://{rest}" if scheme == "s3" else location
