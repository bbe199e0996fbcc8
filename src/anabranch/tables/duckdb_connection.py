"""Connections to DuckDB, which reads content of users within this program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["connect"]


def connect(config: Mapping[str, Any]) -> Any:
    """Returns a connection to an empty database of its own, which installs no extension and prints
    nothing.
    """
    import duckdb  # noqa: PLC0415  an optional library

    connection = duckdb.connect(config=dict(config))
    # a file's content must not make the program load code
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET enable_progress_bar = false")  # it would be printed
    return connection
