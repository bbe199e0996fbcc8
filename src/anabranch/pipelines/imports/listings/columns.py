"""Conversion of a listing's columns from the types of its source."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import Invalid
from anabranch.errors.dependency_errors import reason_of
from anabranch.pipelines.imports.listings.row_validation import LISTED, OPTIONAL

__all__ = ["invalid_listing", "parse_columns", "to_listed"]

_INTEGER = r"^\s*-?[0-9]{1,18}\s*$"


def invalid_listing(message: str, hint: str = "") -> Invalid:
    """Returns the error of a listing that cannot be read."""
    return Invalid(message, kind="invalid_listing", hint=hint)


def parse_columns(names: Sequence[str]) -> dict[str, str]:
    """Maps the columns of LISTED to the names that they have in a listing, case-insensitively.
    Raises Invalid if a required column is missing.
    """
    present = {name.lower(): name for name in names}
    missing = [name for name in LISTED.names if name not in present and name not in OPTIONAL]
    if missing:
        raise invalid_listing(f"the listing has no column {', '.join(missing)}")
    return {name: present[name] for name in LISTED.names if name in present}


def to_listed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Converts a batch to LISTED. Texts that are not UTF-8 and sizes that are not integers become
    null; a time without a time zone is UTC. Raises Invalid for columns that cannot be converted.
    """
    columns = parse_columns(batch.schema.names)
    arrays = []
    for field in LISTED:
        if field.name not in columns:
            arrays.append(pa.nulls(batch.num_rows, field.type))
            continue
        column = batch.column(columns[field.name])
        try:
            arrays.append(_CONVERTERS[field.name](column))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise invalid_listing(
                f"the column {field.name} of the listing ({column.type}): {reason_of(error)}"
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=LISTED)


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not _is_text(column.type) and not pa.types.is_null(column.type):
        raise ValueError("not a text column")
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
    is_integer = pc.match_substring_regex(text, _INTEGER)
    integer = pc.if_else(is_integer, text, pa.scalar(None, pa.string()))
    return pc.utf8_trim_whitespace(integer).cast(pa.int64())


def _time(column: pa.Array) -> pa.Array:
    if _is_text(column.type):
        text = _text(column)
        time = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
        has_zone = pc.match_substring_regex(time, r"(Z|[+-][0-9]{2}:?[0-9]{2})$")
        time = pc.if_else(has_zone, time, pc.binary_join_element_wise(time, "Z", ""))
        return time.cast(LISTED.field("last_modified").type)
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        raise ValueError("not a time column")
    return column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False).cast(
        LISTED.field("last_modified").type
    )


def _metadata(column: pa.Array) -> pa.Array:
    kind = LISTED.field("metadata").type
    if pa.types.is_map(column.type):
        return column.cast(kind)
    if _is_text(column.type):
        texts = _text(column).dictionary_encode()
        values = [_parse_metadata(text) for text in texts.dictionary.to_pylist()]
        return pa.array(values, kind).take(texts.indices)
    if pa.types.is_null(column.type):
        return column.cast(kind)
    # data frames without map types have lists of structs
    rows = column.to_pylist()
    return pa.array(
        [None if row is None else [tuple(pair.values()) for pair in row] for row in rows], kind
    )


def _parse_metadata(text: str) -> list[tuple[str, str | None]]:
    if not text:
        return []
    metadata = json.loads(text)
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str | None) for value in metadata.values()
    ):
        raise ValueError(f"{text[:200]!r} is not a JSON object of strings")
    return list(metadata.items())


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


_CONVERTERS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "path": _text,
    "physical_address": _text,
    "size": _size,
    "checksum": _text,
    "last_modified": _time,
    "metadata": _metadata,
    "content_type": _text,
}
