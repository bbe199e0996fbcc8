"""A page of another site, in the browser of somebody who is signed in: it can change nothing, read
nothing and show nothing of this server.
"""

from __future__ import annotations

import http.server
import threading

import pytest
from playwright.sync_api import expect
from support.browser.conditions import settle

PAGE = """<!doctype html><title>evil</title>
<form id=change method=post target=answer action="{url}/api/v1/repositories/{name}/branches"
 enctype="text/plain"><input name='{{"name":"forged","source":"main","x":"' value='"}}'></form>
<form id=upload method=post target=answer enctype="multipart/form-data"
 action="{url}/api/v1/repositories/{name}/branches/main/objects?path=forged">
<input name=content value=forged></form>
<form id=login method=post target=answer action="{url}/api/v1/auth/login" enctype="text/plain">
<input name='{{"access_key_id":"{key}","secret_access_key":"{secret}","x":"' value='"}}'></form>
<iframe name=answer></iframe><iframe id=app src="{url}/repositories"></iframe>
<img id=image src="{url}/api/v1/repositories/{name}/refs/main/objects?path=image.svg">
"""


@pytest.fixture
def evil(site, repository):
    """A page of another site: `localhost` is another than `127.0.0.1`."""
    key, secret = site.auth
    page = PAGE.format(url=site.url, name=repository.name, key=key, secret=secret).encode()

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def visited(open_page, site, repository, evil):
    """The page of the other site, visited by somebody who is signed in here."""
    repository.put("image.svg", b'<svg xmlns="http://www.w3.org/2000/svg"/>')
    page = open_page(site)
    page.goto("/repositories")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    page.goto(evil)
    settle(page)
    yield page
    open_page.problems.clear()  # the browser says what it refuses


def test_forms_of_another_site_change_nothing(visited, repository):
    for name in ("change", "upload"):
        sent = visited.expect_response(lambda response: "/api/v1/" in response.url, timeout=55_000)
        with sent as answer:
            visited.evaluate("name => document.getElementById(name).submit()", name)
        assert answer.value.status == 401
    assert repository.paths() == ["image.svg"]
    listed = repository.api.get(f"{repository.path}/branches").json()["results"]
    assert [each["id"] for each in listed] == ["main"]


def test_requests_of_another_site_change_and_read_nothing(visited, repository, site):
    base = f"{site.url}/api/v1{repository.path}"
    answers = visited.evaluate(
        """async (base) => {
          const attempt = (path, init) =>
            fetch(base + path, { credentials: "include", ...init })
              .then(async (response) => [response.type, response.status, await response.text()])
              .catch((error) => [error.name, 0, ""]);
          return [
            await attempt("/branches/main/objects?path=forged", {
              method: "POST", mode: "no-cors", body: "x" }),
            await attempt("/branches/main/commits", {
              method: "POST", body: "{}", headers: { "Content-Type": "application/json" } }),
            await attempt("/branches/main", { method: "DELETE" }),
            await attempt("/refs/main/objects?path=image.svg", {}),
            await attempt("/refs/main/objects?path=image.svg", { mode: "no-cors" }),
          ];
        }""",
        base,
    )
    assert [status for _, status, _ in answers] == [0] * 5
    assert "".join(text for _, _, text in answers) == ""
    assert repository.paths() == ["image.svg"]


def test_another_site_cannot_log_in_or_out(visited, site):
    with visited.expect_response(lambda response: "/auth/login" in response.url) as answer:
        visited.evaluate("document.getElementById('login').submit()")
    assert answer.value.status in {400, 403}
    before = visited.context.cookies()
    visited.evaluate("url => { location = url }", f"{site.url}/logout")
    visited.wait_for_url(f"{site.url}/**")
    assert visited.context.cookies() == before
    visited.goto(f"{site.url}/repositories")
    expect(visited.get_by_role("heading", name="Repositories")).to_be_visible()


def test_another_site_can_frame_no_page_and_load_no_object(visited):
    frame = visited.locator("#app").element_handle().content_frame()
    assert "chrome-error" in frame.url or frame.evaluate("document.body.childElementCount") == 0
    assert visited.evaluate("document.getElementById('image').naturalWidth") == 0


def test_a_link_of_another_site_leads_to_a_page_that_knows_its_user(visited, site, repository):
    visited.evaluate(
        "url => { location = url }", f"{site.url}/repositories/{repository.name}/objects"
    )
    expect(visited.get_by_text("image.svg").first).to_be_visible()
    assert visited.evaluate("window.opener") is None
