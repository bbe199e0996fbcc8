"""Rows of Arrow arrays by their numbers, for every type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.tables.widening import convert

__all__ = ["ChunkedRows", "concatenate", "is_takeable", "take_values"]


def take_values(array: Any, rows: Any) -> Any:
    """Returns the values of an array at positions, a NumPy array."""
    import pyarrow as pa  # noqa: PLC0415  an optional library

    stored = _takeable(array.type)
    indices = pa.array(rows, pa.int64())
    if stored == array.type:
        return array.take(indices)
    return convert(convert(array, stored).take(indices), array.type)


def is_takeable(kind: Any) -> bool:
    """Returns whether Arrow takes values of a type as it is."""
    return bool(_takeable(kind) == kind)


def concatenate(arrays: Sequence[Any]) -> Any:
    """Returns arrays of one type as one."""
    import pyarrow as pa  # noqa: PLC0415

    kind = arrays[0].type
    stored = _takeable(kind)
    if stored == kind:
        return pa.concat_arrays(arrays)
    return convert(pa.concat_arrays([convert(each, stored) for each in arrays]), kind)


def _takeable(kind: Any) -> Any:  # noqa: PLR0911  one for each kind of type
    """Returns the type in which Arrow takes values: it does so for no views of texts and bytes."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if isinstance(kind, pa.BaseExtensionType):
        stored = _takeable(kind.storage_type)
        return kind if stored == kind.storage_type else stored
    if kinds.is_string_view(kind):
        return pa.large_string()
    if kinds.is_binary_view(kind):
        return pa.large_binary()
    if kinds.is_run_end_encoded(kind):
        return _takeable(kind.value_type)
    if kinds.is_struct(kind):
        return pa.struct([field.with_type(_takeable(field.type)) for field in kind])
    if kinds.is_map(kind):
        item = kind.item_field.with_type(_takeable(kind.item_type))
        key = kind.key_field.with_type(_takeable(kind.key_type))
        return kind if (key, item) == (kind.key_field, kind.item_field) else pa.map_(key, item)
    if kinds.is_fixed_size_list(kind):
        element = kind.value_field.with_type(_takeable(kind.value_type))
        return kind if element == kind.value_field else pa.list_(element, kind.list_size)
    for is_kind, make in (
        (kinds.is_list, pa.list_),
        (kinds.is_large_list, pa.large_list),
        (kinds.is_list_view, pa.list_),
        (kinds.is_large_list_view, pa.large_list),
    ):
        if is_kind(kind):
            field = kind.value_field
            element = field.with_type(_takeable(field.type))
            return kind if element == field else make(element)
    return kind


class ChunkedRows:
    """The values of a chunked array by row number. Only the chunks that have them are read."""

    def __init__(self, column: Any) -> None:
        import numpy as np  # noqa: PLC0415

        self._column = column
        self._starts = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])

    def take(self, rows: Any) -> Any:
        """Returns the values at row numbers, a NumPy array, in its order."""
        import numpy as np  # noqa: PLC0415
        import pyarrow as pa  # noqa: PLC0415

        if not len(rows):
            return pa.array([], self._column.type)
        chunks = np.searchsorted(self._starts, rows, side="right") - 1
        order = np.argsort(chunks, kind="stable")
        parts = []
        for number in np.unique(chunks):
            here = rows[order][chunks[order] == number]
            parts.append(take_values(self._column.chunk(int(number)), here - self._starts[number]))
        found = parts[0] if len(parts) == 1 else concatenate(parts)
        if (order == np.arange(len(rows))).all():
            return found
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return take_values(found, back)
