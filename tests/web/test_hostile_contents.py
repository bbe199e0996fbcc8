"""Contents that try to run scripts, to send requests or to replace the page: nothing happens."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from support.browser.conditions import settle

from .conftest import new_repository

CANARY = "window.canary = (window.canary || 0) + 1; parent.canary = 1; top.canary = 1"
ELSEWHERE = "http://elsewhere.invalid"

HTML = f"""
<p id="root">harmless words</p>
<script>{CANARY}</script>
<img src=x onerror="{CANARY}">
<svg onload="{CANARY}"><script>{CANARY}</script><animate onbegin="{CANARY}" attributeName=x dur=1s>
<use href="data:image/svg+xml,<svg id=x><script>{CANARY}</script></svg>#x">
</svg>
<math><mtext><table><mglyph><style><img src=x onerror="{CANARY}"></style></mglyph></table></math>
<iframe srcdoc="<script>{CANARY}</script>"></iframe><iframe src="javascript:{CANARY}"></iframe>
<object data="javascript:{CANARY}"></object><embed src="javascript:{CANARY}">
<a href="javascript:{CANARY}">a link</a> <a href="JaVa&#9;script:{CANARY}">another</a>
<form action="{ELSEWHERE}"><input name=secret autofocus onfocus="{CANARY}"><button>Send</form>
<meta http-equiv="refresh" content="0;url={ELSEWHERE}/meta">
<link rel=stylesheet href="{ELSEWHERE}/style.css"><base href="{ELSEWHERE}/">
<style>@import "{ELSEWHERE}/import.css"; body {{ display: none !important }}</style>
<img src="{ELSEWHERE}/image.png"><video src="{ELSEWHERE}/v.mp4" autoplay></video>
<div style="background: url({ELSEWHERE}/background); position: fixed; inset: 0">cover</div>
<input id="attributes"><img name="body"><form id="documentElement"></form>
<template><script>{CANARY}</script></template><noscript><img src=x onerror="{CANARY}"></noscript>
"""

MARKDOWN = f"""
# harmless words

{HTML}

[a link](javascript:{CANARY.replace(" ", "%20")}) [data](data:text/html,<script>{CANARY}</script>)
[upper](JAVASCRIPT:{quote(CANARY)}) <javascript:{quote(CANARY)}> [vb](vbscript:x)
![image]({ELSEWHERE}/pixel.png) ![relative](//elsewhere.invalid/pixel.png)
![svg](data:image/svg+xml;base64,{base64.b64encode(b"<svg onload=alert(1)>").decode()})

```html
<script>{CANARY}</script>
```

```"><img src=x onerror="{CANARY}">
code
```
"""

SVG = f"""<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="{CANARY}">
<script>{CANARY}</script><image href="{ELSEWHERE}/pixel.png"/>
<foreignObject width="40" height="40"><body xmlns="http://www.w3.org/1999/xhtml">
<script>{CANARY}</script><img src="{ELSEWHERE}/foreign.png"/></body></foreignObject>
<rect width="40" height="40" fill="teal"/></svg>"""

NOTEBOOK = {
    "nbformat": 4,
    "metadata": {"language_info": {"name": f'"><img src=x onerror="{CANARY}">'}},
    "cells": [
        {"cell_type": "markdown", "source": MARKDOWN},
        {
            "cell_type": "code",
            "source": HTML,
            "execution_count": f"<script>{CANARY}</script>",
            "outputs": [
                {"output_type": "display_data", "data": {"text/html": HTML}},
                {"output_type": "display_data", "data": {"image/svg+xml": SVG}},
                {
                    "output_type": "display_data",
                    "data": {"image/png": f'" onerror="{CANARY}'},
                },
                {
                    "output_type": "display_data",
                    "data": {"application/javascript": CANARY, "text/plain": HTML},
                },
                {"output_type": "display_data", "data": {"text/markdown": MARKDOWN}},
                {"output_type": "error", "traceback": [HTML]},
                None,
                {"output_type": "stream", "text": {"toString": "x"}},
            ],
        },
        "no cell",
    ],
}

GEOJSON = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": HTML, HTML: HTML, "__proto__": {"canary": 1}},
            "geometry": {"type": "Point", "coordinates": [7, 51]},
        },
        {"type": "Feature", "properties": 5, "geometry": {"type": "LineString"}},
    ],
}

CSV = f'"{CANARY}",=cmd()\n"<img src=x onerror=canary=1>","<script>{CANARY}</script>"\n'

PDF_SCRIPT = f"app.alert\\(1\\); {CANARY}"


def pdf():
    content = b"BT /F1 20 Tf 40 100 Td (harmless words) Tj ET"
    action = f"/AA << /O << /S /URI /URI ({ELSEWHERE}) >> >> >>"
    more = f"/Resources << /Font << /F1 5 0 R >> >> {action}"
    matrix = f"/FontMatrix [1 2 3 4 5 (1; {CANARY})]"  # was run as a script: CVE-2024-4367
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS ({PDF_SCRIPT}) >> >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R {more}",
        f"<< /Length {len(content)} >>\nstream\n{content.decode()}\nendstream",
        f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica {matrix} >>",
    ]
    written = b"%PDF-1.4\n"
    places = []
    for number, text in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF"
    return written + end.encode()


FILES = {
    "README.md": MARKDOWN.encode(),
    "page.html": HTML.encode(),
    "drawing.svg": SVG.encode(),
    "notebook.ipynb": json.dumps(NOTEBOOK).encode(),
    "map.geojson": json.dumps(GEOJSON).encode(),
    "table.csv": CSV.encode(),
    "code.js": (CANARY + "\n" + HTML + "</code></pre>" + HTML).encode(),
    "code.py": (HTML * 3).encode(),
    "text.txt": HTML.encode(),
    "document.pdf": pdf(),
    "picture.png": HTML.encode(),
    "unknown.bin": b"\0" + HTML.encode(),
    f"folder/<img src=x onerror='{CANARY.replace('/', '')}'>.md": MARKDOWN.encode(),
    "folder/javascript:alert(1).csv": CSV.encode(),
}


@pytest.fixture
def browser(chromium):
    """Chromium itself, whose viewers open files that its headless shell only downloads."""
    with chromium.driven() as browser:
        yield browser


@pytest.fixture
def watched(open_page, site):
    """A page that must not run anything: no canary, no dialog, no request elsewhere."""
    page = open_page(site)
    events = []
    page.on("dialog", lambda dialog: (events.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("popup", lambda popup: events.append(f"popup: {popup.url}"))
    page.context.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((site.url, "data:", "blob:", "about:"))
            else events.append(f"request: {request.url}")
        ),
    )
    yield page
    assert page.evaluate("window.canary") is None
    for frame in page.frames:
        # the second while it is loaded
        assert frame is page.main_frame or frame.url in {"about:srcdoc", "about:blank", ""}
    assert page.evaluate("Object.prototype.canary") is None
    assert events == []
    assert page.url.startswith(site.url)
    # while HTML is parsed to be sanitised, in a document that shows nothing, the browser says what
    # its policy would refuse
    refused = [each for each in open_page.problems if "Content Security Policy" in each]
    assert refused == open_page.problems
    open_page.problems.clear()


@pytest.fixture(scope="module")
def hostile(api):
    """A repository that all tests only look at."""
    with new_repository(api) as repository:
        for path, content in FILES.items():
            repository.put(path, content)
        yield repository


@pytest.mark.parametrize("path", FILES)
@pytest.mark.sample(4)
def test_nothing_in_a_preview_runs(watched, hostile, path):
    watched.goto(f"/repositories/{hostile.name}/object?ref=main&path={quote(path, safe='')}")
    expect(watched.get_by_role("link", name="Download").first).to_be_visible()
    settle(watched)
    for name in ("Rendered", "Source", "Rendered"):
        button = watched.get_by_role("button", name=name, exact=True)
        if button.count():
            button.click()
            settle(watched)
    features = watched.get_by_text("Features", exact=True)
    if features.count():
        features.click()
        watched.locator("details button").first.click()
        expect(watched.get_by_role("region", name="Selected feature")).to_contain_text("onerror")
    for link in watched.locator(".card a[href]").all():
        target = link.get_attribute("href")
        assert target.startswith(("/repositories/", "/api/v1/", "http", "mailto:")), target


def test_nothing_in_a_readme_below_a_listing_runs(watched, hostile):
    watched.goto(f"/repositories/{hostile.name}/objects?ref=main")
    expect(watched.get_by_text("README.md").first).to_be_visible()
    settle(watched)


def test_markdown_is_shown_without_what_it_must_not_have(watched, hostile):
    watched.goto(f"/repositories/{hostile.name}/object?ref=main&path=README.md")
    prose = watched.locator(".prose")
    expect(prose.get_by_role("heading", name="harmless words")).to_be_visible()
    # raw HTML is text
    expect(prose).to_contain_text("<script>window.canary")
    forbidden = (
        "script, style, form, input, iframe, object, embed, base, link, meta, video, [style]"
    )
    assert prose.locator(forbidden).count() == 0
    assert prose.locator("[id], [name], [onerror], [onload], [onclick]").count() == 0
    assert prose.locator("a[href^='javascript' i], a[href^='data' i]").count() == 0


def test_html_is_rendered_in_a_frame_without_rights(watched, hostile):
    watched.goto(f"/repositories/{hostile.name}/object?ref=main&path=page.html")
    watched.get_by_role("button", name="Rendered").click()
    frame = watched.locator("iframe")
    expect(frame).to_have_attribute("sandbox", "")
    inner = watched.frame_locator("iframe")
    expect(inner.get_by_text("harmless words")).to_be_visible()
    assert inner.locator("script, style, form, input, iframe, img, [style], [id]").count() == 0


@pytest.mark.parametrize(
    ("path", "content_type"), [("page.html", "text/html"), ("drawing.svg", "image/svg+xml")]
)
def test_an_object_that_is_opened_itself_runs_nothing(
    open_page, site, repository, path, content_type
):
    """It is a document of an opaque origin then, whose requests the browser refuses."""
    url = f"{repository.path}/branches/main/objects"
    headers = {"Content-Type": content_type}
    response = repository.api.post(url, params={"path": path}, content=FILES[path], headers=headers)
    assert response.status_code == 201
    page = open_page(site)
    failures = []
    page.on("requestfailed", lambda request: failures.append((request.url, request.failure)))
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    response = page.goto(f"/api/v1{repository.path}/refs/main/objects?path={path}")
    settle(page, scripts=False)
    assert response.headers["content-type"] == content_type
    assert page.evaluate("window.canary") is None
    assert page.evaluate("window.origin") == "null"
    assert {failure for _, failure in failures} <= {"csp"}
    assert {url for url in requests if url.startswith(ELSEWHERE)} <= {url for url, _ in failures}
    open_page.problems.clear()


LOAD = """([kind, url]) => new Promise(done => {
  if (kind === "worker") {
    try { new Worker(url).onerror = () => done("refused") } catch { done("refused") }
    return
  }
  const element = document.createElement(kind === "script" ? "script" : "link")
  if (kind === "script") element.src = url
  else { element.rel = "stylesheet"; element.href = url }
  element.onload = () => done("loaded")
  element.onerror = () => done("refused")
  document.head.append(element)
})"""


@pytest.mark.parametrize(
    ("kind", "path", "content_type"),
    [
        ("script", "own.js", "text/javascript"),
        ("worker", "own.js", "text/javascript"),
        ("style", "own.css", "text/css"),
    ],
)
def test_an_object_is_no_script_or_style_of_the_page(
    open_page, site, repository, kind, path, content_type
):
    content = CANARY if path == "own.js" else "body { display: none }"
    url = f"{repository.path}/branches/main/objects"
    headers = {"Content-Type": content_type}
    stored = repository.api.post(url, params={"path": path}, content=content, headers=headers)
    assert stored.status_code == 201
    page = open_page(site)
    page.goto("/repositories")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    place = f"/api/v1{repository.path}/refs/main/objects?path={path}"
    assert page.evaluate(LOAD, [kind, place]) == "refused"
    assert page.evaluate("window.canary") is None
    assert any("Content Security Policy" in problem for problem in open_page.problems)
    open_page.problems.clear()


def test_scripts_cannot_read_the_session(page):
    page.goto("/repositories")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    assert page.evaluate("document.cookie") == ""
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "eyJ" not in stored
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
