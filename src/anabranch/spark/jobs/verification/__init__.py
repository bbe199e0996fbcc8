"""Verification of tables and objects by tasks of a Spark cluster.

Tasks read the tables of commits, list the store and compare objects' bytes, with the code of a
verification in one process; Spark joins what entries need with what is listed. So the findings are
the same. Rows of entries and of objects stay on the disks of the workers: nothing that grows with
the number of objects passes through the driver but staged changes, which it streams.
"""

from __future__ import annotations

import copyreg
from typing import Any

from anabranch import _kernel as kernel
from anabranch.spark.jobs.verification.looks import SparkLooks

__all__ = ["SparkLooks"]


def _reduce_range(info: kernel.RangeInfo) -> tuple[Any, ...]:
    described = info.id, info.min_key, info.max_key, info.count, info.estimated_size
    return kernel.RangeInfo, described


copyreg.pickle(kernel.RangeInfo, _reduce_range)  # in the driver and in workers
