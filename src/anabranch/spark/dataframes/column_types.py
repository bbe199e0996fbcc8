"""Types of columns that tables to be merged have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812  their usual names
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.types import DataType

from anabranch.errors import Conflict

__all__ = ["comparable", "widest_types"]

_FAMILIES = {
    "number": ("byte", "short", "integer", "long", "float", "double", "decimal"),
    "date": ("date", "timestamp", "timestamp_ntz"),
}
"""Types whose values can be widened to each other."""


def widest_types(
    spark: SparkSession, tables: Mapping[str, Mapping[str, DataType]]
) -> dict[str, DataType]:
    """Returns the types that hold the values of the columns of all tables, by name. The columns of
    the last table come first. Raises Conflict if there is no such type.
    """
    found: dict[str, list[DataType]] = {}
    for types in reversed(list(tables.values())):
        for name, data_type in types.items():
            found.setdefault(name, []).insert(0, data_type)
    return {name: _widest_type(spark, name, types) for name, types in found.items()}


def _widest_type(spark: SparkSession, name: str, types: Sequence[DataType]) -> DataType:
    widest = types[0]
    for other in types[1:]:
        found = _wider(spark, widest, other)
        if found is None:
            raise Conflict(
                f"the column {name!r} has clashing types: {widest.simpleString()} and "
                f"{other.simpleString()}",
                kind="merge_failed",
                hint="Give the column one type in all tables.",
            )
        widest = found
    return widest


def comparable(column: Column, data_type: DataType) -> Column:
    """Returns a column that is equal if and only if the given one is; Spark does not compare maps,
    so these are compared as JSON.
    """
    if "map<" not in data_type.simpleString():
        return column
    return F.to_json(F.array(column), {"ignoreNullFields": "false"})


def _wider(spark: SparkSession, one: DataType, other: DataType) -> DataType | None:
    if one.simpleString() == other.simpleString():  # they may differ in what may be null
        return one
    if isinstance(one, T.StructType) and isinstance(other, T.StructType):
        return _wider_struct(spark, one, other)
    if isinstance(one, T.ArrayType) and isinstance(other, T.ArrayType):
        element = _wider(spark, one.elementType, other.elementType)
        return None if element is None else T.ArrayType(element)
    if _family(one) != _family(other):
        return None
    tables = [
        spark.createDataFrame([], T.StructType([T.StructField("v", t)])) for t in (one, other)
    ]
    return tables[0].union(tables[1]).schema["v"].dataType


def _wider_struct(spark: SparkSession, one: T.StructType, other: T.StructType) -> DataType | None:
    if one.names != other.names:
        return None
    fields = []
    for field, their in zip(one, other, strict=True):
        found = _wider(spark, field.dataType, their.dataType)
        if found is None:
            return None
        fields.append(T.StructField(field.name, found))
    return T.StructType(fields)


def _family(data_type: DataType) -> str:
    name = data_type.typeName()
    return next(
        (family for family, names in _FAMILIES.items() if name in names), f"only {data_type}"
    )
