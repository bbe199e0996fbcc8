"""First rows of an object, and statistics of its columns, in a query process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anabranch.pipelines.queries.object_filesystem import ObjectFilesystem
from anabranch.pipelines.queries.result_rows import limited_rows
from anabranch.tables.json_values import MAX_TEXT_CHARS, json_column
from anabranch.tables.open_table import open_typed_table
from anabranch.tables.sql_columns import unique_names
from anabranch.tables.table import Note, Table, UnreadableTable
from anabranch.tables.type_names import type_name

__all__ = ["preview_object", "statistics_of_object"]

_SECONDS = 6.0
"""How long statistics of columns may take; those of others are missing then."""

_SAMPLE_SHARE = 4
"""The part of DuckDB's memory that a sample of rows may have beside it."""

_DOCUMENT_LINES = 40
_DOCUMENT_CHARS = 20_000
_SHOWN_AS_TEXT = frozenset({"document_too_large", "line_too_large"})


def preview_object(objects: ObjectFilesystem, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the columns and first rows of an object; of a JSON document that is too large for a
    table, its beginning as text. Raises UnreadableTable.
    """
    max_rows = request["max_rows"]
    stream: Any = objects.open(request["address"])
    try:
        table = open_typed_table(stream, request["address"], request["format"], rows=max_rows + 1)
    except UnreadableTable as error:
        if error.kind in _SHOWN_AS_TEXT and request["format"] in ("json", "jsonl"):
            return _beginning(stream, request, error)
        raise
    names = unique_names(table.schema.names)
    columns = [
        {"name": name, "type": type_name(field.type)}
        for name, field in zip(names, table.schema, strict=True)
    ]
    shown = limited_rows(_rows(table, max_rows + 1), max_rows, request["result_bytes"])
    return {"columns": columns, **shown, "notes": _texts(table.notes)}


def statistics_of_object(objects: ObjectFilesystem, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the statistics of an object's columns, of as many as time and memory allow, and how
    many are missing. Raises UnreadableTable and MemoryError.
    """
    from anabranch.tables.statistics.column_statistics import (  # noqa: PLC0415  slow to import
        column_statistics,
    )
    from anabranch.tables.statistics.sample import MAX_ROWS, read_sample  # noqa: PLC0415

    stream: Any = objects.open(request["address"])
    table = open_typed_table(stream, request["address"], request["format"], rows=MAX_ROWS + 1)
    sample = read_sample(table, request["memory_bytes"] // _SAMPLE_SHARE)
    seconds = min(_SECONDS, request["seconds"] / 3)
    try:
        columns = column_statistics(sample.table, seconds)
    except MemoryError:
        if not sample.is_large:
            raise
        sample = sample.first_rows()
        columns = column_statistics(sample.table, seconds)
    return {
        "columns": columns,
        "missing_columns": len(table.schema) - len(columns),
        "rows": sample.table.num_rows,
        "complete": sample.is_complete,
        "notes": _texts(table.notes),
    }


def _rows(table: Table, amount: int) -> Iterator[list[Any]]:
    left = amount
    for batch in table.batches():
        first = batch.slice(0, left)
        columns = [json_column(column) for column in first.columns]
        yield from map(list, zip(*columns, strict=True))
        left -= first.num_rows
        if left <= 0:
            return


def _texts(notes: Sequence[Note]) -> list[str]:
    return [note.text for note in notes]


def _beginning(stream: Any, request: dict[str, Any], error: UnreadableTable) -> dict[str, Any]:
    """Returns the first lines of a document as rows of one column."""
    from anabranch.tables.text.beginning import beginning_of_text  # noqa: PLC0415

    text = beginning_of_text(stream, _DOCUMENT_CHARS)
    lines = [
        line[start : start + MAX_TEXT_CHARS]
        for line in text.splitlines()[:_DOCUMENT_LINES]
        for start in range(0, max(len(line), 1), MAX_TEXT_CHARS)
    ]
    return {
        "columns": [{"name": "text", "type": "VARCHAR"}],
        "rows": [[line] for line in lines[: request["max_rows"]]],
        "has_more": True,
        "notes": [f"This is the beginning of the document as text: {error.message}."],
    }
