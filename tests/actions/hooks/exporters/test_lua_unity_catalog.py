"""Exports of tables to Unity Catalog by Lua, against a server that answers as Databricks does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from anabranch.errors import HookFailed


@pytest.fixture
def databricks():
    """The address of a server with the operations that exports use, and its requests."""
    requests, tables, schemas = [], set(), set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(content) if content else {}
            path = urlsplit(self.path).path
            requests.append((self.command, path, self.headers["Authorization"], body))
            status, answer = 200, {}
            if path.endswith("/schemas"):
                name = body["name"]
                status, answer = (
                    (400, {"message": "schema already exists"})
                    if (name in schemas)
                    else (200, {"name": name})
                )
                schemas.add(name)
            elif "/schemas/" in path:
                answer = {"name": path.rpartition(".")[2]}
            elif path.endswith("/statements/"):
                table = body["statement"].split()[3]
                answer = {"statement_id": "s1", "status": {"state": "SUCCEEDED"}}
                if table in tables:
                    error = {"message": f"{table} already exists"}
                    answer["status"] = {"state": "FAILED", "error": error}
                tables.add(table)
            elif self.command == "DELETE":
                tables.discard(path.rpartition(".")[2])
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_DELETE = do_POST  # noqa: N815

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()


def test_tables_are_registered_in_unity_catalog(run, commit, databricks):
    host, requests = databricks
    descriptor = b"{name: d, type: delta, path: tables/d, catalog: cat}"
    commit_id = commit({"_lakefs_tables/u.yaml": descriptor, "unity": b"1"})
    script = """
        local client = require("databricks").client(args.host, "t0ken")
        local exporter = require("lakefs/catalogexport/unity_exporter")
        local tables = {u = {path = "s3://exports/x/d", metadata = {description = "Ada's"}}}
        print(exporter.register_tables(action, "_lakefs_tables", tables, client, "w1").d)
    """
    for _ in range(2):
        assert run(script, commit_id, host=host) == "SUCCEEDED\n"
    created = {"name": "main", "catalog_name": "cat"}
    statement = {
        "warehouse_id": "w1",
        "catalog": "cat",
        "schema": "main",
        "statement": r"CREATE EXTERNAL TABLE d LOCATION 's3://exports/x/d' COMMENT 'Ada\'s'",
    }
    schemas, statements = "/api/2.1/unity-catalog/schemas", "/api/2.0/sql/statements/"
    assert [(method, path, body) for method, path, _, body in requests] == [
        ("POST", schemas, created),
        ("POST", statements, statement),
        ("POST", schemas, created),
        ("GET", f"{schemas}/cat.main", {}),
        ("POST", statements, statement),
        ("DELETE", "/api/2.1/unity-catalog/tables/cat.main.d", {}),
        ("POST", statements, statement),
    ]
    assert {authorization for _, _, authorization, _ in requests} == {"Bearer t0ken"}


@pytest.mark.parametrize(
    ("name", "location"),
    [("d; DROP TABLE x", "s3://a/b"), ("d", "s3://a/b' COMMENT 'x"), ("d", "no address")],
)
def test_statements_cannot_be_injected(run, databricks, name, location):
    host, requests = databricks
    with pytest.raises(HookFailed, match="invalid table"):
        run(
            """
            local client = require("databricks").client(args.host, "t0ken")
            client.register_external_table(args.name, args.location, "w", "c", "s")
            """,
            "",
            host=host,
            name=name,
            location=location,
        )
    assert requests == []
