"""Tools that read tables: the first rows of one, and SQL."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from anabranch.mcp.api import Api
from anabranch.mcp.arguments import AtReference, Path, Rows
from anabranch.mcp.results import MAX_MEMBERS, Result, listing, shorten
from anabranch.mcp.tool import Tool

__all__ = ["TOOLS"]


class PreviewTable(AtReference, frozen=True, kw_only=True):
    """Arguments of preview_table."""

    path: Path
    folder: Annotated[
        bool, Meta(description="The path is the folder of a Delta Lake or Iceberg table.")
    ] = False
    rows: Rows = 10


class Query(AtReference, frozen=True, kw_only=True):
    """Arguments of query."""

    sql: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="One SELECT of DuckDB's SQL.")
    ]
    rows: Rows = 50


def preview_table(api: Api, given: PreviewTable) -> Result:
    """Returns the columns and the first rows of a table."""
    api = api.reading_at(given.repository, given.reference)
    place = ("repositories", given.repository, "refs", given.reference)
    if given.folder:
        table = api.get(*place, "tables", "preview", path=given.path, rows=given.rows)
        about = {name: table[name] for name in ("format", "version", "files", "row_count")}
    else:
        table = api.get(*place, "objects", "preview", path=given.path, rows=given.rows)
        about = {"format": table["format"]}
    return Result({**about, **_rows(table)})


def query(api: Api, given: Query) -> Result:
    """Returns the rows of a query."""
    api = api.reading_at(given.repository, given.reference)
    body = {"sql": given.sql, "max_rows": given.rows}
    place = ("repositories", given.repository, "refs", given.reference, "query")
    table = api.send("POST", *place, body=body)
    return Result({**_rows(table), "seconds": table["seconds"], "bytes_read": table["bytes_read"]})


def _rows(table: dict[str, Any]) -> dict[str, Any]:
    rows = [shorten(row) for row in table["rows"]]
    kept = listing(rows)
    result = {
        "columns": shorten(table["columns"]),
        "rows": kept,
        "has_more": table["has_more"] or len(kept) < len(rows),
    }
    if len(table["columns"]) > MAX_MEMBERS:
        result["cut"] = f"{len(table['columns'])} columns, of which {MAX_MEMBERS} are shown"
    if table["notes"]:
        result["notes"] = shorten(table["notes"])
    return result


TOOLS = (
    Tool(
        "preview_table",
        "Preview a table",
        "Shows the columns, their types and the first rows of a Parquet, CSV, JSON lines, ORC, "
        "Avro or Arrow file, or with `folder` of a Delta Lake or Iceberg table. Needs the server's "
        "extra `query`.",
        PreviewTable,
        preview_table,
    ),
    Tool(
        "query",
        "Query with SQL",
        "Runs one read-only query of DuckDB's SQL over objects of the lake. Name objects by their "
        "addresses in single quotes, which may be patterns: "
        "SELECT count(*) FROM 'lakefs://REPOSITORY/REFERENCE/tables/*.parquet'. "
        "Metadata: objects('REPOSITORY', 'REFERENCE'), commits('REPOSITORY', 'REFERENCE'), "
        "changes('REPOSITORY', 'LEFT', 'RIGHT'). It reaches nothing outside of the lake. Aggregate "
        "or LIMIT: at most 100 rows are returned. With the id of your workspace as the reference, "
        "it reaches that workspace alone, and what it reads is recorded. Needs the server's extra "
        "`query`.",
        Query,
        query,
    ),
)
