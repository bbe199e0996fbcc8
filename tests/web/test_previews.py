"""Previews of every kind of object, and SQL over tables."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
import zlib

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from playwright.sync_api import expect
from pyarrow import orc
from pyarrow import parquet as pq
from support.browser.conditions import settle, wait_until
from support.eventually import eventually

from .test_hostile_contents import pdf

ROWS = 2500


def png(width, height):
    """Returns a green image."""

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\0\x80\0" * width) * height
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    )


def gauges():
    return pa.table(
        {
            "number": pa.array(range(ROWS), pa.int64()),
            "river": [("Spree", "Havel", "Oder")[number % 3] for number in range(ROWS)],
            "level": [None if number % 10 == 0 else number / 4 for number in range(ROWS)],
        }
    )


def written(write):
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


@pytest.fixture
def show(page, repository):
    """Stores an object and opens its page; returns the page."""

    def show(path, content, **query):
        repository.put(path, content)
        more = "".join(f"&{name}={value}" for name, value in query.items())
        page.goto(f"/repositories/{repository.name}/object?ref=main&path={path}{more}")
        return page

    return show


@pytest.mark.parametrize(
    ("path", "write"), [("gauges.parquet", pq.write_table), ("gauges.orc", orc.write_table)]
)
@pytest.mark.sample(1)
def test_a_table_shows_rows_and_statistics(show, path, write):
    page = show(path, written(lambda stream: write(gauges(), stream)))
    table = page.get_by_role("region", name=f"First rows of {path}")
    expect(table.locator("tbody tr")).to_have_count(100)
    expect(table.locator("tbody tr").nth(1).locator("td")).to_have_text(["1", "Havel", "0.25"])
    expect(table.locator("tbody td").nth(2)).to_have_text("null")
    expect(page.get_by_text(f"statistics of all {ROWS:,} rows")).to_be_visible()
    level = page.get_by_role("img", name=re.compile("Histogram of level"))
    expect(level).to_have_accessible_name(re.compile("10 % null, from 0.25 to"))
    expect(level.locator("rect")).to_have_count(20)
    rivers = page.get_by_role("list", name="Most frequent values of river")
    expect(rivers.get_by_role("listitem")).to_have_count(3)
    page.get_by_role("button", name="Show 1,000 rows").click()
    expect(table.locator("tbody tr")).to_have_count(1000)


@pytest.mark.slow  # pages/test_query.py
def test_sql_runs_over_the_file_and_is_part_of_the_address(show):
    page = show("gauges.parquet", written(lambda stream: pq.write_table(gauges(), stream)))
    page.get_by_role("button", name="Query with SQL").click()
    box = page.get_by_label(re.compile("SQL of DuckDB"))
    expect(box).to_have_value(re.compile(r"FROM 'lakefs://web-\w+/main/gauges.parquet'"))
    box.fill("SELECT river, count(*) AS days FROM object GROUP BY river ORDER BY river")
    box.press("Control+Enter")
    result = page.get_by_role("region", name="Result of the query")
    expect(result.locator("tbody tr").first.locator("td")).to_have_text(["Havel", "833"])
    expect(page.get_by_text(re.compile(r"3 rows in \d+\.\d\d s"))).to_be_visible()
    page.reload()
    expect(box).to_have_value(re.compile("GROUP BY river"))
    box.fill("SELECT depth FROM object")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text('"depth" not found')
    expect(result).to_have_count(0)


@pytest.mark.slow  # pages/test_query.py
def test_sql_compares_two_references(show, repository, page):
    show("a.csv", b"day,level\n1,5\n2,6\n")
    repository.commit()
    repository.branch("dev")
    repository.put("a.csv", b"day,level\n1,5\n2,7\n", branch="dev")
    page.get_by_role("button", name="Query with SQL").click()
    name = repository.name
    page.get_by_label(re.compile("SQL of DuckDB")).fill(
        f"FROM 'lakefs://{name}/dev/a.csv' EXCEPT FROM 'lakefs://{name}/main/a.csv'"
    )
    page.get_by_role("button", name="Run", exact=True).click()
    result = page.get_by_role("region", name="Result of the query")
    expect(result.locator("tbody td")).to_have_text(["2", "7"])


def test_a_damaged_table_says_so(show):
    page = show("broken.parquet", b"PAR1 and nothing else")
    expect(page.get_by_role("alert")).to_contain_text("cannot be shown as a table")


@pytest.mark.slow  # web/tests/preview/highlight.test.ts
def test_code_is_highlighted_with_numbers_of_lines(show):
    page = show("flow.py", b"def flow(level):\n    return level * 2  # double\n")
    code = page.get_by_role("region", name="Content of flow.py")
    expect(code.locator(".hljs-keyword").first).to_have_text("def")
    expect(code.locator(".hljs-comment")).to_have_text("# double")
    expect(code).to_have_text(re.compile(r"def flow\(level\):\s+return level \* 2"))
    assert page.locator(".numbers").inner_text().split() == ["1", "2"]


@pytest.mark.slow  # web/tests/preview/kinds.test.ts
def test_json_is_text_or_a_table(show):
    page = show("levels.json", b'[{"river": "Spree", "level": 7}, {"river": "Oder"}]')
    code = page.get_by_role("region", name="Content of levels.json")
    expect(code.locator(".hljs-attr").first).to_have_text('"river"')
    page.get_by_role("button", name="Table").click()
    table = page.get_by_role("region", name="First rows of levels.json")
    expect(table.locator("tbody td")).to_have_text(["Spree", "7", "Oder", "null"])


@pytest.mark.slow  # web/tests/preview/content.test.ts
def test_a_long_text_is_shown_in_part(show):
    page = show("long.log", b"0123456789abcde\n" * (3 << 16))
    expect(page.get_by_text("The first 1.00 MiB of 3.00 MiB")).to_be_visible()
    expect(page.get_by_role("link", name="Download all of it")).to_be_visible()


def test_markdown_has_links_and_images_of_the_lake(show, repository):
    repository.put("docs/img/level.png", png(30, 20))
    text = b"# Levels\n\n[data](../a.csv) [folder](../raw/) [web](https://example.com)\n\n"
    text += b"![level](img/level.png)\n\n```sql\nSELECT 1\n```\n\n| a |\n|---|\n| 1 |\n"
    page = show("docs/README.md", text)
    prose = page.locator(".prose")
    expect(prose.get_by_role("heading", name="Levels", level=2)).to_be_visible()
    base = f"/repositories/{repository.name}"
    data = prose.get_by_role("link", name="data")
    expect(data).to_have_attribute("href", f"{base}/object?ref=main&path=a.csv")
    folder = prose.get_by_role("link", name="folder")
    expect(folder).to_have_attribute("href", f"{base}/objects?ref=main&path=raw%2F")
    expect(prose.get_by_role("link", name="web")).to_have_attribute("rel", re.compile("noreferrer"))
    image = prose.get_by_role("img", name="level")
    expect(image).to_be_visible()
    wait_until(page, "document.querySelector('.prose img')?.naturalWidth === 30")
    expect(prose.locator(".hljs-keyword")).to_have_text("SELECT")
    expect(prose.get_by_role("cell", name="1")).to_be_visible()
    page.get_by_role("button", name="Source").click()
    expect(page.get_by_role("region", name="Content of README.md")).to_contain_text("# Levels")


@pytest.mark.slow  # test_hostile_contents.py shows one
def test_images_are_shown(show):
    page = show("level.png", png(40, 30))
    expect(page.get_by_role("img", name="level.png")).to_be_visible()
    expect(page.get_by_text(re.compile("40 . 30 pixels"))).to_be_visible()
    page = show("broken.png", b"no image")
    expect(page.get_by_text("The browser cannot show this image")).to_be_visible()
    vector = b'<svg xmlns="http://www.w3.org/2000/svg" width="50" height="40"><rect/></svg>'
    page = show("level.svg", vector)
    expect(page.get_by_role("img", name="level.svg")).to_have_attribute(
        "src", re.compile("^data:image/svg")
    )


def test_a_pdf_document_is_drawn(show):
    page = show("report.pdf", pdf())
    expect(page.get_by_text("Page 1 of 1")).to_be_visible()
    expect(page.locator(".visually-hidden", has_text="harmless words")).to_be_attached()
    dark = """() => {
      const canvas = document.querySelector("canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, index) => index % 4 === 0 && value < 100).length;
    }"""
    assert page.evaluate(dark) > 50
    page = show("broken.pdf", b"%PDF-1.4 and nothing else")
    expect(page.get_by_role("alert")).to_contain_text("cannot be read")


@pytest.mark.slow  # web/tests/preview/notebook.test.ts, test_hostile_contents.py
def test_a_notebook_shows_cells_and_outputs(show):
    outputs = [
        {"output_type": "stream", "text": ["one\n", "two\n"]},
        {"data": {"text/html": "<table><tr><td>cell 7</td></tr></table>"}},
        {"data": {"image/png": base64.b64encode(png(12, 9)).decode()}},
        {"output_type": "error", "traceback": ["\x1b[31mValueError\x1b[0m: no level"]},
    ]
    for output in outputs[1:3]:
        output["output_type"] = "display_data"
    notebook = {
        "nbformat": 4,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Levels\n", "of *rivers*"]},
            {
                "cell_type": "code",
                "execution_count": 3,
                "source": "import duckdb",
                "outputs": outputs,
            },
        ],
    }
    page = show("levels.ipynb", json.dumps(notebook).encode())
    expect(page.get_by_role("heading", name="Levels", exact=True)).to_be_visible()
    expect(page.get_by_text("[3]")).to_be_visible()
    expect(page.locator(".hljs-keyword")).to_have_text("import")
    expect(page.get_by_role("region", name="Output 1 of cell 2")).to_have_text("one two ")
    frame = page.frame_locator("iframe[title='Output 2 of cell 2']")
    expect(frame.get_by_text("cell 7")).to_be_visible()
    expect(page.get_by_role("img", name="Output 3 of cell 2")).to_be_visible()
    expect(page.get_by_role("region", name="Output 4 of cell 2")).to_have_text(
        "ValueError: no level"
    )


@pytest.mark.slow  # web/tests/preview/map
def test_a_map_is_moved_and_its_features_are_selected(show):
    square = [[5, 45], [15, 45], [15, 55], [5, 55], [5, 45]]
    hole = [[9, 49], [11, 49], [11, 51], [9, 51], [9, 49]]
    features = [
        {
            "type": "Feature",
            "properties": {"name": "Basin", "area": 7},
            "geometry": {"type": "Polygon", "coordinates": [square, hole]},
        },
        {
            "type": "Feature",
            "properties": {"name": "Gauge"},
            "geometry": {"type": "Point", "coordinates": [7, 47]},
        },
    ]
    content = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    page = show("basin.geojson", content)
    canvas = page.get_by_role("application", name=re.compile("Map of basin.geojson"))
    expect(page.get_by_text("2 features")).to_be_visible()
    box = canvas.bounding_box()
    middle = {"x": box["width"] / 2, "y": box["height"] / 2}
    selected = page.get_by_role("region", name="Selected feature")
    canvas.click(position=middle)  # in the hole
    expect(selected).to_have_count(0)
    canvas.click(position={"x": middle["x"], "y": box["height"] * 0.15})
    expect(selected).to_contain_text("Basin")
    expect(selected).to_contain_text("area")
    page.get_by_text("Features", exact=True).click()
    page.get_by_role("button", name="Gauge").click()
    expect(selected).to_contain_text("Gauge")
    before = canvas.screenshot()
    canvas.press("ArrowRight")
    canvas.press("+")
    eventually(lambda: canvas.screenshot() != before)
    page.get_by_role("button", name="Show all").click()


@pytest.mark.slow  # web/tests/preview/content.test.ts
def test_bytes_are_shown_as_digits(show):
    page = show("data.bin", bytes(range(256)) * 10)
    dump = page.get_by_role("region", name="The first bytes")
    expect(dump).to_contain_text("00000040  40 41 42 43")
    expect(dump).to_contain_text("@ABCDEFGHIJKLMNO")
    expect(page.get_by_text("the first 1,024 bytes of 2.50 KiB")).to_be_visible()
    page = show("empty.bin", b"")
    expect(page.get_by_text("The object is empty")).to_be_visible()


@pytest.mark.slow  # web/tests/preview/kinds.test.ts
def test_a_file_without_an_extension_is_text_if_it_reads_as_text(show):
    page = show("NOTES", "Pegelstände an der Spree\n".encode())
    expect(page.get_by_role("region", name="Content of NOTES")).to_contain_text("Pegelstände")


def test_a_file_that_is_too_large_for_its_preview_says_so(show):
    page = show("large.ipynb", b" " * (21 << 20))
    expect(page.get_by_role("alert")).to_contain_text("at most 20.0 MiB")


@pytest.mark.slow
def test_no_preview_keeps_anybody_from_using_it(page, repository, axe):
    notebook = {
        "nbformat": 4,
        "cells": [
            {
                "cell_type": "code",
                "source": "level = 7",
                "outputs": [
                    {"output_type": "stream", "text": "seven"},
                    {"output_type": "display_data", "data": {"text/html": "<p>seven</p>"}},
                    {"output_type": "error", "traceback": ["ValueError"]},
                ],
            }
        ],
    }
    place = {"type": "Point", "coordinates": [7, 47]}
    files = {
        "gauges.parquet&sql=SELECT 1": written(lambda stream: pq.write_table(gauges(), stream)),
        "code.py": b"import duckdb  # the engine\n\nclass Level:\n    depth = 'deep', 7\n",
        "text.md": b"# Levels\n\n- [a](b)\n\n```sql\nSELECT 1 -- one\n```\n\n| a |\n|-|\n| b |\n",
        "page.html": b"<p>text</p>",
        "level.png": png(20, 20),
        "report.pdf": pdf(),
        "levels.ipynb": json.dumps(notebook).encode(),
        "basin.geojson": json.dumps(place).encode(),
        "data.bin": bytes(range(256)),
    }
    violations = []
    for path, content in files.items():
        repository.put(path.partition("&")[0], content)
        page.goto(f"/repositories/{repository.name}/object?ref=main&path={path}")
        settle(page)
        run, rendered = (
            page.get_by_role("button", name=name, exact=True) for name in ("Run", "Rendered")
        )
        if run.count():
            run.click()
            result = page.get_by_role("region", name="Result of the query")
            expect(result).to_be_visible(timeout=60_000)
        if rendered.count():
            rendered.click()
        expect(page.locator("main .loading, main [aria-busy=true]")).to_have_count(0)
        page.evaluate(axe)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            result = page.evaluate("axe.run({ include: ['main'], exclude: ['iframe'] })")
            for violation in result["violations"]:
                where = [node["html"][:200] for node in violation["nodes"][:2]]
                violations.append((path, scheme, violation["id"], where))
        page.set_viewport_size({"width": 320, "height": 700})
        wait_until(page, "document.documentElement.scrollWidth <= 320")
        page.set_viewport_size({"width": 1280, "height": 800})
    assert violations == []


@pytest.mark.slow  # pages/test_tables.py
def test_a_folder_with_a_delta_table_shows_its_rows_versions_and_partitions(
    page, repository, tmp_path
):
    write_deltalake(
        tmp_path, pa.table({"n": [1, 2, 3], "day": ["a", "a", "b"]}), partition_by=["day"]
    )
    DeltaTable(tmp_path).delete("n = 2")
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            repository.put(f"delays/{path.relative_to(tmp_path).as_posix()}", path.read_bytes())
    page.goto(f"/repositories/{repository.name}/objects?ref=main&path=delays/")
    table = page.get_by_role("region", name="Table in this folder")
    rows = table.get_by_role("region", name="First rows of the table").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(table.get_by_text("delta_table('lakefs://")).to_be_visible()
    table.get_by_text("Partitions", exact=True).click()
    expect(table.get_by_role("cell", name="b", exact=True).first).to_be_visible()
    table.get_by_label("Version").select_option("0")
    expect(rows).to_have_count(3)
    expect(page).to_have_url(re.compile("version=0"))
    repository.put("plain/metadata/notes.txt", b"no table")
    page.goto(f"/repositories/{repository.name}/objects?ref=main&path=plain/")
    expect(page.get_by_role("link", name="metadata/")).to_be_visible()
    expect(table).to_have_count(0)
