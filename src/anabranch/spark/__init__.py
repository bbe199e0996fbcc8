"""Commits as DataFrames of Spark: what is where, and what has changed.

    objects = anabranch.spark.objects(spark, lake, "sea", "main")
    changes = anabranch.spark.changes(spark, lake, "sea", "v1", "main")

The driver finds the commits and plans; each task reads its share of the tables with the kernel and
hands Spark whole record batches. Nothing here imports PySpark: sessions are the caller's, and only
what every session has is used (no RDD, no Java).
"""

from __future__ import annotations

from anabranch.spark.changes import changes
from anabranch.spark.objects import objects
from anabranch.spark.server import Server

__all__ = ["Server", "changes", "objects"]
