"""The file formats of tables, by name and by the extension of a path."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.errors import Conflict, Invalid
from anabranch.versioning.strategies.rows.delimited.csv_format import CsvFormat
from anabranch.versioning.strategies.rows.json_lines.table import JsonLinesTable
from anabranch.versioning.strategies.rows.parquet_format import ParquetFormat

__all__ = ["ColumnFormat", "format_of"]

ColumnFormat = CsvFormat | ParquetFormat
"""A format whose rows all have the same columns."""

_JSON_LINES = JsonLinesTable()
_FORMATS: Mapping[str, ColumnFormat | JsonLinesTable] = {
    "csv": CsvFormat(","),
    "tsv": CsvFormat("\t"),
    "parquet": ParquetFormat(),
    "jsonl": _JSON_LINES,
    "ndjson": _JSON_LINES,
}


def format_of(path: str, name: str) -> ColumnFormat | JsonLinesTable:
    """Returns the format with a name, or that of a path's extension if it is "". Raises Conflict
    for a path that is no table, Invalid for an unknown name.
    """
    if name:
        if name not in _FORMATS:
            raise Invalid(
                f"option format: must be one of {', '.join(_FORMATS)}, not {name!r}",
                kind="invalid_merge_options",
            )
        return _FORMATS[name]
    extension = path.rpartition(".")[2].lower()
    if extension not in _FORMATS:
        raise Conflict(
            f"{path} is no table: its name ends with none of .{', .'.join(_FORMATS)}",
            kind="merge_failed",
            hint="Give the option `format`.",
        )
    return _FORMATS[extension]
