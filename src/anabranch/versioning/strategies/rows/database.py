"""The DuckDB database in which rows are compared."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anabranch.dependency_errors import reason_of
from anabranch.errors import Conflict
from anabranch.versioning.strategies.installed_libraries import require_installed

__all__ = ["MAX_MEMORY", "open_database", "require_libraries"]

MAX_MEMORY = 10**9
"""How many bytes of memory a database may use; the rest is in temporary files."""


def require_libraries(purpose: str) -> None:
    """Raises NotSupported (kind library_missing) if DuckDB or pyarrow is not installed. `purpose`
    names what needs them.
    """
    require_installed(purpose, "duckdb", "pyarrow")


@contextmanager
def open_database(folder: str) -> Iterator[Any]:
    """Yields a connection to an empty database, whose temporary files are in `folder`. Raises
    Conflict (kind merge_failed) for what the database cannot do, such as reading a damaged file.
    """
    import duckdb  # noqa: PLC0415  optional libraries
    import pyarrow as pa  # noqa: PLC0415

    config = {"memory_limit": f"{_memory()}B", "temp_directory": f"{folder}/spilled"}
    try:
        with duckdb.connect(config=config) as connection:
            # a file's content must not make the server load code
            connection.execute("SET autoinstall_known_extensions = false")
            connection.execute("SET TimeZone = 'UTC'")  # not that of the machine
            connection.execute("SET enable_progress_bar = false")  # it would be printed
            yield connection
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
