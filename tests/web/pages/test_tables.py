"""The tables of a reference, and the page of one: its tabs, other references, names that attack."""

from __future__ import annotations

import re
from urllib.parse import quote

import httpx2
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from playwright.sync_api import expect
from pyiceberg.catalog import load_catalog
from pyiceberg.types import IntegerType
from support.browser.conditions import settle

RECORD = "_tables/city/trips/table.json"
HOSTILE = "<img src=x onerror='window.attacked = 1'>"


def rows_table(*ids):
    names = pa.array([f"trip {each}" for each in ids], pa.string())
    return pa.table({"id": pa.array(ids, pa.int64()), "name": names})


def catalog_of(site, repository, reference="main"):
    return load_catalog(
        "lake",
        type="rest",
        uri=f"{site.url}/iceberg",
        warehouse=f"{repository.name}/{reference}",
        credential=":".join(site.auth),
        **{"oauth2-server-uri": f"{site.url}/iceberg/v1/oauth/tokens"},
    )


def put_delta(repository, folder, path):
    for file in folder.rglob("*"):
        if file.is_file():
            repository.put(f"{path}/{file.relative_to(folder).as_posix()}", file.read_bytes())


@pytest.fixture(scope="module")
def filled(site, shared_repository, tmp_path_factory):
    """A repository with tables of both formats, and a branch on which one differs."""
    repository = shared_repository
    catalog = catalog_of(site, repository)
    catalog.create_namespace("city")
    trips = catalog.create_table("city.trips", rows_table().schema)
    trips.append(rows_table(1, 2))
    folder = tmp_path_factory.mktemp("delta") / "t"
    write_deltalake(folder, rows_table(7, 8), partition_by=["name"])
    DeltaTable(folder).delete("id = 8")
    put_delta(repository, folder, "raw/flights")
    repository.commit("Flights of May")
    repository.branch("night")
    night = catalog_of(site, repository, "night").load_table("city.trips")
    night.delete("id = 2")
    night.append(rows_table(3))
    with night.update_schema() as update:
        update.add_column("seats", IntegerType())
    return repository


def table_page(page, repository, path=RECORD, **more):
    parameters = {"ref": "main", "path": path, **more}
    query = "&".join(f"{name}={quote(text, safe='')}" for name, text in parameters.items())
    page.goto(f"/repositories/{repository.name}/table?{query}")


def cells(page, name):
    """Returns the texts of the rows of a table of the page."""
    found = page.get_by_role("table", name=name).locator("tbody tr")
    return [row.locator("th, td").all_inner_texts() for row in found.all()]


def test_tables_of_both_formats_are_listed_and_found(page, filled):
    page.goto(f"/repositories/{filled.name}/objects?ref=main")
    page.get_by_role("link", name="Tables", exact=True).click()
    listed = page.get_by_role("table", name="Tables").locator("tbody tr")
    expect(listed).to_have_count(2)
    expect(listed.nth(0)).to_contain_text(re.compile("city.trips.*Iceberg.*append to city.trips"))
    expect(listed.nth(1)).to_contain_text(re.compile("raw/flights.*Delta Lake.*Flights of May"))
    page.get_by_label("Search tables by name").fill("FLIGHTS")
    expect(listed).to_have_count(1)
    page.get_by_label("Search tables by name").fill("none")
    expect(page.get_by_text("There is no such table at main")).to_be_visible()
    page.get_by_label("Search tables by name").fill("")
    page.get_by_role("link", name="raw/flights").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tables / raw/flights")


@pytest.mark.slow  # texts of the API
def test_views_show_their_sql_and_folders_of_iceberg_the_command_that_registers_them(
    page, site, filled
):
    filled.branch("views")
    view = {
        "name": "<b>seen",
        "schema": {
            "type": "struct",
            "fields": [{"id": 1, "name": HOSTILE, "type": "int", "required": True}],
        },
        "view-version": {
            "version-id": 1,
            "timestamp-ms": 1,
            "schema-id": 0,
            "summary": {},
            "default-namespace": ["city"],
            "representations": [
                {"type": "sql", "sql": "select '<i>' from trips", "dialect": "spark"}
            ],
        },
        "properties": {},
    }
    url = f"{site.url}/iceberg/v1/{filled.name}/views/namespaces/city/views"
    assert httpx2.post(url, json=view, auth=site.auth).status_code == 200
    nothing = {"snapshots": [], "refs": {}, "snapshot_log": [], "metadata_log": []}
    trips = catalog_of(site, filled, "views").load_table("city.trips").metadata
    empty = trips.model_copy(update={**nothing, "current_snapshot_id": None})
    content = empty.model_dump_json(by_alias=True)
    filled.put("old/ice/metadata/v1.metadata.json", content, "views")
    page.goto(f"/repositories/{filled.name}/tables?ref=views")
    listed = page.get_by_role("table", name="Tables").locator("tbody tr")
    expect(listed).to_have_count(4)
    expect(listed.nth(0)).to_contain_text(re.compile("city.<b>seen.*Iceberg.*view"))
    expect(listed.nth(2)).to_contain_text(re.compile("old/ice.*Iceberg.*not registered"))
    page.get_by_role("link", name="city.<b>seen", exact=True).click()
    expect(page.get_by_label("SQL of spark").last).to_contain_text("select '<i>' from trips")
    assert cells(page, "Columns") == [[HOSTILE, "int", ""]]
    assert page.evaluate("window.attacked") is None
    table_page(page, filled, "old/ice/", ref="views", tab="use")
    command = page.get_by_label("Command that registers the table")
    expect(command).to_contain_text(f"lakefs://{filled.name}/views/old.ice")


def test_a_table_shows_its_columns_snapshots_sizes_and_rows(page, filled):
    table_page(page, filled)
    expect(page.get_by_text("Iceberg · 2 rows · 1 file")).to_be_visible()
    assert cells(page, "Columns") == [
        ["id", "long", "may be null"],
        ["name", "string", "may be null"],
    ]
    expect(page.get_by_role("table", name="Properties")).to_contain_text("s3://")
    page.get_by_role("link", name="Snapshots", exact=True).click()
    expect(page.get_by_role("table", name="Snapshots").locator("tbody tr")).to_have_count(1)
    assert cells(page, "Snapshots")[0][2:] == ["append", "2", "", "2"]
    page.get_by_role("link", name="Partitions and sizes").click()
    expect(page.get_by_text("The table has no partitions")).to_be_visible()
    page.get_by_role("link", name="Sample").click()
    grid = page.get_by_role("region", name="First rows of the table")
    expect(grid).to_contain_text("trip 2")
    with page.expect_response(re.compile("/query$")) as answer:
        page.get_by_role("link", name=re.compile("FROM iceberg_table")).click()
        page.get_by_role("button", name="Run").click()
    assert len(answer.value.json()["rows"]) == 2


def test_a_delta_table_shows_its_versions_and_partitions(page, filled):
    table_page(page, filled, "raw/flights/", tab="sizes")
    expect(page.get_by_role("table", name="Partitions").locator("tbody tr")).to_have_count(1)
    assert cells(page, "Partitions")[0][:3] == ["trip 7", "1", "1"]
    page.get_by_role("link", name="Snapshots", exact=True).click()
    versions = page.get_by_role("table", name="Versions").locator("tbody tr")
    expect(versions).to_have_count(2)
    assert [row[2:4] for row in cells(page, "Versions")] == [["delete", ""], ["write", "2"]]
    versions.nth(1).get_by_role("link").click()
    expect(page.get_by_text("This is version 0.")).to_be_visible()
    expect(page.get_by_role("region", name="First rows of the table")).to_contain_text("trip 8")
    page.get_by_role("link", name="Show the last one").click()
    expect(page.get_by_text("This is version 0.")).to_have_count(0)
    expect(page.get_by_role("region", name="First rows of the table")).not_to_contain_text("trip 8")


@pytest.mark.slow  # web/tests/tables/changes.test.ts
def test_a_table_is_compared_with_another_reference(page, filled):
    table_page(page, filled, tab="compare")
    expect(page.get_by_text("Choose what to compare main with")).to_be_visible()
    table_page(page, filled, tab="compare", compare="night")
    expect(page.get_by_role("table", name="Schema changes").locator("tbody tr")).to_have_count(1)
    assert cells(page, "Schema changes")[0][1:] == ["Column seats", "", "int"]
    night = page.get_by_role("region", name="Snapshots of night").get_by_role("listitem")
    expect(night.filter(has_text="only here")).not_to_have_count(0)
    main = page.get_by_role("region", name="Snapshots of main").get_by_role("listitem")
    expect(main.filter(has_text="only here")).to_have_count(0)
    differ = page.get_by_role("region", name="Rows that differ")
    expect(differ).to_contain_text("trip 3")
    expect(differ).to_contain_text("trip 2")
    expect(page.get_by_text("2 rows differ")).to_be_visible()


def test_what_is_not_there_is_told(page, repository):
    page.goto(f"/repositories/{repository.name}/tables?ref=main")
    expect(page.get_by_text("There are no tables at main")).to_be_visible()
    table_page(page, repository, "no/table/")
    expect(page.get_by_text("There is no such table at main")).to_be_visible()
    page.get_by_role("link", name="Show the tables of main").click()
    expect(page).to_have_url(re.compile("/tables.ref=main"))
    repository.put("broken/_delta_log/00000000000000000000.json", b"{")
    table_page(page, repository, "broken/")
    expect(page.get_by_text("The table cannot be shown")).to_be_visible()
    table_page(page, repository, "broken/", tab="compare", compare="nowhere")
    expect(page.get_by_text("The table was not compared")).to_be_visible()


@pytest.mark.parametrize("name", [HOSTILE, "a.b/c", "🌊", "?q=1&r#h", "50%25", "x" * 120])
@pytest.mark.sample(1)
def test_hostile_names_are_shown_as_text_and_lead_to_their_table(
    page, site, repository, tmp_path, name
):
    catalog = catalog_of(site, repository)
    catalog.create_namespace((name,))
    catalog.create_table((name, name), rows_table().schema).append(rows_table(1))
    folder = tmp_path / "t"
    write_deltalake(folder, pa.table({name: pa.array([2])}))
    put_delta(repository, folder, f"d/{name}")
    page.goto(f"/repositories/{repository.name}/tables?ref=main")
    names = page.get_by_role("table", name="Tables").locator("tbody td:first-child a")
    expect(names).to_have_count(2)
    assert names.all_text_contents() == [f"{name}.{name}", f"d/{name}"]
    for number, shown in enumerate((f"{name}.{name}", f"d/{name}")):
        page.goto(f"/repositories/{repository.name}/tables?ref=main")
        names.nth(number).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Tables / {shown}")
        expect(page.get_by_role("table", name="Columns")).to_be_visible()
        page.get_by_role("link", name="Use this table").click()
        expect(page.get_by_role("region", name=re.compile(" snippet$"))).to_be_visible()
        settle(page)
        assert page.evaluate("window.attacked") is None
        assert "/table?" in page.url


@pytest.mark.slow  # test_keyboard.py; web/tests/shell/tabs.test.ts
def test_the_tabs_are_reached_by_keys(page, filled):
    page.goto(f"/repositories/{filled.name}/objects?ref=main")
    expect(page.get_by_role("grid", name="Objects")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile(f"/repositories/{filled.name}/tables"))
    page.get_by_role("link", name="city.trips", exact=True).press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.get_by_role("link", name="Use this table").press("Enter")
    page.get_by_role("button", name="DuckDB").press("Enter")
    snippet = page.get_by_role("region", name="DuckDB snippet")
    expect(snippet).to_contain_text("ATTACH 'lakefs://")
    page.get_by_role("button", name=re.compile("Copy")).press("Enter")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f"lakefs://{filled.name}/main" in copied
