"""The file formats of tables, by name and by the extension of a path."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.errors import Conflict, Invalid
from anabranch.versioning.strategies.rows.arrow_format import ArrowFormat
from anabranch.versioning.strategies.rows.delimited.csv_format import CsvFormat
from anabranch.versioning.strategies.rows.json_lines.table import JsonLinesTable
from anabranch.versioning.strategies.rows.parquet_format import ParquetFormat

__all__ = ["COMPRESSED", "ColumnFormat", "format_of"]

ColumnFormat = ArrowFormat | CsvFormat | ParquetFormat
"""A format whose rows all have the same columns."""

_PARQUET = ParquetFormat()
_ARROW = ArrowFormat()
_JSON_LINES = JsonLinesTable()
COMPRESSED = ".gz"
"""The extension of a file that is compressed as a whole, after that of its format."""

_FORMATS: Mapping[str, ColumnFormat | JsonLinesTable] = {
    "csv": CsvFormat(","),
    "tsv": CsvFormat("\t"),
    "tab": CsvFormat("\t"),
    "psv": CsvFormat("|"),
    "parquet": _PARQUET,
    "pq": _PARQUET,
    "parq": _PARQUET,
    "arrow": _ARROW,
    "feather": _ARROW,
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
    extension = path.lower().removesuffix(COMPRESSED).rpartition(".")[2]
    if extension not in _FORMATS:
        raise Conflict(
            f"{path} is no table: its name ends with none of .{', .'.join(_FORMATS)}",
            kind="merge_failed",
            hint="Give the option `format`.",
        )
    return _FORMATS[extension]
