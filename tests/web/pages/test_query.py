"""SQL over a repository: on its own page, at a reference, with results to download."""

from __future__ import annotations

import re
import uuid
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from playwright.sync_api import expect
from pyarrow import parquet as pq
from support.browser.conditions import wait_until

DENIED = "You do not have the permission fs:ListObjects for this"
ATTACK = "<img src=x onerror='window.attacked = 1'>"


@pytest.fixture
def rivers(repository):
    """A branch main with a table of levels, and dev with another one."""
    repository.put("levels.csv", b"river,level\nSpree,7\nHavel,9\n")
    repository.put("notes.txt", b"no table")
    repository.commit("First levels")
    repository.branch("dev")
    repository.put("levels.csv", b"river,level\nOder,3\n", branch="dev")
    return repository


@pytest.fixture
def query(page, rivers):
    """Returns a function that opens the page, with parameters of its address."""

    def query(more=""):
        page.goto(f"/repositories/{rivers.name}/query?ref=main{more}")
        expect(page.get_by_role("heading", name="Query", exact=True)).to_be_visible()
        return page

    return query


def box(page):
    return page.get_by_label(re.compile("SQL of DuckDB"))


def cells(page):
    return page.get_by_role("region", name="Result of the query").locator("tbody td")


def run(page, sql):
    box(page).fill(sql)
    box(page).press("Control+Enter")


def in_address(page):
    return {name: value for name, (value,) in parse_qs(urlsplit(page.url).query).items()}


def test_an_example_runs_and_is_part_of_the_address(page, rivers):
    page.goto(f"/repositories/{rivers.name}/objects?ref=main")
    page.get_by_role("link", name="Query", exact=True).click()
    examples = page.get_by_role("region", name="Examples")
    expect(examples.get_by_role("button", name="Rows of levels.csv")).to_be_visible()
    expect(examples.get_by_text("notes.txt")).to_have_count(0)
    examples.get_by_role("button", name="Rows of levels.csv").click()
    expect(box(page)).to_be_focused()
    sql = f"SELECT *\nFROM 'lakefs://{rivers.name}/main/levels.csv'\nLIMIT 100"
    expect(box(page)).to_have_value(sql)
    expect(cells(page)).to_have_count(0)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(cells(page)).to_have_text(["Spree", "7", "Havel", "9"])
    header = page.get_by_role("region", name="Result of the query").locator("th")
    expect(header).to_have_text([re.compile(r"river\s*varchar"), re.compile(r"level\s*bigint")])
    expect(page.get_by_text(re.compile(r"^2 rows in \d+\.\d\d s"))).to_be_visible()
    assert in_address(page) == {"ref": "main", "sql": sql}


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("The largest objects", ["levels.csv", "notes.txt"]),
        ("Commits", ["First levels", "Repository created"]),
        ("Changes of the last commit", ["levels.csv", "notes.txt"]),
        ("Objects and bytes by folder", ["levels.csv", "notes.txt"]),
    ],
)
@pytest.mark.sample(1)
def test_examples_of_metadata_run(query, example, expected):
    page = query()
    page.get_by_role("button", name=example).click()
    box(page).press("Control+Enter")
    for text in expected:
        expect(cells(page).filter(has_text=text)).to_have_count(1)


@pytest.mark.slow  # web/tests/pages/query/examples.test.ts
def test_a_table_of_delta_lake_is_an_example(query, rivers, tmp_path):
    write_deltalake(tmp_path, pa.table({"n": [1, 2]}))
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            name = path.relative_to(tmp_path).as_posix()
            rivers.put(f"delays/{name}", path.read_bytes())
    page = query()
    page.get_by_role("button", name="Rows of delays/").click()
    box(page).press("Control+Enter")
    expect(cells(page)).to_have_text(["1", "2"])
    page.goto(f"/repositories/{rivers.name}/objects?ref=main&path=delays/")
    page.get_by_role("link", name="delta_table").click()
    expect(box(page)).to_have_value(re.compile("^FROM delta_table.*\nLIMIT 100$"))


def test_nothing_runs_when_an_address_is_opened(query):
    sent = []
    page = query("")
    page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    page = query("&sql=SELECT%2042%20AS%20answer")
    expect(box(page)).to_have_value("SELECT 42 AS answer")
    expect(page.get_by_role("button", name="Commits")).to_be_visible()
    assert [each for each in sent if each.startswith("POST")] == []
    expect(cells(page)).to_have_count(0)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(cells(page)).to_have_text(["42"])


@pytest.mark.slow  # web/tests/pages/query/examples.test.ts
def test_another_reference_is_named_by_the_sql_too(query, rivers):
    page = query()
    run(page, f"SELECT river FROM 'lakefs://{rivers.name}/main/levels.csv'")
    expect(cells(page)).to_have_text(["Spree", "Havel"])
    page.get_by_role("button", name="Reference: main").click()
    page.get_by_role("option", name="dev").click()
    other = f"SELECT river FROM 'lakefs://{rivers.name}/dev/levels.csv'"
    expect(box(page)).to_have_value(other)
    assert in_address(page) == {"ref": "dev", "sql": other}
    box(page).press("Control+Enter")
    expect(cells(page)).to_have_text(["Oder"])
    page.get_by_role("button", name="Rows of levels.csv").click()
    expect(box(page)).to_have_value(re.compile(f"'lakefs://{rivers.name}/dev/levels.csv'"))


def test_an_error_is_told_with_its_hint_in_place_of_the_result(query, rivers):
    page = query()
    run(page, "SELECT 1")
    expect(cells(page)).to_have_text(["1"])
    run(page, f"FROM 'lakefs://{rivers.name}/none/a.csv'")
    expect(page.get_by_role("alert")).to_contain_text("none")
    expect(page.get_by_role("alert").locator(".hint")).not_to_be_empty()
    expect(cells(page)).to_have_count(0)


def test_a_result_that_is_cut_off_says_so_and_a_download_has_all_rows(query, rivers, tmp_path):
    page = query()
    run(page, "SELECT range AS n FROM range(1500)")
    expect(cells(page)).to_have_count(1000)
    expect(
        page.get_by_text(re.compile("^The first 1,000 rows in .* There are more"))
    ).to_be_visible()
    for label, extension in [("Parquet", "parquet"), ("CSV", "csv"), ("JSON lines", "jsonl")]:
        page.get_by_role("button", name="Download the result").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=label).click()
        assert download.value.suggested_filename == f"{rivers.name}-query.{extension}"
        file = tmp_path / f"result.{extension}"
        download.value.save_as(file)
        if extension == "parquet":
            assert pq.read_table(file)["n"].to_pylist() == list(range(1500))
        else:
            lines = file.read_text().splitlines()
            assert lines[-1] == ("1499" if extension == "csv" else '{"n": 1499}')


@pytest.mark.slow  # web/tests/pages/query/recent-queries.test.ts
def test_last_queries_are_kept_here_and_cleared(query):
    page = query()
    for sql in ("SELECT 1 AS one", "SELECT 2 AS two"):
        run(page, sql)
        expect(cells(page)).to_have_text([sql[7]])
    box(page).fill("SELECT 3 AS not_run")
    page.get_by_role("button", name="Commits").click()
    last = page.get_by_role("region", name="Last queries")
    expected = ["SELECT 3 AS not_run", "SELECT 2 AS two", "SELECT 1 AS one"]
    expect(last.get_by_role("listitem")).to_have_text(expected)
    page = query()
    expect(last.get_by_role("listitem")).to_have_text(expected)
    last.get_by_role("button", name="SELECT 2 AS two").click()
    expect(box(page)).to_have_value("SELECT 2 AS two")
    last.get_by_role("button", name="Clear").click()
    expect(last).to_have_count(0)
    page = query()
    expect(page.get_by_role("button", name="Commits")).to_be_visible()
    expect(last).to_have_count(0)


@pytest.mark.slow  # a size of the page
def test_a_result_and_last_queries_keep_nobody_from_using_the_page(query, axe):
    page = query()
    long = f"SELECT '{'x' * 900}' AS a, 2 AS b, 3 AS c, 4 AS d, 5 AS e"
    run(page, long)
    expect(cells(page)).to_have_count(5)
    expect(page.get_by_role("region", name="Last queries")).to_contain_text(long)
    page.evaluate(axe)
    violations = page.evaluate("axe.run({ include: ['main'] })")["violations"]
    assert [violation["id"] for violation in violations] == []
    page.set_viewport_size({"width": 320, "height": 700})
    wait_until(page, "document.documentElement.scrollWidth <= 320")


@pytest.mark.slow  # a size of its text
def test_sql_too_long_for_an_address_runs_and_stays_out_of_it(query):
    page = query("&sql=SELECT%201")
    run(page, f"SELECT length('{'x' * 9000}') AS size")
    expect(cells(page)).to_have_text(["9000"])
    expect(page.get_by_text("too long to be part of the page's address")).to_be_visible()
    assert in_address(page) == {"ref": "main"}


def test_names_and_values_are_text(query, rivers):
    path = f"{ATTACK}/../it's.csv".replace("/", "\u2215")
    rivers.put(path, f"name\n{ATTACK}\n".encode())
    page = query()
    page.get_by_role("button", name=f"Rows of {path}").click()
    box(page).press("Control+Enter")
    expect(cells(page)).to_have_text([ATTACK])
    run(page, f'SELECT 1 AS "{ATTACK}" -- {ATTACK}')
    expect(page.get_by_role("region", name="Result of the query")).to_contain_text(ATTACK)
    expect(page.get_by_role("region", name="Last queries")).to_contain_text(ATTACK)
    assert page.evaluate("window.attacked") is None


@pytest.mark.slow  # test_keyboard.py
def test_keys_lead_to_the_page_and_the_palette_runs_the_query(page, rivers):
    page.goto(f"/repositories/{rivers.name}/branches")
    expect(page.get_by_role("link", name="dev").first).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", name="Query", exact=True)).to_be_visible()
    box(page).fill("SELECT 6 * 7")
    page.keyboard.press("Control+k")
    page.get_by_role("dialog", name="Go to or do").get_by_role("combobox").fill("run the query")
    page.keyboard.press("Enter")
    expect(cells(page)).to_have_text(["42"])


def test_who_may_not_list_objects_cannot_run_anything(api, open_page, site, rivers):
    name = f"test-{uuid.uuid4().hex[:8]}"
    actions = ["fs:ReadRepository", "fs:ReadConfig", "fs:ListBranches", "fs:ReadBranch"]
    statement = {"effect": "allow", "action": actions, "resource": "*"}
    api.post("/auth/users", json={"id": name}).raise_for_status()
    api.post("/auth/policies", json={"id": name, "statement": [statement]}).raise_for_status()
    api.put(f"/auth/users/{name}/policies/{name}").raise_for_status()
    keys = api.post(f"/auth/users/{name}/credentials").json()
    body = {each: keys[each] for each in ["access_key_id", "secret_access_key"]}
    page = open_page(site, signed_in=False)
    assert page.request.post(f"{site.url}/api/v1/auth/login", data=body).ok
    posted = []
    page.on("request", lambda request: request.method == "POST" and posted.append(request.url))
    page.goto(f"/repositories/{rivers.name}/query?ref=main&sql=SELECT%201")
    button = page.get_by_role("button", name="Run", exact=True)
    expect(button).to_be_disabled()
    expect(button).to_have_attribute("title", DENIED)
    page.get_by_role("button", name="Download the result").click()
    for entry in page.get_by_role("menuitem").all():
        expect(entry).to_be_disabled()
        expect(entry).to_have_attribute("title", DENIED)
    page.keyboard.press("Escape")
    box(page).press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("permissions")
    assert posted == []
    for kind in ["users", "policies"]:
        api.delete(f"/auth/{kind}/{name}")
