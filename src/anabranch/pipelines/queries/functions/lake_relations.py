"""Tables of Delta Lake and Iceberg as views that have the rows which a statement needs.

Before each statement, the views are over stand-ins without rows: the statement's plan over these
says which conditions its scans have. Then they are over the files that may have such rows.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.dataset

from anabranch.pipelines.queries.functions.needs_in_plan import needs_in_plan, stand_in_column
from anabranch.tables.lake_table import LakeTable
from anabranch.tables.live_rows.columns import Column, Scalar, require_distinct
from anabranch.tables.live_rows.needs import EVERYTHING, Needs
from anabranch.tables.live_rows.relation import (
    create_counted_relation,
    create_relation,
    typed_nulls,
)
from anabranch.tables.sql_names import identifier

__all__ = ["LakeRelations"]

_CHANGING = re.compile(
    r"\b(now|today|age|(get_)?current_\w+|local_?time\w*|\w+_timestamp|txid_current|in_search_path)\b",
    re.IGNORECASE,
)
"""Functions whose value in a plan may be another one when the statement is executed."""


class LakeRelations:
    """The tables of a DuckDB connection, by the names of their views."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._tables: dict[str, LakeTable] = {}
        self._made: dict[str, Needs] = {}
        self._is_changing = False

    def add(self, name: str, table: LakeTable) -> None:
        """Adds a table, whose view has no rows until `prepare` is called."""
        require_distinct(table.columns)
        number = len(self._tables)
        names = [stand_in_column(number, place) for place in range(len(table.columns))]
        nulls = typed_nulls(table.columns, names)
        schema = self._connection.sql(f"SELECT {nulls} LIMIT 0").to_arrow_table().schema
        for place, column in enumerate(table.columns):
            if _is_uuid(column):
                schema = schema.set(place, pa.field(names[place], pa.uuid()))
        dataset = pyarrow.dataset.dataset(schema.empty_table())
        self._connection.register(f"{name} stand-in", dataset)
        self._tables[name] = table
        self._stand_in(name)

    def prepare(self, statement: Any) -> None:
        """Makes the views those of the rows that a statement needs. Raises what reading tables
        raises.
        """
        self._is_changing |= _CHANGING.search(statement.query) is not None
        needs = self._needs(statement)
        for number, (name, table) in enumerate(self._tables.items()):
            self._create(name, table, needs.get(number, EVERYTHING))

    def _needs(self, statement: Any) -> dict[int, Needs]:
        import duckdb  # noqa: PLC0415  optional

        if statement.type != duckdb.StatementType.SELECT or self._is_changing or not self._tables:
            return {}
        for name in self._tables:
            self._stand_in(name)
        columns = {number: table.columns for number, table in enumerate(self._tables.values())}
        explain = f"EXPLAIN (FORMAT json) {statement.query}"
        try:
            plan = self._connection.execute(explain).fetchone()[1]
        except duckdb.CatalogException:
            raise  # a table is missing, which may be another one of a function
        except duckdb.Error:
            return {}  # executing the statement raises it again
        return needs_in_plan(plan, columns)

    def _create(self, name: str, table: LakeTable, needs: Needs) -> None:
        rows = f"{name} rows"
        if self._made.get(name) != needs:
            self._made.pop(name, None)
            found = table.rows(needs)
            is_counted = needs.only_counts and create_counted_relation(
                self._connection, rows, found
            )
            if not is_counted:
                create_relation(self._connection, rows, found, table.objects)
            self._made[name] = needs
        self._connection.execute(
            f"CREATE OR REPLACE VIEW {identifier(name)} AS FROM {identifier(rows)}"
        )

    def _stand_in(self, name: str) -> None:
        number = list(self._tables).index(name)
        columns = ", ".join(
            f"{stand_in_column(number, place)} AS {identifier(column.name)}"
            for place, column in enumerate(self._tables[name].columns)
        )
        source = identifier(f"{name} stand-in")
        self._connection.execute(
            f"CREATE OR REPLACE VIEW {identifier(name)} AS SELECT {columns or 'NULL'} FROM {source}"  # noqa: S608  quoted names
        )


def _is_uuid(column: Column) -> bool:
    return isinstance(column.type, Scalar) and column.type.sql == "UUID"
