"""Statistics of a column: counts, extremes, and what a small histogram shows."""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from anabranch.tables.json_values import infinite_count, json_column, text_column
from anabranch.tables.sql_columns import unique_names
from anabranch.tables.type_names import type_name

__all__ = ["BINS", "column_statistics"]

BINS = 20

_TOP_VALUES = 10
_TEXT_CHARS = 200


def column_statistics(table: Any, seconds: float) -> list[dict[str, Any]]:
    """Returns the statistics of the columns of an Arrow table: of the first one, and of as many as
    `seconds` allow: `name`, `type`, `nulls`, `distinct`, `min`, `max`, `mean`, and `histogram`:
    counts of numbers and times in BINS bins of equal width from `low` to `high`, or of the most
    frequent other values. `mean` is that of finite numbers; NaN is greater than all numbers. Raises
    MemoryError.
    """
    deadline = time.monotonic() + seconds
    result: list[dict[str, Any]] = []
    for name, column in zip(unique_names(table.schema.names), table.columns, strict=True):
        if result and time.monotonic() > deadline:
            break
        result.append(_statistics(name, column.combine_chunks()))
    return result


def _statistics(name: str, column: Any) -> dict[str, Any]:
    found = {"name": name, "type": type_name(column.type)}
    values = _plain(column)
    kind = values.type
    if kinds.is_nested(kind):
        texts = [text for text in text_column(column) if text is not None]
        nothing = {"min": None, "max": None, "mean": None, "histogram": None}
        return {**found, "nulls": len(column) - len(texts), "distinct": len(set(texts)), **nothing}
    found["nulls"] = values.null_count
    present = values.drop_null()
    is_number = kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind)
    if is_number or kinds.is_date(kind) or kinds.is_timestamp(kind):
        return {**found, **_of_numbers(present, has_mean=is_number)}
    return {**found, **_of_texts(present)}


def _plain(values: Any) -> Any:
    """Returns values without the encoding or extension of their type."""
    if isinstance(values.type, pa.BaseExtensionType):
        is_text = values.type == pa.uuid() or isinstance(values.type, pa.Bool8Type)
        return values if is_text else _plain(values.storage)
    if kinds.is_dictionary(values.type):
        return _plain(values.dictionary_decode())
    if kinds.is_run_end_encoded(values.type):
        return _plain(pc.run_end_decode(values))
    return values.cast(pa.float32()) if kinds.is_float16(values.type) else values


def _of_numbers(values: Any, *, has_mean: bool) -> dict[str, Any]:
    numbers = _doubles(values)
    finite = np.flatnonzero(np.isfinite(numbers))
    shown = numbers[finite]
    low, high = _extremes(values)
    return {
        "distinct": _distinct(values),
        "min": _show(low),
        "max": _show(high),
        "mean": math.fsum(shown) / len(shown) if has_mean and len(shown) else None,
        "histogram": _bins(values.take(pa.array(finite)), shown) if len(shown) else None,
    }


def _doubles(values: Any) -> Any:
    """Returns numbers, or times in their units, as doubles."""
    kind = values.type
    infinite = infinite_count(kind)
    if kinds.is_temporal(kind):
        stored = pa.int32() if kind.bit_width == 32 else pa.int64()  # noqa: PLR2004
        values = values.view(stored)
    doubles = values.cast(pa.float64(), safe=False)
    if infinite is not None:
        is_infinite = pc.or_(pc.equal(values, infinite), pc.equal(values, -infinite))
        doubles = pc.if_else(is_infinite, math.inf, doubles)
    return np.asarray(doubles.to_numpy(zero_copy_only=False), np.float64)


def _extremes(values: Any) -> tuple[Any, Any]:
    if not len(values):
        return None, None
    has_nan = False
    if kinds.is_floating(values.type):
        is_number = pc.invert(pc.is_nan(values))
        numbers = values.filter(is_number)
        has_nan = len(numbers) < len(values)
        nan = pa.scalar(math.nan, pa.float64())
        if not len(numbers):
            return nan, nan
        values = numbers
    found = pc.min_max(values)
    return found["min"], nan if has_nan else found["max"]


def _distinct(values: Any) -> int:
    try:
        count: int = pc.count_distinct(values).as_py()
    except pa.ArrowNotImplementedError:
        return len(set(text_column(values)))
    return count


def _bins(values: Any, numbers: Any) -> dict[str, Any]:
    """Returns the counts of finite values in bins of equal width."""
    low, high = _extremes(values)
    least, greatest = float(numbers.min()), float(numbers.max())
    width = greatest - least
    # huge values of both signs have no finite width
    places = np.zeros(len(numbers), np.int64)
    if width != 0 and math.isfinite(width):
        places = np.minimum(np.floor((numbers - least) / width * BINS), BINS - 1).astype(np.int64)
    counts = np.bincount(places, minlength=BINS)
    return {"low": _show(low), "high": _show(high), "counts": counts.tolist()}


def _of_texts(values: Any) -> dict[str, Any]:
    counts = Counter(text[:_TEXT_CHARS] for text in text_column(values) if text is not None)
    top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_TOP_VALUES]
    return {
        "distinct": len(counts),
        "min": min(counts, default=None),
        "max": max(counts, default=None),
        "mean": None,
        "histogram": {"values": [{"value": text, "count": count} for text, count in top]},
    }


def _show(scalar: Any) -> Any:
    return None if scalar is None else json_column(pa.array([scalar], scalar.type))[0]
