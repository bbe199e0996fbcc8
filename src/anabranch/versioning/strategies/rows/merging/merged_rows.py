"""The rows of a merge: the destination's as they are, with cells and rows of the source, and of the
base where that was chosen for a conflict.

The destination is read once, in order. Where nothing was changed, its values pass through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.tables.lists import entries, is_list
from anabranch.tables.row_selection import rows_at
from anabranch.tables.row_taking import ChunkedRows, concatenate, take_values
from anabranch.tables.table import Table, read_columns
from anabranch.tables.widening import convert
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions, Taken
from anabranch.versioning.strategies.rows.merging.merged_schema import may_have_null
from anabranch.versioning.strategies.rows.table_format import failure

__all__ = ["MergedRows"]

_INDEX_BITS = 32

_Cells = dict[tuple[str, str], tuple[ChunkedRows, Any]]
"""Cells by side and column, and the numbers of their rows, in order."""


class MergedRows:
    """The rows of a merge. `schema` is that of the merge, `folder` for temporary files."""

    def __init__(
        self,
        decisions: CellDecisions,
        tables: Mapping[str, Table],
        schema: Any,
        folder: str,
    ) -> None:
        self._removed = decisions.removed()
        self._added = {"source": decisions.added(), "base": decisions.restored()}
        self._taken = decisions.taken()
        self._tables = tables
        self._destination = tables["destination"]
        self._folder = folder
        self.schema = self._with_wide_indices(schema)
        self._strict = [field.name for field in self.schema if not may_have_null(field)]

    @property
    def count(self) -> int:
        """The number of rows."""
        added = sum(map(len, self._added.values()))
        return sum(self._destination.pieces) - len(self._removed) + added

    def _with_wide_indices(self, schema: Any) -> Any:
        """Returns a schema whose dictionaries hold the values of both sides: those of files may
        have indices of 8 bits, and merged ones more values.
        """
        import pyarrow as pa  # noqa: PLC0415  an optional library

        names = set(schema.names) if any(map(len, self._added.values())) else set()
        for group in self._taken:
            names |= {
                name for bit, name in enumerate(group.names) if (group.masks >> bit & 1).any()
            }
        for number, field in enumerate(schema):
            kind = field.type
            is_mixed = pa.types.is_dictionary(kind) and field.name in names
            if is_mixed and kind.index_type.bit_width < _INDEX_BITS:
                wide = pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
                schema = schema.set(number, field.with_type(wide))
        return schema

    def batches(self) -> Iterator[Any]:
        """Yields record batches: the destination's rows in their order, then those that are added
        from other sides. Raises Conflict for null in a column that may not have it.
        """
        cells = self._cells()
        for start, batch in self._destination_batches():
            yield self._merge(batch, start, cells)
        for side, rows in self._added.items():
            table = self._tables[side]
            names = [name for name in self.schema.names if name in table.schema.names]
            for batch in rows_at(table, names, rows) if len(rows) else ():
                columns = [self._column(batch, field) for field in self.schema]
                yield self._batch(columns)

    def _destination_batches(self) -> Iterator[tuple[int, Any]]:
        names = [name for name in self.schema.names if name in self._destination.schema.names]
        start = 0
        for batch in read_columns(self._destination, names):
            yield start, batch
            start += batch.num_rows

    def _cells(self) -> _Cells:
        """Returns the cells of the columns of which any are taken, and their row numbers."""
        import numpy as np  # noqa: PLC0415

        found: _Cells = {}
        for group in self._taken:
            names = [name for bit, name in enumerate(group.names) if (group.masks >> bit & 1).any()]
            rows = np.unique(group.rows)
            table = self._to_stored(group.side, names, rows)
            found |= {(group.side, name): (ChunkedRows(table[name]), rows) for name in names}
        return found

    def _to_stored(self, side: str, names: Sequence[str], rows: Any) -> Any:
        """Returns columns of rows of a side, which are in a file that is mapped into memory."""
        import tempfile  # noqa: PLC0415

        import pyarrow as pa  # noqa: PLC0415

        fields = [self.schema.field(name) for name in names]
        schema = pa.schema(fields)
        table = self._tables[side]
        here = [name for name in names if name in table.schema.names]
        if not here:  # the base has none of the columns that became what they were there
            return pa.table([pa.nulls(len(rows), field.type) for field in fields], schema=schema)
        with tempfile.NamedTemporaryFile(dir=self._folder) as file:
            with pa.ipc.new_stream(file.name, schema) as writer:
                for batch in rows_at(table, here, rows):
                    columns = [self._column(batch, field) for field in fields]
                    writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            return pa.ipc.open_stream(pa.memory_map(file.name)).read_all()

    def _merge(self, batch: Any, start: int, cells: _Cells) -> Any:
        import numpy as np  # noqa: PLC0415

        end = start + batch.num_rows
        low, high = np.searchsorted(self._removed, [start, end])
        columns = {field.name: self._column(batch, field) for field in self.schema}
        for group in self._taken:
            first, last = np.searchsorted(group.destination, [start, end])
            if first == last:
                continue
            for bit, name in enumerate(group.names):
                here = np.flatnonzero(group.masks[first:last] >> bit & 1) + first
                if len(here):
                    columns[name] = _replace(
                        columns[name], group, here, start, cells[group.side, name]
                    )
        if low < high:
            kept = np.delete(np.arange(batch.num_rows), self._removed[low:high] - start)
            columns = {name: take_values(column, kept) for name, column in columns.items()}
        return self._batch([columns[name] for name in self.schema.names])

    def _column(self, batch: Any, field: Any) -> Any:
        import pyarrow as pa  # noqa: PLC0415

        if field.name not in batch.schema.names:
            return pa.nulls(batch.num_rows, field.type)
        try:
            return convert(batch[field.name], field.type)
        except ValueError as error:
            kind = batch.schema.field(field.name).type
            raise failure(
                f"the column {field.name!r} has a value of the type {kind} that the type "
                f"{field.type} cannot hold"
            ) from error

    def _batch(self, columns: Sequence[Any]) -> Any:
        import pyarrow as pa  # noqa: PLC0415

        for field, column in zip(self.schema, columns, strict=True):
            if field.name in self._strict and _has_wrong_null(column, field):
                raise failure(
                    f"the column {field.name!r} may not be null at the destination, and the merge "
                    "would make it null",
                    "Give it a value in each row of the source, or let it be null at the "
                    "destination.",
                )
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _replace(
    column: Any, group: Taken, here: Any, start: int, cells: tuple[ChunkedRows, Any]
) -> Any:
    """Returns a column of the destination with cells of another side."""
    import numpy as np  # noqa: PLC0415

    stored, rows = cells
    values = stored.take(np.searchsorted(rows, group.rows[here]))
    index = np.arange(len(column))
    index[group.destination[here] - start] = len(column) + np.arange(len(here))
    return take_values(concatenate([column, values]), index)


def _has_wrong_null(column: Any, field: Any) -> bool:
    """Returns whether a column has null where its type has none."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if not field.nullable and column.null_count:
        return True
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    kind = column.type
    if kinds.is_struct(kind):
        present = column.filter(column.is_valid())
        return any(
            _has_wrong_null(present.field(number), kind.field(number))
            for number in range(kind.num_fields)
        )
    if kinds.is_map(kind) or is_list(kind):
        parts = entries(column)[1]
        fields = [kind.key_field, kind.item_field] if kinds.is_map(kind) else [kind.value_field]
        return any(_has_wrong_null(*pair) for pair in zip(parts, fields, strict=True))
    return False
