"""Queries and previews, a few at a time."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from types import MappingProxyType
from typing import Any

from anabranch.access.actors.actor import Actor
from anabranch.catalog.catalog import Catalog
from anabranch.errors import Invalid, NotFound, NotSupported
from anabranch.model.uri import LakeUri
from anabranch.pipelines.admission import Admission
from anabranch.pipelines.queries.call_answers import CallAnswers
from anabranch.pipelines.queries.download import Download
from anabranch.pipelines.queries.limits import MAX_ROWS, QueryLimits
from anabranch.pipelines.queries.object_formats import object_format, require_format
from anabranch.pipelines.queries.query_run import run_request
from anabranch.pipelines.queries.readable_objects import ReadableObjects
from anabranch.pipelines.queries.results.result_formats import FileFormat
from anabranch.pipelines.queries.table_folders import table_folder_notices
from anabranch.tables.formats import FORMATS

__all__ = ["Queries"]

_LIBRARIES = ("duckdb", "fsspec")
_WAIT_SECONDS = 10.0
_MAX_WAITING = 8
_MAX_TABLES = 100
_NO_FORMATS: Mapping[str, str] = MappingProxyType({})


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
        formats: Mapping[str, str] = _NO_FORMATS,
        max_rows: int,
    ) -> dict[str, Any]:
        """Returns the result of an SQL query: `columns`, `rows` (at most `max_rows`), `has_more`,
        `seconds` and `bytes_read`. It names objects of any repository by their addresses; `tables`
        are names for paths and patterns of this reference; `formats` are the formats, by name, of
        those tables whose files do not tell theirs.

        Raises Invalid for a query that fails or exceeds a limit, Denied for objects that the user
        may not read, NotFound, Busy, NotSupported without the libraries.
        """
        given = repository, reference, tables, formats
        return self._run(actor, sql, *given, max_rows=min(max_rows, MAX_ROWS))

    def download(
        self,
        actor: Actor,
        sql: str,
        *,
        repository: str,
        reference: str,
        tables: Mapping[str, str],
        formats: Mapping[str, str] = _NO_FORMATS,
        file_format: FileFormat,
    ) -> Download:
        """Returns the whole result of an SQL query as a file, with all values as they are. Raises
        what `query` raises, and Invalid for a result that is too large.
        """
        download = Download(self._limits.download_bytes)
        try:
            given = repository, reference, tables, formats
            self._run(actor, sql, *given, download, format=file_format)
        except BaseException:
            download.close()
            raise
        return download

    def preview(
        self, actor: Actor, uri: LakeUri, *, max_rows: int, table_format: str = ""
    ) -> dict[str, Any]:
        """Returns the first rows of a table's file, as `query` does. `table_format` is the name of
        its format, needed if neither its path nor its content tells it.
        """
        request = {"kind": "preview", "max_rows": max_rows}
        return self._of_object(actor, uri, table_format, request)

    def preview_table(
        self, actor: Actor, uri: LakeUri, *, version: int | None, max_rows: int
    ) -> dict[str, Any]:
        """Returns a version of the table in a folder, by default the last one: what is known of it
        (see `describe_table`), and its first rows, as `query` does.
        """
        request = {"kind": "table", "address": str(uri), "version": version, "max_rows": max_rows}
        with self._slot(), closing(CallAnswers(self._catalog, actor)) as answers:
            return run_request(request, answers, self._limits)

    def statistics(self, actor: Actor, uri: LakeUri, *, table_format: str = "") -> dict[str, Any]:
        """Returns statistics of a file's columns, see `column_statistics`, over its first `rows`
        rows; `complete` if these are all.
        """
        return self._of_object(actor, uri, table_format, {"kind": "statistics"})

    def _run(
        self,
        actor: Actor,
        sql: str,
        repository: str,
        reference: str,
        tables: Mapping[str, str],
        formats: Mapping[str, str],
        download: Download | None = None,
        **options: object,
    ) -> dict[str, Any]:
        _require_tables(tables, formats)
        with self._slot(), closing(CallAnswers(self._catalog, actor, download)) as answers:
            patterns = {n: LakeUri(repository, reference, each) for n, each in tables.items()}
            found = [
                _table(answers.objects, name, pattern, formats.get(name, ""))
                for name, pattern in patterns.items()
            ]
            kind = "query" if download is None else "download"
            request = {"kind": kind, "sql": sql, "tables": found, **options}
            result = run_request(request, answers, self._limits)
            notices = [
                notice for table in found for notice in table_folder_notices(answers.objects, table)
            ]
        return {**result, "notes": [*notices, *result.get("notes", ())]}

    def _of_object(
        self, actor: Actor, uri: LakeUri, given_format: str, request: Mapping[str, Any]
    ) -> dict[str, Any]:
        if given_format:
            require_format(given_format)
        with self._slot(), closing(CallAnswers(self._catalog, actor)) as answers:
            answers.objects.open(str(uri))
            table_format = object_format(answers.objects, str(uri), given_format)
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


def _table(
    objects: ReadableObjects, name: str, pattern: LakeUri, format_name: str
) -> dict[str, Any]:
    addresses = objects.find(str(pattern))
    if not addresses:
        raise NotFound(f"no object matches {pattern}", kind="object_not_found")
    if format_name:
        found = object_format(objects, addresses[0], format_name)
        return {"name": name, "addresses": addresses, "format": found}
    formats = {object_format(objects, address) for address in addresses}
    if len(formats) > 1:
        raise Invalid(
            f"{pattern} matches files of several formats: {', '.join(sorted(formats))}",
            kind="query_failed",
            hint="Use one pattern for each format.",
        )
    return {"name": name, "addresses": addresses, "format": formats.pop()}


def _require_tables(tables: Mapping[str, str], formats: Mapping[str, str]) -> None:
    if len(tables) > _MAX_TABLES:
        raise Invalid(f"a query has at most {_MAX_TABLES} tables", kind="query_failed")
    for name, table_format in formats.items():
        require_format(table_format)
        if name not in tables:
            raise Invalid(
                f"formats: {name!r} is none of the tables",
                kind="query_failed",
                hint="Name the table and its path in `tables`, too.",
            )
