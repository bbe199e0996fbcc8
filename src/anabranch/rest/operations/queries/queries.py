"""SQL over objects, previews of tables, and statistics of their columns."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.policies.permissions import Action
from anabranch.converter import Converter
from anabranch.http.response import Response
from anabranch.model.uri import LakeUri
from anabranch.pipelines.queries.limits import MAX_ROWS
from anabranch.pipelines.queries.queries import Queries
from anabranch.pipelines.queries.results.result_formats import (
    FORMATS,
    FileFormat,
    ResultFormat,
    format_accepted,
)
from anabranch.rest.operations.queries.table_needs import of_queried_tables
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtRef, ObjectPath
from anabranch.rest.protocol.resources import on_object, on_repository
from anabranch.tables.formats import FORMAT_NAMES

__all__ = ["OPERATIONS"]

_Rows = Annotated[int, Meta(ge=1, le=MAX_ROWS, description="the most rows to return")]


class Query(Body, frozen=True, kw_only=True):
    """A query in DuckDB's SQL. It names objects by their addresses, `lakefs://repository/ref/path`,
    which may be patterns, and by the names of `tables`.
    """

    sql: Annotated[str, Meta(max_length=100_000)]
    tables: Annotated[
        dict[str, str], Meta(description="paths, or patterns of paths, at the ref, by table name")
    ] = field(default_factory=dict)
    formats: Annotated[
        dict[str, str],
        Meta(
            description="formats of tables whose paths and contents do not tell them, by name of "
            f"the table: {FORMAT_NAMES}"
        ),
    ] = field(default_factory=dict)
    max_rows: Annotated[
        int, Meta(ge=1, le=MAX_ROWS, description="the most rows to return as JSON")
    ] = 1000
    format: Annotated[
        Literal["json", FileFormat] | UnsetType,
        Meta(
            description="the format of the result; without it, the header Accept decides. Files "
            "have all rows"
        ),
    ] = UNSET


class ResultColumn(msgspec.Struct, frozen=True):
    """A column of a result; `type` is DuckDB's."""

    name: str
    type: str


class QueryResult(msgspec.Struct, frozen=True, kw_only=True):
    """Rows, each with a value for each column. `has_more` if the result has more rows; `seconds`
    and `bytes_read` are what it took; `notes` say how files were read: encodings, rows that were
    repaired, columns that are shown in another type.
    """

    columns: list[ResultColumn]
    rows: list[list[Any]]
    has_more: bool
    seconds: float
    bytes_read: int
    notes: list[str] = field(default_factory=list)


_TO_QUERY_RESULT = Converter(QueryResult)


class ObjectPreview(QueryResult, frozen=True, kw_only=True):
    """The first rows of a table's file."""

    format: str


_TO_PREVIEW = Converter(ObjectPreview)


class FrequentValue(msgspec.Struct, frozen=True):
    """A value, and how often it occurs."""

    value: Any
    count: int


class Histogram(msgspec.Struct, frozen=True, omit_defaults=True):
    """The counts of numbers or times in bins of equal width from `low` to `high`; or the most
    frequent of other `values`.
    """

    low: Any = None
    high: Any = None
    counts: list[int] = field(default_factory=list)
    values: list[FrequentValue] = field(default_factory=list)


class ColumnStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of a column; `mean` is that of finite numbers."""

    name: str
    type: str
    nulls: int
    distinct: int
    min: Any
    max: Any
    mean: Any
    histogram: Histogram | None


class ObjectStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of a file's columns over its first `rows` rows; `complete` if it has no more.
    `missing_columns` is how many further columns the file has.
    """

    format: str
    columns: list[ColumnStatistics]
    rows: int
    complete: bool
    seconds: float
    bytes_read: int
    missing_columns: int = 0
    notes: list[str] = field(default_factory=list)


_TO_STATISTICS = Converter(ObjectStatistics)


class OfObject(AtRef, frozen=True, kw_only=True):
    """Parameters of operations on a table's file."""

    path: ObjectPath
    format: Annotated[
        str,
        Meta(
            description="the format of the file, if neither its path nor its content tells it: "
            f"{FORMAT_NAMES}"
        ),
    ] = ""


class PreviewObject(OfObject, frozen=True, kw_only=True):
    """Parameters of previewObject."""

    rows: _Rows = 100


def query(call: Call[AtRef, Query]) -> QueryResult | Response:
    """Returns the result of a query, as JSON or as a file. Each object that it reads is authorized
    on its own.
    """
    params, body = call.params, call.body
    if body.format is UNSET:
        file_format = format_accepted(call.request.header("accept"))
    else:
        file_format = FORMATS.get(body.format)
    if file_format is not None:
        return _file(call, file_format)
    result = _queries(call).query(
        call.authenticated,
        body.sql,
        repository=params.repository,
        reference=params.ref,
        tables=body.tables,
        formats=body.formats,
        max_rows=body.max_rows,
    )
    return _TO_QUERY_RESULT.convert(result)


def _file(call: Call[AtRef, Query], file_format: ResultFormat) -> Response:
    download = _queries(call).download(
        call.authenticated,
        call.body.sql,
        repository=call.params.repository,
        reference=call.params.ref,
        tables=call.body.tables,
        formats=call.body.formats,
        file_format=file_format.name,
    )
    return Response(
        200,
        content_type=file_format.media_type,
        headers=[("Content-Disposition", f'attachment; filename="query.{file_format.extension}"')],
        pieces=download.pieces(),
        length=download.size,
    )


def preview_object(call: Call[PreviewObject, None]) -> ObjectPreview:
    """Returns the first rows of a table's file."""
    params = call.params
    result = _queries(call).preview(
        call.authenticated, _uri(params), max_rows=params.rows, table_format=params.format
    )
    return _TO_PREVIEW.convert(result)


def get_object_statistics(call: Call[OfObject, None]) -> ObjectStatistics:
    """Returns statistics of the columns of a table's file."""
    params = call.params
    result = _queries(call).statistics(call.authenticated, _uri(params), table_format=params.format)
    return _TO_STATISTICS.convert(result)


def _queries(call: Call[Any, Any]) -> Queries:
    return call.services.queries


def _uri(params: OfObject) -> LakeUri:
    return LakeUri(params.repository, params.ref, params.path)


_REF = "/repositories/{repository}/refs/{ref}"

OPERATIONS = (
    Operation(
        id="queryObjects",
        tag="objects",
        method="POST",
        path=_REF + "/query",
        summary="query objects with SQL",
        permission=(Need(Action.LIST_OBJECTS, on_repository, of=of_queried_tables),),
        params=AtRef,
        body=Query,
        response=QueryResult,
        files=tuple(each.media_type.partition(";")[0] for each in FORMATS.values()),
        handler=query,
    ),
    Operation(
        id="previewObject",
        tag="objects",
        method="GET",
        path=_REF + "/objects/preview",
        summary="get the first rows of a table's file",
        permission=(Need(Action.READ_OBJECT, on_object),),
        params=PreviewObject,
        response=ObjectPreview,
        handler=preview_object,
    ),
    Operation(
        id="getObjectStatistics",
        tag="objects",
        method="GET",
        path=_REF + "/objects/statistics",
        summary="get statistics of the columns of a table's file",
        permission=(Need(Action.READ_OBJECT, on_object),),
        params=OfObject,
        response=ObjectStatistics,
        handler=get_object_statistics,
    ),
)
