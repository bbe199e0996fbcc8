"""`query`: SQL over objects and metadata, as a table or as a file."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any, get_args

from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.address import ref_address
from anabranch.cli.framework.command import Argument, Command, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column
from anabranch.model.uri import LakeUri
from anabranch.tables.formats import FormatName

__all__ = ["COMMAND"]

_FORMATS = {
    "table": (),
    "csv": (".csv",),
    "jsonl": (".jsonl", ".ndjson"),
    "arrow": (".arrow", ".arrows"),
    "parquet": (".parquet", ".pq"),
}
_BINARY = ("arrow", "parquet")
_NAMED = re.compile(
    r"lakefs://(?P<a>[^/'\"\s]+)/(?P<b>[^/'\"\s]+)"
    r"|\b(?:objects|object_metadata|changes|commits)\s*\(\s*'(?P<c>[^']+)'\s*,\s*'(?P<d>[^']+)'",
    re.IGNORECASE,
)
_NUMERIC = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\))$")


def _query(context: CommandContext) -> None:
    options = context.arguments
    sql = sys.stdin.read() if options.sql == "-" else options.sql
    place = options.at or _parse_name(sql)
    body: dict[str, Any] = {"sql": sql, "tables": dict(options.table)}
    if options.table_format:
        body["formats"] = dict(options.table_format)
    parts = ("repositories", place.repository, "refs", place.ref, "query")
    file_format = options.format or _format_of(options.output)
    if file_format == "table":
        if options.output:
            raise Usage("--output needs --format csv, jsonl, arrow or parquet")
        result = context.connection.send("POST", *parts, body={**body, "max_rows": options.rows})
        _show(context, result, options.rows)
        return
    if options.output in ("", "-"):
        if file_format in _BINARY and sys.stdout.isatty():
            raise Usage(f"{file_format} is no text", hint="Name a file by --output.")
        with context.connection.download_result(
            *parts, body={**body, "format": file_format}
        ) as content:
            for chunk in content.chunks:
                sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    _save(context, parts, {**body, "format": file_format}, Path(options.output))


def _parse_name(sql: str) -> LakeUri:
    """Returns the reference that a query names first: the server runs it there."""
    found = _NAMED.search(sql)
    if found is None:
        raise Usage(
            "the query names no reference",
            hint="Name one by --at lakefs://REPOSITORY/REF, or in the SQL.",
        )
    repository, reference = (text for text in found.groups() if text is not None)
    return ref_address(f"lakefs://{repository}/{reference}")


def _format_of(output: str) -> str:
    for name, extensions in _FORMATS.items():
        if output.lower().endswith(extensions) and extensions:
            return name
    return "table"


def _show(context: CommandContext, result: dict[str, Any], most: int) -> None:
    if context.output.json:
        context.output.document(result)
        return
    columns = [
        Column(each["name"], "number" if _NUMERIC.match(each["type"]) else "text")
        for each in result["columns"]
    ]
    context.output.rows(columns, result["rows"], lambda row: [_text(value) for value in row])
    if result["has_more"]:
        context.output.note(
            f"There are more rows than {min(most, len(result['rows'])):,}: "
            "add --rows, or --format csv for all"
        )


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _save(context: CommandContext, parts: tuple[str, ...], body: Any, file: Path) -> None:
    """Writes a file, which replaces an existing one when it is complete."""
    if file.exists() and not file.is_file():
        raise Failure(f"{file} exists and is not a file", hint="Name another file.")
    partial = file.with_name(f".anabranch-{os.urandom(8).hex()}.part")
    length = 0
    try:
        with (
            context.connection.download_result(*parts, body=body) as content,
            partial.open("xb") as out,
        ):
            for chunk in content.chunks:
                out.write(chunk)
                length += len(chunk)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    written = {"file": str(file), "format": body["format"], "size_bytes": length}
    context.output.done(f"Wrote {file} ({length:,} bytes)", written)


def _table(text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not (name and equals and pattern):
        raise Usage(f"--table {text}: not NAME=PATH", hint="For example flights=month=*/*.parquet")
    return name, pattern


def _table_format(text: str) -> tuple[str, str]:
    name, equals, table_format = text.partition("=")
    formats = get_args(FormatName)
    if not (name and equals and table_format in formats):
        raise Usage(
            f"--table-format {text}: not NAME=FORMAT",
            hint=f"For example log=csv. Formats: {', '.join(formats)}",
        )
    return name, table_format


COMMAND = Command(
    "query",
    "Query objects and metadata with SQL",
    _query,
    arguments=(Argument("SQL", "A query in DuckDB's SQL; - reads it from standard input"),),
    options=(
        Option(
            "--at", "The reference of --table: lakefs://REPOSITORY/REF", "REF", parse=ref_address
        ),
        Option(
            "--table",
            "A name for a path, or a pattern of paths; may be repeated",
            "NAME=PATH",
            parse=_table,
            repeat=True,
        ),
        Option(
            "--table-format",
            "The format of a table's files, if their names do not tell it; may be repeated",
            "NAME=FORMAT",
            parse=_table_format,
            repeat=True,
        ),
        Option(
            "--format",
            "How rows are written; by default as the extension of --output says, or a table",
            "FORMAT",
            choices=tuple(_FORMATS),
        ),
        Option("-o, --output", "The file to write; - is standard output", "FILE", default=""),
        Option("--rows", "The most rows of a table", "N", parse=positive, default=1000),
    ),
    details="""SQL names objects by their addresses, as in FROM 'lakefs://flights/main/may.csv', or
            by --table at the reference of --at. The functions objects, object_metadata, changes and
            commits read the metadata of a reference, and delta_table and iceberg_table the live
            rows of tables.

            Without --at, the query runs at the first reference that the SQL names: the user needs
            the permission to list objects there.

            A table has at most 10,000 rows; files have all rows. Values are exact: CSV has them as
            text, JSON lines as results have, Arrow and Parquet in their own types.
            """,
    examples=(
        "query \"SELECT path, size FROM objects('flights', 'main') WHERE size > 1000000\"",
        "query \"FROM changes('flights', 'main~1', 'main')\" --format csv",
        'query "SELECT count(*) FROM f" --at lakefs://flights/main --table f=may/*.parquet',
        'query "FROM h" --at lakefs://flights/main --table h=hive/000000_0 --table-format h=csv',
        "query \"FROM commits('flights', 'main')\" --output commits.parquet",
    ),
)
