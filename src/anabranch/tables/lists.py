"""The lengths and elements of the lists of an Arrow array, whatever the kind of its lists."""

from __future__ import annotations

from typing import Any

__all__ = ["entries", "is_list", "make_lists"]


def is_list(kind: Any) -> bool:
    """Returns whether a type is one of lists; maps are none."""
    import pyarrow.types as kinds  # noqa: PLC0415  an optional library

    lists = kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)
    return bool(lists or kinds.is_list_view(kind) or kinds.is_large_list_view(kind))


def entries(array: Any) -> tuple[Any, list[Any]]:
    """Returns where each list or map of an array begins, and where the last ends, as a NumPy array,
    in the elements of all: one array, or the keys and the items of maps. A list that is null has no
    elements.
    """
    import numpy as np  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if not kinds.is_map(array.type):
        lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), [array.flatten()]
    if not len(array):
        return np.zeros(1, np.int64), [array.keys.slice(0, 0), array.items.slice(0, 0)]
    offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    start, length = int(offsets[0]), int(offsets[-1] - offsets[0])
    return offsets - start, [each.slice(start, length) for each in (array.keys, array.items)]


def make_lists(kind: Any, offsets: Any, values: Any, missing: Any) -> Any:
    """Returns lists of a type, given what `entries` returns, and which are null."""
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_fixed_size_list(kind):
        width = kind.list_size
        if missing.true_count:  # null lists have elements as well: any
            numbers = np.arange(len(missing) * width).reshape(len(missing), width)
            shift = np.cumsum(missing.to_numpy(zero_copy_only=False)) * width
            numbers = np.minimum(numbers - shift[:, None], max(len(values) - 1, 0))
            filled = values if len(values) else pa.nulls(1, values.type)
            values = _take(filled, pa.array(np.maximum(numbers, 0).ravel(), pa.int64()))
        return pa.FixedSizeListArray.from_arrays(values, type=kind, mask=missing)
    if kinds.is_list_view(kind) or kinds.is_large_list_view(kind):
        size = pa.int64() if kinds.is_large_list_view(kind) else pa.int32()
        make = pa.LargeListViewArray if kinds.is_large_list_view(kind) else pa.ListViewArray
        starts, lengths = pa.array(offsets[:-1], size), pa.array(np.diff(offsets), size)
        return make.from_arrays(starts, lengths, values, type=kind, mask=missing)
    if kinds.is_large_list(kind):
        starts = pa.array(offsets, pa.int64())
        return pa.LargeListArray.from_arrays(starts, values, type=kind, mask=missing)
    starts = pa.array(offsets, pa.int32())
    return pa.ListArray.from_arrays(starts, values, type=kind, mask=missing)


def _take(values: Any, indices: Any) -> Any:
    """Returns values at positions, also those of views, which Arrow does not take from."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_string_view(values.type) or kinds.is_binary_view(values.type):
        is_text = kinds.is_string_view(values.type)
        plain = values.cast(pa.large_string() if is_text else pa.large_binary())
        return plain.take(indices).cast(values.type)
    return values.take(indices)
