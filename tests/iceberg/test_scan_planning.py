"""Clients plan scans themselves: the catalog advertises neither plans of its own nor functions."""

from __future__ import annotations

import pytest
from support.clients.duckdb_catalog import MISSING_EXTENSIONS, attached_catalogs

from .conftest import ids

PLANS = ("namespaces/city/tables/trips/plan", "namespaces/city/tables/trips/tasks")


@pytest.mark.usefixtures("table")
def test_neither_plans_nor_functions_are_advertised_and_requests_for_them_are_not_found(lake):
    config = lake.http.get("/v1/config", params={"warehouse": f"{lake.name}/main"}).json()
    assert config["endpoints"]
    for word in ("/plan", "/tasks", "/functions"):
        assert not [each for each in config["endpoints"] if word in each]
    for method, path in (
        *(("POST", each) for each in PLANS),
        ("GET", f"{PLANS[0]}/some-id"),
        ("DELETE", f"{PLANS[0]}/some-id"),
        ("GET", "namespaces/city/functions"),
    ):
        answer = lake.http.request(method, lake.path("main", f"/{path}"), json={})
        assert answer.status_code in {404, 405}, (path, answer.text)
        assert answer.json()["error"]["code"] == answer.status_code


@pytest.mark.usefixtures("table")
def test_pyiceberg_plans_itself_also_when_it_is_told_that_the_server_does(lake):
    catalog = lake.catalog(**{"scan-planning-mode": "server"})
    asked = []
    catalog._session.hooks["response"].append(lambda response, **_: asked.append(response.url))
    table = catalog.load_table("city.trips")
    assert ids(table) == [1, 2]
    assert table.scan(row_filter="id = 2").to_arrow()["id"].to_pylist() == [2]
    assert asked
    assert not [each for each in asked if "/plan" in each]


@pytest.mark.usefixtures("table")
@pytest.mark.skipif(
    bool(MISSING_EXTENSIONS), reason=f"needs DuckDB's extensions {MISSING_EXTENSIONS}"
)
def test_duckdb_plans_itself(lake):
    with attached_catalogs(lake.server, lake.name, ["main"]) as database:
        sql = "SELECT id FROM on_main.city.trips WHERE id > 1"
        assert database.sql(sql).fetchall() == [(2,)]
