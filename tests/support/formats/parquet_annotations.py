"""Parquet files whose columns have annotations that Arrow does not write."""

from __future__ import annotations

import io

from anabranch.tables.parquet.schema_elements import read_columns, replace_annotations

__all__ = ["annotated"]


def annotated(content: bytes, name: str, *, field: tuple[int, int, object]) -> bytes:
    """Returns a file in which a column's element has a field more: number, Thrift type, value."""
    stream = io.BytesIO(content)
    element = read_columns(stream)[name]
    element.fields.append(type(element.fields[0])(*field))
    element.fields.sort(key=lambda each: each.number)
    replace_annotations(stream, {name: element})
    return stream.getvalue()
