"""Spark: commits as DataFrames, what S3A needs, and work on a branch that is merged whole.

    objects = anabranch.spark.objects(spark, server, "sea", "main")
    changes = anabranch.spark.changes(spark, server, "sea", "v1", "main")

    with anabranch.spark.transaction(spark, server, "sea", "main") as branch:
        table.write.parquet(f"s3a://sea/{branch}/rides")

The driver finds the commits and plans; each task reads its share of the tables with the kernel and
hands Spark whole record batches. Nothing here imports PySpark: sessions are the caller's, and only
what every session has is used (no RDD, no Java).
"""

from __future__ import annotations

from anabranch.spark.changes import changes
from anabranch.spark.exports import export
from anabranch.spark.images import build_image
from anabranch.spark.imports import import_listing
from anabranch.spark.inventories import file_listing, inventory_listing
from anabranch.spark.objects import objects
from anabranch.spark.prefixes import prefix_listing
from anabranch.spark.registration import register
from anabranch.spark.s3a import configure
from anabranch.spark.server import Server
from anabranch.spark.stores import AzureStore, GoogleStore, S3Store
from anabranch.spark.transactions import transaction

__all__ = [
    "AzureStore",
    "GoogleStore",
    "S3Store",
    "Server",
    "build_image",
    "changes",
    "configure",
    "export",
    "file_listing",
    "import_listing",
    "inventory_listing",
    "objects",
    "prefix_listing",
    "register",
    "transaction",
]
