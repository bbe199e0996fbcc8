"""The relation of a function of metadata, whose rows the server sends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from anabranch.pipelines.metadata_columns import CHANGES, COMMITS, OBJECT_METADATA, OBJECTS
from anabranch.pipelines.queries.functions.conditions import Condition
from anabranch.pipelines.queries.functions.relations import Relation
from anabranch.pipelines.queries.server_calls import ServerCalls

__all__ = ["open_metadata_relation"]

_SCHEMAS = {
    "objects": OBJECTS,
    "object_metadata": OBJECT_METADATA,
    "changes": CHANGES,
    "commits": COMMITS,
}


def open_metadata_relation(calls: ServerCalls, function: str, arguments: Sequence[str]) -> Relation:
    """Returns the relation that a function returns for its arguments. Raises OSError for those that
    the server refuses.
    """
    call = {"call": "open_table", "function": function, "arguments": arguments}
    table = calls.request(call)[0]["table"]
    schema = _SCHEMAS[function]
    return Relation(schema, partial(_read, calls, schema, table))


def _read(
    calls: ServerCalls,
    schema: pa.Schema,
    table: int,
    columns: Sequence[str],
    conditions: Sequence[Condition],
) -> Iterator[pa.RecordBatch]:
    sent = pa.schema([schema.field(name) for name in columns])
    call = {"call": "scan", "table": table, "columns": columns, "conditions": conditions}
    scan = calls.request(call)[0]["scan"]
    while True:
        result, content = calls.request({"call": "next", "scan": scan})
        if result["ended"]:
            return
        yield pa.ipc.read_record_batch(pa.py_buffer(content), sent)
