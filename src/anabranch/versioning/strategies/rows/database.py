"""The DuckDB database in which rows are compared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anabranch.dependency_errors import reason_of
from anabranch.errors import Busy, Conflict, NotSupported

__all__ = ["MEMORY", "open_database", "require_libraries"]

MEMORY = "1GB"
"""How much memory a database may use; the rest is in temporary files."""

_MAX_DATABASES = 2
"""How many databases a process has at once; others wait."""

_MAX_WAIT_SECONDS = 60.0

_free = threading.BoundedSemaphore(_MAX_DATABASES)


def require_libraries(purpose: str) -> None:
    """Raises NotSupported (kind library_missing) if DuckDB or pyarrow is not installed. `purpose`
    names what needs them.
    """
    try:
        import duckdb  # noqa: PLC0415  optional libraries
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise NotSupported(
            f"{purpose} needs DuckDB and pyarrow",
            kind="library_missing",
            hint="Install them on the server: pip install 'anabranch[merge]'",
        ) from error
    del duckdb, pyarrow


@contextmanager
def open_database(folder: str) -> Iterator[Any]:
    """Yields a connection to an empty database, whose temporary files are in `folder`. Raises
    Conflict (kind merge_failed) for what the database cannot do, such as reading a damaged file,
    and Busy if other databases do not end in time.
    """
    import duckdb  # noqa: PLC0415  optional libraries
    import pyarrow as pa  # noqa: PLC0415

    if not _free.acquire(timeout=_MAX_WAIT_SECONDS):
        raise Busy("the server compares other tables", kind="too_many_tables")
    config = {"memory_limit": MEMORY, "temp_directory": f"{folder}/spilled"}
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
    finally:
        _free.release()
