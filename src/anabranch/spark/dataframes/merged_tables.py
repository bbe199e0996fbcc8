"""Three-way merges of tables by key, with Spark's joins.

The rules are those of the merge strategy `rows`: a cell that one side changed takes that side, rows
that one side added or removed are added or removed, columns likewise. Null is equal to null, and
NaN to NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.errors import Conflict, Invalid
from anabranch.spark.require_version import require_version
from anabranch.versioning.strategies.rows.columns import require_usable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["TableMerge", "merge_tables"]


@dataclass(frozen=True)
class TableMerge:
    """The merge of three tables. `rows` are the merged rows, in no order; where the sides conflict,
    those of the destination. `conflicts` are rows and cells that both sides changed differently:
    `key`, a struct of the key columns; `column`, "" if one side removed the row and the other
    changed it; and the values in `base`, `source` and `destination` as JSON, null where a side does
    not have the row. Both are computed when they are used.
    """

    rows: DataFrame
    conflicts: DataFrame

    def write(self, path: str) -> None:
        """Writes the rows to a new folder of Parquet files. Raises Conflict (kind merge_conflict)
        if the sides conflict, and writes nothing then.
        """
        found = self.conflicts.head(1)
        if found:
            key = ", ".join(f"{name}={value}" for name, value in found[0].key.asDict().items())
            place = f"the column {found[0].column!r} of the row" if found[0].column else "the row"
            raise Conflict(
                f"both sides changed {place} {key}",
                kind="merge_conflict",
                hint="The table `conflicts` of the merge has all conflicts.",
            )
        self.rows.write.parquet(path)


def merge_tables(
    spark: SparkSession,
    base: DataFrame | str | None,
    source: DataFrame | str,
    destination: DataFrame | str,
    *,
    key: str | Sequence[str],
) -> TableMerge:
    """Returns the merge of three versions of a table: DataFrames, or the addresses of folders of
    Parquet files. `base` is None if both sides added the table. `key` names the columns that
    identify a row.

    Reads the keys at once. Raises Conflict (kind merge_failed) for a row without a key, a key that
    occurs twice, which it names, and columns of clashing types; Invalid without a key column.
    """
    # PySpark is slow to import
    from anabranch.spark.dataframes import table_join  # noqa: PLC0415
    from anabranch.spark.dataframes.column_types import widest_types  # noqa: PLC0415

    require_version(spark)
    names = [key] if isinstance(key, str) else list(key if isinstance(key, Sequence) else ())
    if not names or not all(isinstance(name, str) and name for name in names):
        raise Invalid(f"key: must be the names of columns, not {key!r}", kind="invalid_key")
    given = {"base": base, "source": source, "destination": destination}
    tables = {
        side: spark.read.parquet(table) if isinstance(table, str) else table
        for side, table in given.items()
        if table is not None
    }
    for side, table in tables.items():
        require_usable(side, table.columns)
        missing = [name for name in names if name not in table.columns]
        if missing:
            raise table_join.rejection(f"the {side} has no key column {missing[0]!r}")
    if base is None:
        tables["base"] = tables["source"].select(*map(table_join.identifier, names)).limit(0)
    types = {
        side: {field.name: field.dataType for field in tables[side].schema}
        for side in table_join.SIDES
    }
    join = table_join.TableJoin(names, types, widest_types(spark, types))
    sides = {side: join.side(side, tables[side]) for side in table_join.SIDES}
    join.require_unique(sides)
    return TableMerge(*join.merge(sides))
