"""The formats of tables that are compared and merged, from the list of `tables/formats.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from anabranch.errors import Conflict, Invalid
from anabranch.tables.formats import (
    EXTENSIONS,
    FORMATS,
    binary_format,
    detect_format,
    format_named,
)
from anabranch.tables.table import UnreadableTable
from anabranch.tables.text.encoding import Utf8Text
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.arrow_format import ArrowFormat
from anabranch.versioning.strategies.rows.delimited.csv_format import CsvFormat
from anabranch.versioning.strategies.rows.json_lines.table import JsonLinesTable
from anabranch.versioning.strategies.rows.parquet_format import ParquetFormat
from anabranch.versioning.strategies.rows.read_format import ReadFormat

__all__ = [
    "ColumnFormat",
    "FoundFormat",
    "compared_format",
    "find_format",
    "require_fit",
    "require_format",
]

ColumnFormat = ArrowFormat | CsvFormat | ParquetFormat | ReadFormat
"""A format whose rows all have the same columns."""

_FORMATS: Mapping[str, ColumnFormat | JsonLinesTable] = {
    name: ReadFormat(each) for name, each in FORMATS.items()
} | {
    "parquet": ParquetFormat(),
    "csv": CsvFormat(","),
    "tsv": CsvFormat("\t"),
    "psv": CsvFormat("|"),
    "arrow": ArrowFormat(),
    "jsonl": JsonLinesTable(),
}

_ARROW_FILE = b"ARROW1"
_STREAM = ReadFormat(FORMATS["arrow"])


class FoundFormat(NamedTuple):
    """The format of a file, and how it is compressed as a whole: "gzip", "zstd" or ""."""

    table: ColumnFormat | JsonLinesTable
    compression: str


def require_format(name: str) -> None:
    """Raises Invalid for a name that no format has."""
    if format_named(name) is None:
        raise Invalid(
            f"option format: must be one of {', '.join([*FORMATS, 'ndjson'])}, not {name!r}",
            kind="invalid_merge_options",
        )


def require_fit(path: str, name: str, versions: Mapping[str, ObjectVersion]) -> None:
    """Raises Invalid for a name that no format has, Conflict if the content of a version is of
    another binary format. An empty name fits everything.
    """
    if not name:
        return
    require_format(name)
    wanted = FORMATS.get(name) or EXTENSIONS[name]
    for version in versions.values():
        with version.open() as stream:
            found = binary_format(stream)
        if found not in (None, wanted):
            raise Conflict(
                f"{path} is {found.title}, not {wanted.title}",
                kind="merge_failed",
                hint="Leave out the format: the content says it.",
            )


def find_format(path: str, name: str, version: ObjectVersion) -> FoundFormat:
    """Returns the format of a version of an object: that of its content, the one with a name, or
    that of the path's extension. Raises Conflict for what is no table, Invalid for an unknown name.
    """
    if name:
        require_format(name)
    with version.open() as stream:
        found, compression = detect_format(stream, path, name)
        start = stream.read(len(_ARROW_FILE))
    if found is None:
        raise Conflict(
            f"{path} is no table: its name ends with none of .{', .'.join(EXTENSIONS)}",
            kind="merge_failed",
            hint="Give the option `format`.",
        )
    if found.name == "arrow" and start != _ARROW_FILE:
        return FoundFormat(_STREAM, "")
    return FoundFormat(_FORMATS[found.name], compression if found.is_text else "")


def compared_format(
    found: ColumnFormat | JsonLinesTable, versions: Mapping[str, ObjectVersion], key: Sequence[str]
) -> ColumnFormat | JsonLinesTable:
    """Returns the format by which uncompressed versions are compared: text of which no version has
    a header, as Hive writes it, has numbered columns as in previews, unless `key` names others.
    Text of several encodings, which is not merged, is read as in previews, too.
    """
    if not isinstance(found, CsvFormat):
        return found
    from anabranch.tables.text.text_table import TextTable  # noqa: PLC0415  needs pyarrow

    text = next(each for each in FORMATS.values() if each.delimiter == found.delimiter)
    if any(map(_has_several_encodings, versions.values())):
        return ReadFormat(text)
    for version in versions.values():
        with version.open() as stream:
            try:
                table = TextTable(stream, text, "")
            except UnreadableTable:
                return found
            if table.has_header or not set(key) <= set(table.schema.names):
                return found
    return ReadFormat(text)


def _has_several_encodings(version: ObjectVersion) -> bool:
    with version.open() as stream:
        text = Utf8Text(stream)
        try:
            return any(text.is_mixed for _ in text.blocks())
        except UnreadableTable:
            return False  # reading it says why
