"""Arrow files (Feather) of tables: every type is kept, and so is the compression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, BinaryIO

from anabranch.tables.byte_forms import ByteForm
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import require_usable
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions
from anabranch.versioning.strategies.rows.merging.merged_rows import MergedRows
from anabranch.versioning.strategies.rows.scanned_sides import read_error

__all__ = ["ArrowFormat"]


class ArrowTable:
    """An Arrow file: record batches are its pieces."""

    byte_forms: Mapping[str, ByteForm] = MappingProxyType({})

    def __init__(self, path: str) -> None:
        import pyarrow as pa  # noqa: PLC0415  an optional library

        self._path = path
        with pa.ipc.open_file(pa.OSFile(path)) as file:
            self.schema = file.schema
            self.pieces = [
                file.get_batch(number).num_rows for number in range(file.num_record_batches)
            ]

    def read(self, piece: int, names: Sequence[str]) -> Iterator[Any]:
        """Yields the record batch of a piece, with these columns."""
        import pyarrow as pa  # noqa: PLC0415

        with pa.ipc.open_file(pa.OSFile(self._path)) as file:
            yield file.get_batch(piece).select(list(names))

    def compression(self) -> str | None:
        """Returns the codec of the first record batch, None without compression."""
        import pyarrow as pa  # noqa: PLC0415

        with pa.OSFile(self._path) as file:
            file.seek(0)
            start = bytes(file.read(1 << 20))
        # the body compression of a batch is in its message, which Arrow does not show
        for codec, magic in (("lz4", b"\x04\x22\x4d\x18"), ("zstd", b"\x28\xb5\x2f\xfd")):
            if magic in start:
                return codec
        return None


class ArrowFormat:
    """Arrow's file format."""

    name = "Arrow"
    merges = True

    def open(self, side: str, version: ObjectVersion, folder: str) -> ArrowTable:  # noqa: ARG002
        """Returns the table of a file. Raises Conflict for one that cannot be read."""
        import pyarrow as pa  # noqa: PLC0415

        try:
            table = ArrowTable(version.path())
        except (pa.ArrowException, OSError, ValueError) as error:
            raise read_error(side, self.name, error) from error
        require_usable(side, table.schema.names)
        return table

    def whole_columns(self, tables: Mapping[str, ArrowTable]) -> set[str]:  # noqa: ARG002
        """Returns no columns."""
        return set()

    def write(
        self,
        decisions: CellDecisions,
        tables: Mapping[str, ArrowTable],
        schema: Any,
        output: BinaryIO,
        folder: str,
    ) -> None:
        """Writes the merge of tables, by the decisions about them."""
        import pyarrow as pa  # noqa: PLC0415

        destination = tables["destination"]
        rows = MergedRows(decisions, tables["source"], destination, schema, folder)
        options = pa.ipc.IpcWriteOptions(
            compression=destination.compression(), unify_dictionaries=True
        )
        with pa.ipc.new_file(output, rows.schema, options=options) as file:
            for batch in rows.batches():
                file.write_batch(batch)
