"""The join of what entries need with what is listed, and the choice of the entries to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.pipelines.verification.stores.needed_objects import ELSEWHERE, READ, SUSPECT
from anabranch.pipelines.verification.stores.store_looks import Chosen, Compared
from anabranch.spark.jobs.verification.kept_frames import KeptFrames
from anabranch.spark.jobs.verification.needs import FULL_BIT, POSITION_BITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["choose", "mark"]

_NUMBER = (1 << FULL_BIT) - 1
"""The number of an entry, without the bit for addresses in full."""


def mark(needed: DataFrame, listed: DataFrame) -> DataFrame:
    """Returns for each distinct object the first of the entries that need it, and its mark. Both
    sides are grouped in one shuffle, so an object that nothing needs leaves no row.
    """
    from pyspark.sql.functions import expr  # noqa: PLC0415  an extra

    there = listed.selectExpr(
        *("hash", "size", "CAST(NULL AS BIGINT) AS entry", "FALSE AS inside", "TRUE AS listed")
    )
    both = needed.selectExpr("hash", "size", "entry", "inside", "FALSE AS listed").unionAll(there)
    grouped = both.groupBy("hash", "size").agg(
        expr("min(entry) AS entry"),
        expr("bool_or(inside) AS inside"),
        expr("bool_or(listed) AS listed"),
    )
    marks = f"CASE WHEN NOT inside THEN {ELSEWHERE} WHEN listed THEN {READ} ELSE {SUSPECT} END"
    return grouped.where("entry IS NOT NULL").selectExpr("entry", f"{marks} AS mark")


def choose(marks: DataFrame, chosen: Chosen, frames: KeptFrames) -> tuple[DataFrame, Compared]:
    """Returns the source, the position and the mark of the entries to look at, with the number of
    each, and how many there are.
    """
    marks = frames.keep(marks)
    counts = {row["mark"]: row["count"] for row in marks.groupBy("mark").count().collect()}
    looked_at = marks.where(f"mark = {SUSPECT}")
    total = counts.get(SUSPECT, 0)
    for kind, size in ((READ, chosen.sample), (ELSEWHERE, chosen.elsewhere)):
        there = counts.get(kind, 0)
        if not there or size == 0:
            continue
        some = marks.where(f"mark = {kind}")
        if size is not None and size < there:
            some = _sample(some, size, chosen.seed)
        looked_at = looked_at.unionAll(some)
        total += there if size is None else min(size, there)
    entries = looked_at.selectExpr(
        "entry",
        f"shiftright(entry & {_NUMBER}L, {POSITION_BITS}) AS source",
        f"entry & {(1 << POSITION_BITS) - 1}L AS position",
        "mark",
    )
    return frames.keep(entries), Compared(sum(counts.values()), total)


def _sample(marks: DataFrame, size: int, seed: int) -> DataFrame:
    """Returns so many of the rows, which a seed chooses."""
    from pyspark.sql.functions import expr  # noqa: PLC0415  an extra

    return marks.orderBy(expr(f"xxhash64(entry, {seed}L)"), "entry").limit(size)
