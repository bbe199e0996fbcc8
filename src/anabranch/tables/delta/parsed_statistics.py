"""Statistics of checkpoints that have them as columns of their own types, not as JSON.

They become JSON, to be read as those of commits. Bounds of parts of columns are left out.

Source: the Delta transaction log protocol, section "Checkpoint Schema".
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["PARSED_STATISTICS", "has_only_parsed_statistics", "with_statistics_as_text"]

PARSED_STATISTICS = "stats_parsed"
"""The field of added files."""

_ENCODE = msgspec.json.Encoder(decimal_format="number").encode
_COUNT, _BOUNDS = "numRecords", ("minValues", "maxValues", "nullCount")


def has_only_parsed_statistics(schema: Any) -> bool:
    """Returns whether the added files of a checkpoint have no statistics in JSON."""
    import pyarrow as pa  # noqa: PLC0415  optional, slow to import

    added = schema.field("add").type
    names = [field.name for field in added] if pa.types.is_struct(added) else []
    if "stats" in names or PARSED_STATISTICS not in names:
        return False
    return bool(pa.types.is_struct(added.field(PARSED_STATISTICS).type))


def with_statistics_as_text(rows: Any) -> Any:
    """Returns the rows of added files with statistics in JSON instead of the parsed ones."""
    import pyarrow as pa  # noqa: PLC0415

    added = rows.column("add")
    fields = {field.name: place for place, field in enumerate(added.type)}
    arrays = dict(zip(fields, added.flatten(), strict=True))
    arrays["stats"] = pa.array(_texts(arrays.pop(PARSED_STATISTICS)), pa.string())
    changed = pa.StructArray.from_arrays(list(arrays.values()), list(arrays))
    return pa.RecordBatch.from_arrays([changed], ["add"])


def _texts(parsed: Any) -> list[str | None]:
    parts = {field.name: part for field, part in zip(parsed.type, parsed.flatten(), strict=True)}
    columns = {name: _plain(parts[name]).to_pylist() for name in _BOUNDS if name in parts}
    if _COUNT in parts:
        columns[_COUNT] = parts[_COUNT].to_pylist()
    texts = []
    for place, is_there in enumerate(parsed.is_valid().to_pylist()):
        found = {name: values[place] for name, values in columns.items()}
        texts.append(_ENCODE(found).decode() if is_there else None)
    return texts


def _plain(bounds: Any) -> Any:
    """Returns bounds of columns as values that JSON has."""
    import pyarrow as pa  # noqa: PLC0415

    if not pa.types.is_struct(bounds.type):
        return pa.nulls(len(bounds))
    arrays = {}
    for field, values in zip(bounds.type, bounds.flatten(), strict=True):
        if pa.types.is_temporal(field.type):
            arrays[field.name] = values.cast(pa.string())
        elif not pa.types.is_nested(field.type) and not pa.types.is_binary(field.type):
            arrays[field.name] = values
    return (
        pa.StructArray.from_arrays(list(arrays.values()), list(arrays), mask=bounds.is_null())
        if arrays
        else pa.nulls(len(bounds))
    )
