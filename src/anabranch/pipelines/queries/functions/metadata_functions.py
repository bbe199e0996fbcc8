"""The functions of metadata: objects and their metadata, changes and commits of references."""

from __future__ import annotations

from anabranch.pipelines.queries.functions.table_functions import TableFunction
from anabranch.pipelines.queries.server_calls import ServerCalls

__all__ = ["metadata_functions"]

_AT_REF = ("repository", "reference")
_PREFIX = ("prefix",)


def metadata_functions(calls: ServerCalls) -> list[TableFunction]:
    """Returns the functions, whose rows the server reads as the user of the query."""
    return [
        _function(calls, "objects", _AT_REF, _PREFIX),
        _function(calls, "object_metadata", _AT_REF, _PREFIX),
        _function(calls, "changes", ("repository", "left", "right"), _PREFIX),
        _function(calls, "commits", _AT_REF, ()),
    ]


def _function(
    calls: ServerCalls, name: str, required: tuple[str, ...], optional: tuple[str, ...]
) -> TableFunction:
    def open_relation(*arguments: str) -> object:
        # pyarrow is slow to import, and most queries call no function
        from anabranch.pipelines.queries.functions.metadata_relation import (  # noqa: PLC0415
            open_metadata_relation,
        )

        return open_metadata_relation(calls, name, arguments)

    return TableFunction(name, required, open_relation, optional=optional)
