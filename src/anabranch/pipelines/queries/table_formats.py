"""Formats of tables, by the extensions of their files."""

from __future__ import annotations

from typing import Literal

__all__ = ["EXTENSIONS", "Format", "compression_of", "format_of"]

Format = Literal["parquet", "csv", "json", "orc", "arrow", "avro"]

EXTENSIONS: dict[str, Format] = {
    "parquet": "parquet",
    "parq": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "tsv": "csv",
    "psv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "orc": "orc",
    "arrow": "arrow",
    "arrows": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
    "avro": "avro",
}
_COMPRESSIONS = {"gz": "gzip", "zst": "zstd"}


def format_of(path: str) -> Format | None:
    """Returns the format that a path's extension names, None for others. CSV and JSON may be
    compressed: `.csv.gz`.
    """
    name, _, extension = path.rpartition("/")[2].lower().rpartition(".")
    found = EXTENSIONS.get(extension)
    if found is None and extension in _COMPRESSIONS:
        found = EXTENSIONS.get(name.rpartition(".")[2])
        return found if found in {"csv", "json"} else None
    return found if name else None


def compression_of(path: str) -> str:
    """Returns the compression that a path's extension names, the empty string for others."""
    return _COMPRESSIONS.get(path.rpartition(".")[2].lower(), "")
