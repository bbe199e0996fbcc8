"""Files that SQL names by their addresses: `FROM 'lakefs://repository/ref/path.csv'` and the calls
`read_csv('lakefs://…')`, `read_table('lakefs://…', format := 'csv')`.

DuckDB makes a call of one of its functions of a name in quotation marks, by the extension. These
functions are hidden by ours, so files are read as those of `tables` are. Its other functions reach
objects only where they return the content or the metadata of files as they are: their addresses
have another scheme for DuckDB, which it may open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from anabranch.pipelines.queries.functions.call_errors import CallError
from anabranch.pipelines.queries.functions.table_functions import TableFunction
from anabranch.pipelines.queries.object_filesystem import SCHEME, ObjectFilesystem
from anabranch.pipelines.queries.table_files import TableReader
from anabranch.tables.formats import (
    EXTENSIONS,
    FORMAT_NAMES,
    binary_format,
    format_named,
    format_of,
)
from anabranch.tables.sql_names import identifier

__all__ = ["READERS", "FileRelation", "content_macros", "file_functions"]

READERS: Mapping[str, str] = {
    **dict.fromkeys(("read_parquet", "parquet_scan"), "parquet"),
    **dict.fromkeys(("read_csv", "read_csv_auto"), "csv"),
    **dict.fromkeys(("read_json", "read_json_auto"), "json"),
    **dict.fromkeys(("read_ndjson", "read_ndjson_auto"), "jsonl"),
    "read_orc": "orc",
    "read_arrow": "arrow",
    "read_avro": "avro",
    "read_table": "",
}
"""The functions that read files as tables, and the names of their formats."""

_CONTENT = {
    "glob": "file",
    "read_blob": "filename",
    "read_text": "filename",
    "parquet_file_metadata": "file_name",
    "parquet_kv_metadata": "file_name",
    "parquet_metadata": "file_name",
    "parquet_schema": "file_name",
}
"""DuckDB's functions that return files, or their metadata, as they are: their columns of names."""

_LAKE = "lakefs"
_DECODE_ADDRESSES = msgspec.json.Decoder(str | list[str])


def file_functions(objects: ObjectFilesystem, reader: TableReader) -> list[TableFunction]:
    """Returns the functions that read files in `objects` as tables, by `reader`."""
    return [
        TableFunction(
            name=name,
            required=("address",),
            open=partial(_open_files, objects, reader, name),
            optional=() if table_format else ("format",),
            in_json=True,
        )
        for name, table_format in READERS.items()
    ]


class FileRelation(NamedTuple):
    """The rows of files, as `reader` reads them: a `View`."""

    reader: TableReader
    addresses: list[str]
    table_format: str

    def create(self, name: str) -> None:
        """Creates the view `name`. Raises UnreadableTable."""
        self.reader.create_view(name, self.addresses, self.table_format)


def _open_files(
    objects: ObjectFilesystem,
    reader: TableReader,
    function: str,
    given: str,
    file_format: str = "",
) -> FileRelation:
    """Returns the rows of the files that a call of a function names by addresses in JSON. Raises
    CallError for a wrong call, FileNotFoundError if there are no such files.
    """
    named = READERS[function] or file_format
    if named and format_named(named) is None:
        raise CallError(
            f"there is no format {named!r}",
            f"The formats are {FORMAT_NAMES}: write format := 'csv'.",
        )
    try:
        addresses = _DECODE_ADDRESSES.decode(given)
    except msgspec.DecodeError as error:
        raise CallError(f"an address of {function}() is no text", _example(function)) from error
    found = _find(objects, function, [addresses] if isinstance(addresses, str) else addresses)
    return FileRelation(reader, found, _format(objects, function, named, found))


def _find(objects: ObjectFilesystem, function: str, addresses: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    for address in addresses:
        if not address.startswith(f"{_LAKE}://"):
            raise CallError(f"{address!r} is no address of an object", _example(function))
        matching = objects.glob(address)
        if not matching:
            raise FileNotFoundError(f'No files found that match "{address}"')
        found.update(dict.fromkeys(matching))
    if not found:
        raise CallError(f"{function}() has no addresses", _example(function))
    return list(found)


def _format(objects: ObjectFilesystem, function: str, named: str, addresses: Sequence[str]) -> str:
    """Returns the name of the format of files: that of their names if the function reads it."""
    of_paths = {each.name: each for each in map(format_of, addresses) if each is not None}
    if named:
        family = format_named(named)
        alike = [
            each
            for each in of_paths.values()
            if each.is_text and family is not None and each.family == family.family
        ]
        return alike[0].name if len(alike) == 1 and named != "jsonl" else named
    if not of_paths:
        content = binary_format(objects.open(addresses[0]))
        if content is not None:
            return content.name
        raise CallError(
            f"{addresses[0]} is no table: its name ends with none of .{', .'.join(EXTENSIONS)}",
            "Give its format by name: read_table('lakefs://…', format := 'csv').",
        )
    if len(of_paths) > 1:
        raise CallError(
            f"{function}() reads files of one format, not of {', '.join(sorted(of_paths))}",
            "Use a pattern such as *.parquet.",
        )
    return next(iter(of_paths))


def _example(function: str) -> str:
    return f"Write {function}('lakefs://repository/ref/path'), or a list of such addresses."


def content_macros() -> list[str]:
    """Returns statements that hide DuckDB's functions of the content of files by some that take,
    and show, the addresses of objects.
    """
    return [_content_macro(name, column) for name, column in _CONTENT.items()]


def _content_macro(name: str, column: str) -> str:
    shown = f"regexp_replace({identifier(column)}, '^{SCHEME}:', '{_LAKE}:')"
    opened = f"regexp_replace(address, '^{_LAKE}:', '{SCHEME}:')"
    replaced = f"* REPLACE ({shown} AS {identifier(column)})"
    select = f"SELECT {replaced} FROM system.main.{identifier(name)}({opened})"  # noqa: S608
    return f"CREATE MACRO {identifier(name)}(address) AS TABLE {select}"
