"""The columns of a listing, from whatever types they came in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import Invalid
from anabranch.pipelines.imports.listings.row_validation import LISTED, OPTIONAL

__all__ = ["invalid_listing", "parse_columns", "to_listed"]

_WHOLE = r"^\s*-?[0-9]{1,18}\s*$"


def invalid_listing(message: str, hint: str = "") -> Invalid:
    """Returns the error of a listing that cannot be read."""
    return Invalid(message, kind="invalid_listing", hint=hint)


def parse_columns(names: Sequence[str]) -> dict[str, str]:
    """Returns the names of a listing's columns by those of LISTED, ignoring case. Raises Invalid if
    one is missing.
    """
    columns = {name.lower(): name for name in names}
    missing = [name for name in LISTED.names if name not in columns and name not in OPTIONAL]
    if missing:
        raise invalid_listing(f"the listing has no column {', '.join(missing)}")
    return {name: columns[name] for name in LISTED.names if name in columns}


def to_listed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns a batch as one of LISTED. Texts that are not UTF-8, and sizes that are not whole
    numbers become null; a time without a zone is UTC. Raises Invalid for other columns.
    """
    columns = parse_columns(batch.schema.names)
    arrays = []
    for field in LISTED:
        if field.name not in columns:
            arrays.append(pa.nulls(batch.num_rows, field.type))
            continue
        column = batch.column(columns[field.name])
        try:
            arrays.append(_READ[field.name](column))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise invalid_listing(
                f"the column {field.name} of the listing ({column.type}): {error}"
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=LISTED)


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not _is_text(column.type) and not pa.types.is_null(column.type):
        raise ValueError("these are not texts")
    try:
        text = column.cast(pa.string())
        text.validate(full=True)
    except pa.ArrowInvalid:
        values = column.cast(pa.large_binary()).to_pylist()
        return pa.array([_decode(value) for value in values], pa.string())
    return text


def _decode(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _size(column: pa.Array) -> pa.Array:
    if not _is_text(column.type):
        return column.cast(pa.int64())
    text = _text(column)
    whole = pc.if_else(pc.match_substring_regex(text, _WHOLE), text, pa.scalar(None, pa.string()))
    return pc.utf8_trim_whitespace(whole).cast(pa.int64())


def _time(column: pa.Array) -> pa.Array:
    if _is_text(column.type):
        text = _text(column)
        times = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
        zone = pc.match_substring_regex(times, r"(Z|[+-][0-9]{2}:?[0-9]{2})$")
        times = pc.if_else(zone, times, pc.binary_join_element_wise(times, "Z", ""))
        return times.cast(LISTED.field("last_modified").type)
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        raise ValueError("these are not times")
    return column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False).cast(
        LISTED.field("last_modified").type
    )


def _metadata(column: pa.Array) -> pa.Array:
    kind = LISTED.field("metadata").type
    if pa.types.is_map(column.type):
        return column.cast(kind)
    if _is_text(column.type):
        texts = _text(column).dictionary_encode()
        values = [_pairs(text) for text in texts.dictionary.to_pylist()]
        return pa.array(values, kind).take(texts.indices)
    if pa.types.is_null(column.type):
        return column.cast(kind)
    # frames without maps have lists of structures in their place
    rows = column.to_pylist()
    return pa.array(
        [None if row is None else [tuple(each.values()) for each in row] for row in rows], kind
    )


def _pairs(text: str) -> list[tuple[str, str | None]]:
    if not text:
        return []
    found = json.loads(text)
    if not isinstance(found, dict) or not all(
        isinstance(each, str | None) for each in found.values()
    ):
        raise ValueError(f"{text[:200]!r} is not a JSON object of strings")
    return list(found.items())


def _is_text(kind: Any) -> bool:
    types = pa.types
    return any(
        is_kind(kind)
        for is_kind in (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_binary,
            types.is_large_binary,
            types.is_binary_view,
        )
    )


_READ: dict[str, Callable[[pa.Array], pa.Array]] = {
    "path": _text,
    "physical_address": _text,
    "size": _size,
    "checksum": _text,
    "last_modified": _time,
    "metadata": _metadata,
    "content_type": _text,
}
