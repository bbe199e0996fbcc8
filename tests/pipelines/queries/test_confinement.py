"""What a hostile query cannot do: read files, reach the network, write, or take all resources."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
import time

import pytest
from pipelines.queries.conftest import ADMIN

from anabranch.child_process.descendants import descendants, has_ended
from anabranch.errors import Invalid, NotFound
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.queries import Queries

SLOW = "SELECT count(*) FROM range(100000000000) WHERE hash(range) = 0"


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text("word\nhush\n")
    return path


@pytest.mark.parametrize(
    "sql",
    [
        "FROM '{file}'",
        "FROM read_csv('{file}')",
        "FROM read_csv(['lakefs://sea/main/gauges.csv', '{file}'])",
        "FROM read_text('{file}')",
        "FROM read_blob('file://{file}')",
        "FROM glob('{folder}/*')",
        "FROM 'lakefs://sea/main/../../../../../../..{file}'",
        "FROM read_text('lakefs://sea/../{file}')",
        "FROM read_csv('/proc/self/environ')",
        "FROM read_text('/dev/stdin')",
        "SELECT * FROM query('FROM read_text(''{file}'')')",
        "ATTACH '{file}' AS other; SELECT 1",
        "COPY (SELECT 1) TO '{folder}/written.csv'; SELECT 1",
        "COPY (SELECT 1) TO 'lakefs://sea/main/written.csv'; SELECT 1",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/written.csv'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO 'lakefs://sea/main/written.csv'",
        "COPY (SELECT 1) TO 'objects://sea/main/written.csv'; SELECT 1",
        "EXPORT DATABASE '{folder}/written'; SELECT 1",
        "FROM system.main.read_csv('{file}')",
        "FROM 'objects://sea/main/../../../../../../..{file}'",
        "FROM system.main.read_text('objects://{file}')",
        "INSTALL httpfs; SELECT 1",
        "LOAD '{folder}/x.duckdb_extension'; SELECT 1",
        "SET enable_external_access = true; SELECT 1",
        "SET allowed_directories = ['/']; SELECT 1",
        "SET disabled_filesystems = ''; SELECT 1",
        "PRAGMA enable_profiling; SET profiling_output = '{folder}/written'; SELECT 1",
        "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b'); SELECT 1",
        "SELECT getenv('PATH')",
        "FROM connection",
        "FROM objects",
        "FROM request",
    ],
)
@pytest.mark.sample(6)
def test_nothing_but_objects_can_be_reached(query, secret, sql):
    sql = sql.format(file=secret, folder=secret.parent)
    with pytest.raises((Invalid, NotFound)) as caught:
        query(sql)
    assert "hush" not in caught.value.message
    assert "site-packages" not in caught.value.message
    assert [path.name for path in secret.parent.iterdir()] == ["secret.csv"]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "statement",
    [
        "IMPORT DATABASE '{folder}'",
        "import/* */database '{folder}'",
        "PRAGMA import_database('{folder}')",
        "SELECT 1; IMPORT DATABASE '{folder}'",
    ],
)
@pytest.mark.parametrize("schema", ["SELECT 1;", "hush is the word;", None])
def test_no_file_is_read_while_statements_are_separated(query, tmp_path, statement, schema):
    if schema is not None:
        (tmp_path / "schema.sql").write_text(schema)
        (tmp_path / "load.sql").write_text("SELECT 1;")
    with pytest.raises(Invalid) as caught:
        query(statement.format(folder=tmp_path) + "; SELECT 1")
    assert caught.value.message == (
        f'the query failed: Permission Error: Cannot access file "{tmp_path}/schema.sql" - '
        "file system operations are disabled by configuration"
    )


def test_an_internal_error_of_the_database_shows_no_stack_trace(lake, query):
    for name in ("schema.sql", "load.sql"):
        lake.objects.upload("sea", "main", f"dumped/{name}", [b"SELECT 1;"])
    with pytest.raises(Invalid) as caught:
        query("IMPORT DATABASE 'objects://sea/main/dumped'; SELECT 1")
    assert "INTERNAL Error" in caught.value.message
    assert "Stack Trace" not in caught.value.message
    assert "0x" not in caught.value.message
    assert "/" not in caught.value.message


def test_a_refused_write_leaves_no_object(lake, query):
    with pytest.raises(Invalid, match="cannot write"):
        query("EXPLAIN ANALYZE COPY (SELECT 1) TO 'objects://sea/main/written.csv'")
    listing = lake.objects.listing("sea", "main", prefix="written", amount=10)
    assert list(listing.items) == []


def test_no_request_leaves_the_process(query):
    asked = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815  the library's own name

    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        for sql in (
            f"FROM '{url}/a.csv'",
            f"FROM read_parquet('{url}/a.parquet')",
            f"INSTALL httpfs FROM '{url}'; SELECT 1",
            "FROM 's3://bucket/a.parquet'",
        ):
            with pytest.raises(Invalid):
                query(sql)
        server.shutdown()
    assert asked == []


def test_a_query_that_takes_too_long_is_killed(lake):
    queries = Queries(lake, QueryLimits(seconds=1))
    began = time.monotonic()
    with pytest.raises(Invalid, match="did not finish within 1 s") as caught:
        run(queries, SLOW)
    assert caught.value.kind == "query_timeout"
    assert time.monotonic() - began < 30
    # its slot is free again
    longer = Queries(lake, QueryLimits(processes=1))
    assert run(longer, "SELECT 1")["rows"] == [[1]]
    assert run(longer, "SELECT 2")["rows"] == [[2]]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT list(a.range) FROM range(100000000) a",
        "SELECT string_agg(repeat('x', 1000000), '') FROM range(3000)",
        "SELECT count(*) FROM (SELECT DISTINCT hash(range) FROM range(50000000))",
    ],
)
def test_a_query_that_needs_too_much_memory_fails(lake, sql):
    queries = Queries(lake, QueryLimits(seconds=60, memory_bytes=64 << 20))
    with pytest.raises(Invalid) as caught:
        run(queries, sql)
    assert caught.value.kind in {"query_out_of_memory", "query_failed"}
    assert "memory" in caught.value.message.lower()


@pytest.mark.slow
def test_the_process_ends_when_the_server_dies(tmp_path, eventually):
    """A killed server leaves no process behind that goes on computing."""
    script = f"""
from anabranch.access.actors.actor import Actor
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.queries import Queries
from anabranch.testing.lake import Clock, lake_in
lake = lake_in({str(tmp_path)!r}, Clock())
Queries(lake, QueryLimits(seconds=100)).query(
    Actor.administrator("a"), {SLOW!r},
    repository="sea", reference="main", tables={{}}, max_rows=1)
"""
    with subprocess.Popen([sys.executable, "-c", script]) as server:
        eventually(
            lambda: len(list(descendants(server.pid))) == 2
        )  # the fork server, and the query
        started = list(descendants(server.pid))
        server.kill()
    eventually(lambda: all(map(has_ended, started)))


def run(queries, sql):
    return queries.query(ADMIN, sql, repository="sea", reference="main", tables={}, max_rows=10)
