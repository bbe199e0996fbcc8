"""Rows of `object_metadata`: one for each key of each object's user metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.catalog.objects.object_search import ObjectSearch
from anabranch.pipelines.metadata_columns import OBJECT_METADATA
from anabranch.pipelines.queries.metadata.search_conditions import SqlCondition, search_conditions

__all__ = ["metadata_batches"]


def metadata_batches(
    search: ObjectSearch, columns: Sequence[str], conditions: Sequence[SqlCondition]
) -> Iterator[pa.RecordBatch]:
    """Yields the pairs of objects; only those of the wanted key or value if conditions name one."""
    wanted = {str(each[0]): each[2] for each in conditions if each[1] == "="}
    on_paths = [each for each in conditions if each[0] == "path"]
    if {"key", "value"} <= wanted.keys():
        on_paths.append(("metadata", "in", [str(wanted["value"])], wanted["key"]))
    for objects in search.batches(["path", "metadata"], search_conditions(on_paths)):
        pairs = objects.column("metadata")
        texts = {"key": pairs.keys, "value": pairs.items}
        rows = pa.array(pc.list_parent_indices(_as_lists(pairs)))
        mask = None
        for name in texts.keys() & wanted.keys():
            matches = pc.equal(texts[name], pa.scalar(wanted[name], pa.string()))
            mask = matches if mask is None else pc.and_(mask, matches)
        if mask is not None:
            rows = rows.filter(mask)
            texts = {name: text.filter(mask) for name, text in texts.items()}
        columns_by_name = {"path": objects.column("path").take(rows), **texts}
        yield pa.RecordBatch.from_arrays(
            [columns_by_name[name] for name in columns],
            schema=pa.schema([OBJECT_METADATA.field(name) for name in columns]),
        )


def _as_lists(pairs: pa.MapArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(pairs.offsets, pairs.keys)
