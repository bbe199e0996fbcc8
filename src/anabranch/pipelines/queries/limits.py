"""Limits of a query."""

from __future__ import annotations

import msgspec

__all__ = ["MAX_ROWS", "QueryLimits"]

MAX_ROWS = 10_000
"""The most rows that one result holds."""


class QueryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of each query: `seconds` from its start to its result, `memory_bytes` of DuckDB,
    `threads`; `result_bytes` of its rows as JSON, after which they are cut off, `download_bytes` of
    a result as a file, above which the query fails. `processes` is the number of queries that run
    at once.
    """

    seconds: float = 30.0
    memory_bytes: int = 512 << 20
    threads: int = 2
    result_bytes: int = 8 << 20
    download_bytes: int = 512 << 20
    processes: int = 2
