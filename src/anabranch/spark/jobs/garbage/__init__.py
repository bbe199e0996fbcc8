"""Garbage collection on a Spark cluster.

    from anabranch.spark.jobs.garbage import SparkEngine

    with collector.mark("sea", engine=SparkEngine(spark)) as run:
        run.sweep(rate=2000)

Nothing that grows with the number of objects passes through the driver: the listing, the dead
objects and the candidates are files in the store, which tasks write and read.
"""

from __future__ import annotations

from anabranch.spark.jobs.garbage.engine import SparkEngine, served_installation

__all__ = ["SparkEngine", "served_installation"]
