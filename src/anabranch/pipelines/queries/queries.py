"""Queries and previews, a few at a time."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from anabranch.access.actors.actor import Actor
from anabranch.catalog.catalog import Catalog
from anabranch.errors import Invalid, NotFound, NotSupported
from anabranch.model.uri import LakeUri, parse_uri
from anabranch.pipelines.admission import Admission
from anabranch.pipelines.queries.call_answers import CallAnswers
from anabranch.pipelines.queries.download import Download
from anabranch.pipelines.queries.limits import MAX_ROWS, QueryLimits
from anabranch.pipelines.queries.query_run import run_request
from anabranch.pipelines.queries.readable_objects import ReadableObjects
from anabranch.pipelines.queries.results.result_formats import FileFormat
from anabranch.pipelines.queries.table_folders import table_folder_notices
from anabranch.ranged_stream import open_ranges
from anabranch.tables.formats import EXTENSIONS, FORMATS, detect_format, format_of

__all__ = ["Queries"]

_LIBRARIES = ("duckdb", "fsspec")
_WAIT_SECONDS = 10.0
_MAX_WAITING = 8
_MAX_TABLES = 100
_EDGE_BYTES = 64


class Queries:
    """Runs the queries of users over the objects that they may read."""

    def __init__(self, catalog: Catalog, limits: QueryLimits) -> None:
        self._catalog = catalog
        self._limits = limits
        self._admission = Admission(
            "queries", running=limits.processes, waiting=_MAX_WAITING, seconds=_WAIT_SECONDS
        )

    def query(
        self,
        actor: Actor,
        sql: str,
        *,
        repository: str,
        reference: str,
        tables: Mapping[str, str],
        max_rows: int,
    ) -> dict[str, Any]:
        """Returns the result of an SQL query: `columns`, `rows` (at most `max_rows`), `has_more`,
        `seconds` and `bytes_read`. It names objects of any repository by their addresses; `tables`
        are names for paths and patterns of this reference.

        Raises Invalid for a query that fails or exceeds a limit, Denied for objects that the user
        may not read, NotFound, Busy, NotSupported without the libraries.
        """
        return self._run(
            actor, sql, repository, reference, tables, max_rows=min(max_rows, MAX_ROWS)
        )

    def download(
        self,
        actor: Actor,
        sql: str,
        *,
        repository: str,
        reference: str,
        tables: Mapping[str, str],
        file_format: FileFormat,
    ) -> Download:
        """Returns the whole result of an SQL query as a file, with all values as they are. Raises
        what `query` raises, and Invalid for a result that is too large.
        """
        download = Download(self._limits.download_bytes)
        try:
            self._run(actor, sql, repository, reference, tables, download, format=file_format)
        except BaseException:
            download.close()
            raise
        return download

    def preview(self, actor: Actor, uri: LakeUri, *, max_rows: int) -> dict[str, Any]:
        """Returns the first rows of a table's file, as `query` does."""
        return self._of_object(actor, uri, {"kind": "preview", "max_rows": max_rows})

    def preview_table(
        self, actor: Actor, uri: LakeUri, *, version: int | None, max_rows: int
    ) -> dict[str, Any]:
        """Returns a version of the table in a folder, by default the last one: what is known of it
        (see `describe_table`), and its first rows, as `query` does.
        """
        request = {"kind": "table", "address": str(uri), "version": version, "max_rows": max_rows}
        with self._slot(), closing(CallAnswers(self._catalog, actor)) as answers:
            return run_request(request, answers, self._limits)

    def statistics(self, actor: Actor, uri: LakeUri) -> dict[str, Any]:
        """Returns statistics of a file's columns, see `column_statistics`, over its first `rows`
        rows; `complete` if these are all.
        """
        return self._of_object(actor, uri, {"kind": "statistics"})

    def _run(
        self,
        actor: Actor,
        sql: str,
        repository: str,
        reference: str,
        tables: Mapping[str, str],
        download: Download | None = None,
        **options: object,
    ) -> dict[str, Any]:
        if len(tables) > _MAX_TABLES:
            raise Invalid(f"a query has at most {_MAX_TABLES} tables", kind="query_failed")
        with self._slot(), closing(CallAnswers(self._catalog, actor, download)) as answers:
            found = [
                _table(answers.objects, name, LakeUri(repository, reference, path))
                for name, path in tables.items()
            ]
            kind = "query" if download is None else "download"
            request = {"kind": kind, "sql": sql, "tables": found, **options}
            result = run_request(request, answers, self._limits)
            notices = [
                notice for table in found for notice in table_folder_notices(answers.objects, table)
            ]
        return {**result, "notes": [*notices, *result.get("notes", ())]}

    def _of_object(self, actor: Actor, uri: LakeUri, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._slot(), closing(CallAnswers(self._catalog, actor)) as answers:
            answers.objects.open(str(uri))
            table_format = _format(answers.objects, str(uri))
            given = {"address": str(uri), "format": table_format}
            result = run_request({**request, **given}, answers, self._limits)
        return {"format": FORMATS[table_format].family, **result}

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if self._limits.processes == 0 or not all(map(importlib.util.find_spec, _LIBRARIES)):
            raise NotSupported(
                "this server runs no queries",
                kind="queries_unavailable",
                hint="They need `pip install 'anabranch[query]'`, and queries.processes above 0.",
            )
        with self._admission.enter():
            yield


def _table(objects: ReadableObjects, name: str, pattern: LakeUri) -> dict[str, Any]:
    addresses = objects.find(str(pattern))
    if not addresses:
        raise NotFound(f"no object matches {pattern}", kind="object_not_found")
    formats = {_format(objects, address) for address in addresses}
    if len(formats) > 1:
        raise Invalid(
            f"{pattern} matches files of several formats: {', '.join(sorted(formats))}",
            kind="query_failed",
            hint="Use one pattern for each format.",
        )
    return {"name": name, "addresses": addresses, "format": formats.pop()}


def _format(objects: ReadableObjects, address: str) -> str:
    """Returns the name of an object's format: by its path, else by its content."""
    named = format_of(address)
    if named is not None:
        return named.name
    opened = objects.open(address)
    size = opened.entry.size

    def read(start: int, length: int) -> bytes:
        return b"".join(opened.read(start, length))

    stream: Any = open_ranges(read, size, buffer_bytes=_EDGE_BYTES)
    found, _ = detect_format(stream, "")
    if found is None:
        path = parse_uri(address).key
        raise Invalid(
            f"{path} is no table: its name ends with none of .{', .'.join(EXTENSIONS)}",
            kind="no_table",
        )
    return found.name
