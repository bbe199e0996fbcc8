"""The join of the versions of a table, and what of it is merged and what conflicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  its usual name
from pyspark.sql.types import DataType

from anabranch.errors import Conflict
from anabranch.spark.dataframes.column_types import comparable
from anabranch.versioning.strategies.rows.columns import merged_names

__all__ = ["SIDES", "TableJoin", "identifier", "rejection"]

SIDES = ("base", "source", "destination")

_PRESENT = "present"
_JSON_OPTIONS = {"ignoreNullFields": "false"}


def identifier(name: str) -> str:
    """Returns the name of a column as SQL."""
    return "`" + name.replace("`", "``") + "`"


def rejection(reason: str) -> Conflict:
    """Returns the error for tables that cannot be merged."""
    return Conflict(reason, kind="merge_failed", hint="Correct the table, or choose another key.")


class TableJoin:
    """The expressions of a merge. `types` are the types of the columns of each side, `widest` those
    that the columns are compared in.

    The joined table has the key columns `k0`, `k1`, … and a struct for each side, with the other
    columns as `c0`, `c1`, …, which is null where the side does not have the row.
    """

    def __init__(
        self,
        key: Sequence[str],
        types: Mapping[str, Mapping[str, DataType]],
        widest: Mapping[str, DataType],
    ) -> None:
        self._key = key
        self._types = types
        self._widest = widest
        self._names = merged_names(*(types[side] for side in SIDES))
        self._compared = [name for name in widest if name not in key]

    def side(self, side: str, table: DataFrame) -> DataFrame:
        """Returns a table with the columns of the joined one."""

        def column(name: str) -> Column:
            return F.col(identifier(name)).cast(self._widest[name])

        keys = [column(name).alias(f"k{number}") for number, name in enumerate(self._key)]
        cells = [
            column(name).alias(f"c{number}")
            for number, name in enumerate(self._compared)
            if name in self._types[side]
        ]
        return table.select(*keys, F.struct(F.lit(1).alias(_PRESENT), *cells).alias(side))

    def require_unique(self, sides: Mapping[str, DataFrame]) -> None:
        """Raises Conflict if a table has a row without a key, or a key more than once."""
        columns = [f"k{number}" for number in range(len(self._key))]
        keys = [
            sides[side].select(F.lit(number).alias("side"), *columns)
            for number, side in enumerate(SIDES)
        ]
        any_null = reduce(Column.__or__, (F.col(name).isNull() for name in columns))
        counted = reduce(DataFrame.unionByName, keys).groupBy("side", *columns).count()
        wrong = counted.where(any_null | (F.col("count") > 1)).orderBy("side", *columns).head(1)
        for row in wrong:
            values = [row[name] for name in columns]
            if None in values:
                names = ", ".join(self._key)
                raise rejection(f"the {SIDES[row.side]} has a row without a key ({names})")
            pairs = zip(self._key, values, strict=True)
            shown = ", ".join(f"{name}={value}" for name, value in pairs)
            raise rejection(f"the {SIDES[row.side]} has the key {shown} more than once")

    def merge(self, sides: Mapping[str, DataFrame]) -> tuple[DataFrame, DataFrame]:
        """Returns the merged rows, and the conflicts, of the tables that `side` has made."""
        keys = [f"k{number}" for number in range(len(self._key))]
        joined = sides["destination"].join(sides["source"], keys, "full_outer")
        joined = joined.join(sides["base"], keys, "full_outer")
        in_base, in_source, in_destination = (F.col(side).isNotNull() for side in SIDES)
        kept = F.when(in_base, in_source & in_destination).otherwise(in_source | in_destination)
        is_removed = in_base & ~(in_source & in_destination)
        # a row that one side removed and the other changed stays as the destination has it
        changed_here = is_removed & in_destination & self._row_changed("destination")
        rows = joined.where(kept | changed_here).select(
            *(self._cell(name).alias(name) for name in self._names)
        )
        key = F.struct(*(F.col(c).alias(n) for c, n in zip(keys, self._key, strict=True)))
        found = F.explode(F.array_compact(F.array(*self._conflicts()))).alias("conflict")
        conflicts = joined.select(key.alias("key"), found).select("key", "conflict.*")
        return rows, conflicts

    def _present(self, side: str) -> Column:
        return F.col(side).isNotNull()

    def _at(self, side: str, name: str) -> Column:
        """Returns a cell. A side that dropped the column is read as unchanged there."""
        if name not in self._types[side]:
            side = "base"
            if name not in self._types[side]:
                return F.lit(None).cast(self._widest[name])
        return F.col(side)[f"c{self._compared.index(name)}"]

    def _differs(self, one: str, other: str, name: str) -> Column:
        data_type = self._widest[name]
        left, right = (comparable(self._at(side, name), data_type) for side in (one, other))
        return ~left.eqNullSafe(right)

    def _cell(self, name: str) -> Column:
        if name in self._key:
            return F.col(f"k{self._key.index(name)}")
        source, destination = self._at("source", name), self._at("destination", name)
        if name not in self._types["source"]:
            return destination
        if name not in self._types["destination"]:
            return source
        unchanged = self._present("base") & ~self._differs("destination", "base", name)
        return (
            F.when(~self._present("destination"), source)
            .when(~self._present("source"), destination)
            .when(unchanged, source)
            .otherwise(destination)
        )

    def _row_changed(self, side: str) -> Column:
        changes = (self._differs(side, "base", name) for name in self._compared)
        return reduce(lambda one, other: one | other, changes, F.lit(False))

    def _conflicts(self) -> Iterator[Column]:
        """Yields a struct for each column, and for the row, which is null without a conflict."""
        in_base, in_source, in_destination = (self._present(side) for side in SIDES)
        removed_and_changed = in_base & (
            (~in_source & in_destination & self._row_changed("destination"))
            | (~in_destination & in_source & self._row_changed("source"))
        )
        yield self._conflict("", removed_and_changed)
        for name in self._compared:
            is_new = name not in self._types["base"]
            sides = [side for side in SIDES[1:] if name in self._types[side]]
            if is_new and len(sides) == 1:
                continue
            in_all = in_source & in_destination
            changes = [self._differs(side, "base", name) for side in SIDES[1:]]
            if name not in self._names:  # one side dropped it: no value of the other may be lost
                condition = in_base & in_all & (changes[0] | changes[1])
            else:
                changed = ~in_base | (changes[0] & changes[1])
                condition = in_all & self._differs("source", "destination", name) & changed
            yield self._conflict(name, condition)

    def _conflict(self, name: str, condition: Column) -> Column:
        values = [self._value(side, name).alias(side) for side in SIDES]
        return F.when(condition, F.struct(F.lit(name).alias("column"), *values))

    def _value(self, side: str, name: str) -> Column:
        """Returns a cell, or the row without a column's name, as JSON; null without the row."""
        if name:
            has_cell = name in self._types[side]
            cell = self._at(side, name) if has_cell else F.lit(None).cast("string")
            listed = F.to_json(F.array(cell), _JSON_OPTIONS)
            text = F.substring(listed, 2, F.length(listed) - 2)  # without brackets
        else:
            cells = [n for n in self._compared if n in self._types[side]]
            row = F.struct(*(self._at(side, n).alias(n) for n in cells)) if cells else None
            text = F.lit("null") if row is None else F.to_json(row, _JSON_OPTIONS)
        return F.when(self._present(side), text)
