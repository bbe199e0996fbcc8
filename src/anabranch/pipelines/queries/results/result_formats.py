"""The formats of results that are files."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

__all__ = ["FORMATS", "FileFormat", "ResultFormat", "format_accepted"]

FileFormat = Literal["csv", "jsonl", "arrow", "parquet"]


class ResultFormat(msgspec.Struct, frozen=True):
    """A format: its name, its media type, and how names of files end."""

    name: FileFormat
    media_type: str
    extension: str


FORMATS = {
    "csv": ResultFormat("csv", "text/csv; charset=utf-8", "csv"),
    "jsonl": ResultFormat("jsonl", "application/x-ndjson", "jsonl"),
    "arrow": ResultFormat("arrow", "application/vnd.apache.arrow.stream", "arrows"),
    "parquet": ResultFormat("parquet", "application/vnd.apache.parquet", "parquet"),
}
assert set(FORMATS) == set(get_args(FileFormat))  # noqa: S101

_BY_MEDIA_TYPE = {each.media_type.partition(";")[0]: each for each in FORMATS.values()}
_BY_MEDIA_TYPE["application/jsonl"] = FORMATS["jsonl"]


def format_accepted(accept: str) -> ResultFormat | None:
    """Returns the format that a request's header `Accept` names, None for JSON: the first that is
    known of the most wanted.
    """
    wanted: list[tuple[float, ResultFormat | None]] = []
    for part in accept.split(","):
        media_type, *parameters = (text.strip().lower() for text in part.split(";"))
        if media_type in _BY_MEDIA_TYPE or media_type in {"application/json", "*/*"}:
            wanted.append((_quality(parameters), _BY_MEDIA_TYPE.get(media_type)))
    return max(wanted, key=lambda each: each[0], default=(0.0, None))[1]


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
