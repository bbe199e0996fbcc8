"""Opens a table in a file of any format."""

from __future__ import annotations

from typing import BinaryIO

from anabranch.tables.formats import EXTENSIONS, TableFormat, detect_format
from anabranch.tables.table import Table, UnreadableTable

__all__ = ["open_table", "open_typed_table", "with_shown_bytes"]


def open_table(
    stream: BinaryIO, path: str = "", format_name: str = "", *, rows: int | None = None
) -> Table:
    """Returns the table in a seekable stream, which must stay open. `format_name` names a format
    for content that does not say it by itself and a path that does not either. With `rows`, types
    that are found from values need to hold only those of so many first rows.

    Raises UnreadableTable for a file that is no table or is damaged, ImportError without the
    library of a format.
    """
    found, compression = detect_format(stream, path, format_name)
    if found is None:
        raise UnreadableTable(
            f"its name ends with none of .{', .'.join(EXTENSIONS)}",
            kind="no_table",
            hint="Give its format by name.",
        )
    if found.delimiter:
        from anabranch.tables.text.text_table import TextTable  # noqa: PLC0415  slow to import

        return TextTable(stream, found, compression)
    return _open(stream, found, compression, rows)


def open_typed_table(
    stream: BinaryIO, path: str = "", format_name: str = "", *, rows: int | None = None
) -> Table:
    """Returns the table in a stream as `open_table` does, as it is shown: text with types that hold
    all cells, or, with `rows`, those of so many first rows, and bytes in their forms. Raises
    UnreadableTable.
    """
    table = open_table(stream, path, format_name, rows=rows)
    from anabranch.tables.text.text_table import TextTable  # noqa: PLC0415
    from anabranch.tables.text.typed_text import TypedText  # noqa: PLC0415

    return TypedText(table, rows=rows) if isinstance(table, TextTable) else with_shown_bytes(table)


def with_shown_bytes(table: Table) -> Table:
    """Returns a table with texts instead of bytes that are of another kind."""
    if not table.byte_forms:
        return table
    from anabranch.tables.shown_table import ShownTable  # noqa: PLC0415

    return ShownTable(table)


def _open(stream: BinaryIO, found: TableFormat, compression: str, rows: int | None) -> Table:
    if found.is_text:
        from anabranch.tables.readers.json_lines import scan_lines  # noqa: PLC0415
        from anabranch.tables.readers.json_table import JsonTable  # noqa: PLC0415
        from anabranch.tables.readers.json_text import JsonText  # noqa: PLC0415

        text = JsonText(stream, found, compression)
        return scan_lines(text) or JsonTable(text)
    if found.name == "parquet":
        from anabranch.tables.parquet.parquet_table import ParquetTable  # noqa: PLC0415

        return ParquetTable(stream, rows=rows)
    if found.name == "orc":
        from anabranch.tables.readers.orc_table import OrcTable  # noqa: PLC0415

        return OrcTable(stream)
    if found.name == "arrow":
        from anabranch.tables.readers.arrow_table import ArrowTable  # noqa: PLC0415

        return ArrowTable(stream)
    from anabranch.tables.readers.avro_table import AvroTable  # noqa: PLC0415

    return AvroTable(stream)
