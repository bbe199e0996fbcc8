"""Queries, previews and statistics over the wire."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import parquet as pq


@pytest.fixture
def ref(api, repository):
    base = f"/repositories/{repository}"
    content = b"day,delay\n" + b"".join(b"%d,%d\n" % (day, day * 3) for day in range(1, 31))
    response = api.post(
        f"{base}/branches/main/objects", params={"path": "may/a.csv"}, content=content
    )
    assert response.status_code == 201
    return f"{base}/refs/main"


def test_a_query_reads_staged_objects(api, ref):
    body = {
        "sql": "SELECT count(*) AS days, max(delay) FROM flights",
        "tables": {"flights": "may/*.csv"},
    }
    response = api.post(f"{ref}/query", json=body)
    assert response.status_code == 200
    result = response.json()
    assert result["rows"] == [[30, 90]]
    assert result["columns"][0] == {"name": "days", "type": "BIGINT"}
    assert result["has_more"] is False
    assert result["bytes_read"] > 0


def test_a_query_names_any_object_by_its_address(api, ref, repository):
    sql = f"SELECT sum(delay) FROM 'lakefs://{repository}/main/may/a.csv' WHERE day < 3"
    assert api.post(f"{ref}/query", json={"sql": sql}).json()["rows"] == [[9]]


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"sql": "SELECTED"}, 400, "query_failed"),
        ({"sql": "FROM read_text('/etc/passwd')"}, 400, "query_failed"),
        ({"sql": "DROP TABLE x"}, 400, "query_failed"),
        ({"sql": ""}, 400, "query_failed"),
        ({"sql": "SELECT 1", "tables": {"t": "none.csv"}}, 404, "object_not_found"),
        ({"sql": "SELECT 1", "tables": {"t": "may/a.txt"}}, 404, "object_not_found"),
    ],
)
@pytest.mark.sample(1)
def test_wrong_queries_have_kinds(api, ref, body, status, kind):
    response = api.post(f"{ref}/query", json=body)
    assert (response.status_code, response.headers["x-anabranch-kind"]) == (status, kind)


@pytest.mark.parametrize("rows", [0, 10_001, "x"])
def test_numbers_of_rows_are_limited(api, ref, rows):
    assert api.post(f"{ref}/query", json={"sql": "SELECT 1", "max_rows": rows}).status_code == 400
    params = {"path": "may/a.csv", "rows": rows}
    assert api.get(f"{ref}/objects/preview", params=params).status_code == 400


def test_a_preview_has_the_first_rows(api, ref):
    params = {"path": "may/a.csv", "rows": 2}
    preview = api.get(f"{ref}/objects/preview", params=params).json()
    assert preview["format"] == "csv"
    assert preview["rows"] == [[1, 3], [2, 6]]
    assert preview["has_more"] is True


def test_statistics_have_a_histogram_for_each_column(api, ref):
    statistics = api.get(f"{ref}/objects/statistics", params={"path": "may/a.csv"}).json()
    assert (statistics["rows"], statistics["complete"]) == (30, True)
    day, delay = statistics["columns"]
    assert (day["name"], day["min"], day["max"], day["nulls"]) == ("day", 1, 30, 0)
    assert sum(delay["histogram"]["counts"]) == 30


def test_only_tables_have_previews(api, ref):
    base = ref.removesuffix("/refs/main")
    stored = api.post(
        f"{base}/branches/main/objects", params={"path": "may/a.txt"}, content=b"a note"
    )
    assert stored.status_code == 201
    response = api.get(f"{ref}/objects/preview", params={"path": "may/a.txt"})
    assert (response.status_code, response.headers["x-anabranch-kind"]) == (400, "no_table")
    response = api.get(f"{ref}/objects/preview", params={"path": "may/b.csv"})
    assert (response.status_code, response.headers["x-anabranch-kind"]) == (404, "object_not_found")


def test_a_format_by_name_reads_what_no_name_tells(api, ref):
    base = ref.removesuffix("/refs/main")
    path = "hive/000000_0"
    content = b"1\x01a\n2\x01b\n"
    stored = api.post(f"{base}/branches/main/objects", params={"path": path}, content=content)
    assert stored.status_code == 201
    params = {"path": path, "format": "csv"}
    assert api.get(f"{ref}/objects/preview", params=params).json()["rows"] == [[1, "a"], [2, "b"]]
    assert api.get(f"{ref}/objects/statistics", params=params).json()["rows"] == 2
    body = {"sql": "FROM t", "tables": {"t": path}, "formats": {"t": "csv"}}
    assert api.post(f"{ref}/query", json=body).json()["rows"] == [[1, "a"], [2, "b"]]
    rows = {**params, "key": "column0", "type": "two_dot"}
    added = api.get(f"{ref}/diff/main$/rows", params=rows).json()["results"]
    assert added[0]["right"] == {"column0": "1", "column1": "a"}
    for response in (
        api.get(f"{ref}/objects/preview", params={**params, "format": "xls"}),
        api.post(f"{ref}/query", json={**body, "formats": {"t": "xls"}}),
        api.get(f"{ref}/diff/main$/rows", params={**rows, "format": "xls"}),
    ):
        assert response.status_code == 400
        assert "must be one of parquet, csv, tsv, psv, jsonl, json, orc" in response.text
    wrong = api.get(f"{ref}/objects/preview", params={**params, "format": "parquet"})
    assert wrong.status_code == 400
    assert "cannot be read as Parquet" in wrong.text


FILES = {
    "csv": ("text/csv; charset=utf-8", lambda body: len(body.decode().splitlines()) - 1),
    "jsonl": ("application/x-ndjson", lambda body: len(body.decode().splitlines())),
    "arrow": (
        "application/vnd.apache.arrow.stream",
        lambda body: pa.ipc.open_stream(body).read_all().num_rows,
    ),
    "parquet": (
        "application/vnd.apache.parquet",
        lambda body: pq.read_table(io.BytesIO(body)).num_rows,
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FILES)
def test_a_result_is_a_file_with_all_rows(api, ref, name):
    media_type, count_rows = FILES[name]
    sql = "SELECT range AS n, 'ü' AS text FROM range(25000)"
    given = api.post(f"{ref}/query", json={"sql": sql, "format": name, "max_rows": 3})
    accept = {"Accept": media_type.partition(";")[0]}
    accepted = api.post(f"{ref}/query", json={"sql": sql}, headers=accept)
    for response in (given, accepted):
        assert response.status_code == 200
        assert response.headers["content-type"] == media_type
        assert response.headers["content-disposition"].startswith("attachment; filename=")
        assert int(response.headers["content-length"]) == len(response.content)
        assert count_rows(response.content) == 25_000


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("text/html", "application/json"),
        ("text/csv;q=0.5, application/json", "application/json"),
        ("text/csv, application/json;q=0.5", "text/csv; charset=utf-8"),
        ("TEXT/CSV ; q=x, */*;q=0.1", "application/json"),
        ("application/jsonl", "application/x-ndjson"),
    ],
)
@pytest.mark.sample(2)
def test_the_most_wanted_format_is_sent(api, ref, accept, kind):
    response = api.post(f"{ref}/query", json={"sql": "SELECT 1"}, headers={"Accept": accept})
    assert response.headers["content-type"] == kind
    body = {"sql": "SELECT 1", "format": "json"}
    response = api.post(f"{ref}/query", json=body, headers={"Accept": accept})
    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"sql": "SELECTED", "format": "csv"}, "query_failed"),
        ({"sql": "SELECT error('late') FROM range(9999)", "format": "parquet"}, "query_failed"),
        ({"sql": "CREATE TABLE t (x INT)", "format": "csv"}, "query_failed"),
        ({"sql": "SELECT 1", "format": "xlsx"}, "invalid_request"),
    ],
)
def test_failed_queries_are_errors_in_every_format(api, ref, body, kind):
    response = api.post(f"{ref}/query", json=body)
    assert response.status_code == 400
    assert kind in {"invalid_request", response.headers["x-anabranch-kind"]}
    assert "message" in response.json()
