"""Spark: commits as DataFrames, imports, exports, merges of tables, settings of S3A, transactions.

    objects = anabranch.spark.objects(spark, server, "sea", "main")
    changes = anabranch.spark.changes(spark, server, "sea", "v1", "main")
    with anabranch.spark.transaction(spark, server, "sea", "main") as branch:
        table.write.parquet(f"s3a://sea/{branch}/rides")

The driver resolves references and plans. Each task reads its part of the tables with the kernel and
passes Arrow record batches to Spark. The functions work with the caller's session and use only the
DataFrame API (no RDDs, no Java), so they support Spark Connect. Importing this package does not
import PySpark.
"""

from __future__ import annotations

from anabranch.lake.spark.s3a import configure
from anabranch.spark.data_source.registration import register
from anabranch.spark.dataframes.changes import changes
from anabranch.spark.dataframes.inventories import file_listing, inventory_listing
from anabranch.spark.dataframes.merged_tables import TableMerge, merge_tables
from anabranch.spark.dataframes.objects import objects
from anabranch.spark.dataframes.prefixes import prefix_listing
from anabranch.spark.jobs.exports import export
from anabranch.spark.jobs.images import build_image
from anabranch.spark.jobs.imports import import_listing
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import AzureStore, GoogleStore, S3Store
from anabranch.spark.transactions import transaction

__all__ = [
    "AzureStore",
    "GoogleStore",
    "S3Store",
    "Server",
    "TableMerge",
    "build_image",
    "changes",
    "configure",
    "export",
    "file_listing",
    "import_listing",
    "inventory_listing",
    "merge_tables",
    "objects",
    "prefix_listing",
    "register",
    "transaction",
]
