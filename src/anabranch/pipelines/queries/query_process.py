"""The process of one request: see `query_run`. It limits itself before it reads anything.

DuckDB may open nothing but objects: local files and the network are disabled, extensions cannot be
loaded, and the configuration is locked before the first statement of a user. The process has no
secret in its environment and cannot write files.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Iterator
from typing import Any

from anabranch.child_process.forking import end_with, import_libraries
from anabranch.child_process.limits import set_limits
from anabranch.child_process.standard_streams import take_standard_streams
from anabranch.errors.dependency_errors import reason_of
from anabranch.pipelines.queries import messages
from anabranch.pipelines.queries.functions.registry import table_functions
from anabranch.pipelines.queries.functions.table_functions import TableFunctions
from anabranch.pipelines.queries.object_filesystem import SCHEME, ObjectFilesystem
from anabranch.pipelines.queries.object_previews import preview_object, statistics_of_object
from anabranch.pipelines.queries.object_tables import content_macros, file_functions
from anabranch.pipelines.queries.result_rows import result_rows
from anabranch.pipelines.queries.results.result_sink import ResultSink
from anabranch.pipelines.queries.results.result_writers import WRITERS
from anabranch.pipelines.queries.server_calls import ServerCalls
from anabranch.pipelines.queries.table_files import TableReader
from anabranch.pipelines.queries.table_preview import describe_table, shown_columns
from anabranch.tables.duckdb_connection import connect
from anabranch.tables.sql_names import identifier

__all__ = ["main", "prepare"]

_BESIDE_DUCKDB_BYTES = 1 << 30
"""Memory for the interpreter, the libraries, and rows on their way."""

_TABLE = "table"


class _Server:
    """The process that asks. What libraries print goes to standard error."""

    def __init__(self) -> None:
        self._input, self._output = take_standard_streams()

    def receive(self) -> tuple[dict[str, Any], bytes]:
        try:
            return messages.receive(self._input)
        except EOFError:
            os._exit(1)  # nobody waits for the result

    def call(self, value: dict[str, Any], content: bytes) -> tuple[dict[str, Any], bytes]:
        messages.send(self._output, value, content)
        return self.receive()

    def finish(self, value: dict[str, Any]) -> None:
        messages.send(self._output, value)


class _Requests:
    """What a request may ask for, over one connection."""

    def __init__(self, connection: Any, calls: ServerCalls, objects: ObjectFilesystem) -> None:
        self._connection = connection
        self._calls = calls
        self._objects = objects
        self._reader = TableReader(connection, objects)

    def query(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the result of the last of some statements, of which all but it may create views
        and tables in memory.
        """
        functions, statement = self._prepare(request)
        with self._failures():
            cursor = functions.execute(statement)
            result = result_rows(cursor, request["max_rows"], request["result_bytes"])
        return {**result, "notes": self._reader.notes()}

    def download(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sends the result of the last of some statements as a file, and returns nothing more."""
        functions, statement = self._prepare(request)
        sink = ResultSink(self._calls)
        with self._failures():
            relation = functions.relation(statement)
            if relation is None:
                raise ValueError("the last statement has no rows")
            WRITERS[request["format"]](relation, sink)
        sink.send()
        return {}

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Raises what a file of a table raised in place of DuckDB's error about it."""
        import duckdb  # noqa: PLC0415

        try:
            yield
        except duckdb.Error as error:
            raise self._reader.failure or error from error

    def _prepare(self, request: dict[str, Any]) -> tuple[TableFunctions, Any]:
        """Creates the tables of a query, executes all statements but the last, and returns that."""
        import duckdb  # noqa: PLC0415  after the limits are set

        known = table_functions(self._calls, self._objects)
        known += file_functions(self._objects, self._reader)
        functions = TableFunctions(self._connection, known)
        for macro in content_macros():
            self._connection.execute(macro)
        for table in request["tables"]:
            self._reader.create_view(table["name"], table["addresses"], table["format"])
        statements = self._connection.extract_statements(request["sql"])  # it may read files
        allowed = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
        if not statements or statements[-1].type not in allowed:
            raise ValueError("the query must end with a SELECT statement")
        for statement in statements[:-1]:
            if statement.type not in allowed | {duckdb.StatementType.CREATE}:
                raise ValueError("a query can only read: it consists of SELECT statements")
            functions.execute(statement)
        return functions, statements[-1]

    def preview(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the first rows of an object."""
        return preview_object(self._objects, request)

    def table(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns what is known of a table in a folder, and its first rows."""
        max_rows = request["max_rows"]
        about = describe_table(self._connection, _TABLE, self._objects, request)
        names = ", ".join(map(identifier, shown_columns(about["schema"]))) or "NULL"
        cursor = self._connection.execute(
            f"SELECT {names} FROM {identifier(_TABLE)} LIMIT {max_rows + 1}"  # noqa: S608
        )
        return {**about, **result_rows(cursor, max_rows, request["result_bytes"])}

    def statistics(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the statistics of an object's columns."""
        return statistics_of_object(self._objects, request)


def _connect(objects: ObjectFilesystem, request: dict[str, Any]) -> Any:
    connection = connect(
        {
            "memory_limit": f"{request['memory_bytes']}B",
            "threads": request["threads"],
            "temp_directory": "",
            "home_directory": "",
            "extension_directory": "",
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
    )
    connection.register_filesystem(objects)
    connection.execute(f"SET allowed_directories = ['{SCHEME}://']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    return connection


def _limit(request: dict[str, Any]) -> None:
    memory = request["memory_bytes"] + _BESIDE_DUCKDB_BYTES
    seconds = int(request["seconds"] * request["threads"]) + 10
    limits = {
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    set_limits(limits)


def prepare() -> None:
    """Imports the libraries of requests, for `main` in processes that are forked from this one."""
    import_libraries("duckdb")


def main(lifeline: int) -> None:
    """Performs one request, and ends."""
    end_with(lifeline)
    server = _Server()
    request, _ = server.receive()
    _limit(request)
    began = time.monotonic()
    try:
        calls = ServerCalls(server.call)
        objects = ObjectFilesystem(calls)
        requests = _Requests(_connect(objects, request), calls, objects)
        result = getattr(requests, request["kind"])(request)
        server.finish({"result": {**result, "seconds": time.monotonic() - began}})
    except MemoryError:
        server.finish({"failed": "it needs too much memory", "type": "", "hint": ""})
    except Exception as error:  # noqa: BLE001  whatever it is, it is the reason
        reason = reason_of(error, given=request.get("sql", ""))
        failed = {"failed": reason, "type": getattr(error, "kind", type(error).__name__)}
        server.finish({**failed, "hint": getattr(error, "hint", "")})
