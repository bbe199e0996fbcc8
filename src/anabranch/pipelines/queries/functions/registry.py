"""The table functions of queries."""

from __future__ import annotations

from anabranch.pipelines.queries.functions.lake_tables import lake_tables
from anabranch.pipelines.queries.functions.metadata_functions import metadata_functions
from anabranch.pipelines.queries.functions.table_functions import TableFunction
from anabranch.pipelines.queries.object_filesystem import ObjectFilesystem
from anabranch.pipelines.queries.server_calls import ServerCalls

__all__ = ["table_functions"]


def table_functions(calls: ServerCalls, objects: ObjectFilesystem) -> list[TableFunction]:
    """Returns the functions of a query process, which ask the server by `calls` and read
    `objects`.
    """
    return [*metadata_functions(calls), *lake_tables(objects)]
