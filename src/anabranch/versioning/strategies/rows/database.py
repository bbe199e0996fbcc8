"""The DuckDB database in which rows are compared."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from anabranch.errors import Conflict
from anabranch.errors.dependency_errors import reason_of
from anabranch.tables.duckdb_connection import connect
from anabranch.versioning.strategies.installed_libraries import require_installed

__all__ = [
    "MAX_MEMORY",
    "database_errors",
    "open_database",
    "opening_database",
    "require_libraries",
]

MAX_MEMORY = 10**9
"""How many bytes of memory a database may use; the rest is in temporary files."""


def require_libraries(purpose: str) -> None:
    """Raises NotSupported (kind library_missing) if DuckDB or pyarrow is not installed. `purpose`
    names what needs them.
    """
    require_installed(purpose, "duckdb", "pyarrow")


@contextmanager
def opening_database(folder: str) -> Iterator[Future[Any]]:
    """Begins to open an empty database, whose temporary files are in `folder`, on another thread,
    and yields the future connection: files are fetched and read meanwhile.
    """
    with ThreadPoolExecutor(1) as thread:
        opening = thread.submit(_connect, folder)
        try:
            yield opening
        finally:
            if opening.exception() is None:
                opening.result().close()


def _connect(folder: str) -> Any:
    config = {"memory_limit": f"{_memory()}B", "temp_directory": f"{folder}/spilled"}
    connection = connect(config)
    connection.execute("SET TimeZone = 'UTC'")  # not that of the machine
    return connection


@contextmanager
def open_database(folder: str) -> Iterator[Any]:
    """Yields a connection to an empty database, whose temporary files are in `folder`. Raises
    Conflict as `database_errors`.
    """
    with database_errors(), opening_database(folder) as opening:
        yield opening.result()


@contextmanager
def database_errors() -> Iterator[None]:
    """Raises Conflict (kind merge_failed) for what the database cannot do, such as reading a
    damaged file.
    """
    import duckdb  # noqa: PLC0415  optional libraries
    import pyarrow as pa  # noqa: PLC0415

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, RecursionError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # it is not about the files: a full disk
        raise Conflict(
            f"the tables cannot be compared: {reason_of(error).splitlines()[0]}",
            kind="merge_failed",
            hint="Choose a side for this path.",
        ) from error


def _memory() -> int:
    """Returns how many bytes of memory the database may use: half of what the process may."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return MAX_MEMORY if limit == resource.RLIM_INFINITY else min(MAX_MEMORY, limit // 2)
