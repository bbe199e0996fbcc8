"""A browser that is signed in at a real server, and repositories to look at."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect
from support.browser.conditions import limit_network, limit_processor, watch_requests
from support.browser.kept_page import KeptPage
from support.browser.page_functions import can_run_page_functions, running_page_functions
from support.browser.snippet_programs import running_interpreter, snippet_environment
from support.services.chromium import (
    chromium_program,
    headless_shell_program,
    running_driver,
)
from support.session.sizes import WEEKLY

from anabranch.testing.server import running_server
from anabranch.web.application import STATIC_FOLDER

PROJECT = Path(__file__).parent.parent.parent
TIMEOUT_MS = 30_000
UNIMPORTANT = "Failed to load resource"  # a response with an error, which the page tells of

expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="session")
def built():
    """Skips what needs the built pages where they are not there."""
    if not (STATIC_FOLDER / "index.html").exists():
        pytest.skip("the web interface is not built: `make web` does that")


@pytest.fixture(scope="session")
def driver(built, pytestconfig):  # noqa: ARG001
    """A running Playwright."""
    if chromium_program() is None:
        pytest.skip("Chromium is not installed")
    with running_driver(pause_ms=pytestconfig.getoption("pause")) as driver:
        yield driver


@pytest.fixture(scope="session")
def chromium(driver):
    """Chromium itself, for what its headless shell cannot show."""
    return driver.start(chromium_program())


@pytest.fixture(scope="session")
def headless_shell(driver):
    """Chromium's headless shell."""
    return driver.start(headless_shell_program())


@pytest.fixture
def browser(headless_shell):
    """The browser that tests drive."""
    with headless_shell.driven() as browser:
        yield browser


@pytest.fixture(scope="session")
def site(built, tmp_path_factory):  # noqa: ARG001
    """A server that gives presigned URLs, by which long files are uploaded in parts."""
    env = {
        "ANABRANCH_ACTIONS_WEBHOOK_ALLOW": "127.0.0.1",
        "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": str(tmp_path_factory.getbasetemp()),
    }
    with running_server(tmp_path_factory.mktemp("site"), env=env) as server:
        yield server


@pytest.fixture(scope="session")
def api(site):
    """A client of the API, which makes and checks what the pages show."""
    with httpx2.Client(base_url=site.api, auth=site.auth, timeout=60) as client:
        yield client


class Problems(list):
    """What the browser says of errors in pages."""

    def listen(self, page):
        page.on("console", self._note)
        page.on("pageerror", self._note_error)

    def ignore(self, page):
        page.remove_listener("console", self._note)
        page.remove_listener("pageerror", self._note_error)

    def _note(self, message):
        if message.type in {"error", "warning"} and UNIMPORTANT not in message.text:
            self.append(message.text)

    def _note_error(self, error):
        self.append(str(error))


@pytest.fixture
def open_page(browser, request):
    """Returns a function that opens a page at a server, signed in unless told otherwise.

    A page must not have errors or violate its Content-Security-Policy: what the browser says of
    that is in the function's `problems`, which a test that provokes it empties.
    """
    contexts = []
    problems = Problems()
    latency_ms = request.config.getoption("latency")
    processor_rate = request.config.getoption("throttle")

    def open_at(server, *, signed_in=True, kept=False, **options):
        context = browser.new_context(
            base_url=server.url, permissions=["clipboard-read", "clipboard-write"], **options
        )
        context.set_default_timeout(TIMEOUT_MS)
        if not kept:
            contexts.append(context)
        if signed_in:
            sign_in(context, server)
        page = context.new_page()
        watch_requests(page)
        if latency_ms:
            limit_network(page, latency_ms=latency_ms)
        if processor_rate > 1:
            limit_processor(page, rate=processor_rate)
        problems.listen(page)
        return page

    open_at.problems = problems
    yield open_at
    for context in contexts:
        context.close()
    assert problems == []


def sign_in(context, server):
    key, secret = server.auth
    keys = {"access_key_id": key, "secret_access_key": secret}
    assert context.request.post("/api/v1/auth/login", data=keys).ok


@pytest.fixture(scope="session")
def kept_page(site):
    """The page that tests share: see `support.browser.kept_page`."""
    return KeptPage(f"{site.url}/favicon.svg")


@pytest.fixture
def new_page(open_page, site):
    """A page that is signed in, with a cache of its own."""
    return open_page(site)


@pytest.fixture
def page(open_page, site, kept_page, request):
    """A page that is signed in. With late responses or slow scripts, and once a week, it is new."""
    options = request.config.option
    if WEEKLY or options.latency or options.throttle > 1:
        yield open_page(site)
        return
    failures = request.session.testsfailed
    page = kept_page.take()
    if page is None:
        page = open_page(site, kept=True)
    else:
        sign_in(page.context, site)
        open_page.problems.listen(page)
    kept_page.watch(page)
    yield page
    clean = request.session.testsfailed == failures and kept_page.is_clean(page)
    open_page.problems.ignore(page)  # what it says of requests that end as it goes elsewhere
    kept_page.give_back(page, clean=clean)


class Sandbox:
    """A repository of a test, changed by the API."""

    def __init__(self, api, name):
        self.api = api
        self.name = name
        self.path = f"/repositories/{name}"

    def put(self, path, content=b"content", branch="main"):
        self._done(
            self.api.post(
                f"{self.path}/branches/{branch}/objects",
                params={"path": path},
                content=content,
                headers={"Content-Type": "application/octet-stream"},
            )
        )

    def get(self, path, ref="main"):
        response = self.api.get(f"{self.path}/refs/{ref}/objects", params={"path": path})
        return self._done(response).content

    def delete(self, path, branch="main"):
        self._done(self.api.delete(f"{self.path}/branches/{branch}/objects", params={"path": path}))

    def commit(self, message="A commit", branch="main"):
        url = f"{self.path}/branches/{branch}/commits"
        return self._done(self.api.post(url, json={"message": message})).json()

    def branch(self, name, source="main"):
        self._done(self.api.post(f"{self.path}/branches", json={"name": name, "source": source}))

    def head(self, ref="main"):
        return self._done(self.api.get(f"{self.path}/commits/{ref}")).json()

    def paths(self, ref="main"):
        url = f"{self.path}/refs/{ref}/objects/ls"
        listed = self._done(self.api.get(url, params={"amount": 1000})).json()
        return [item["path"] for item in listed["results"]]

    def changes(self, branch="main"):
        """Returns the kind of each uncommitted change by path."""
        url = f"{self.path}/branches/{branch}/diff"
        listed = self._done(self.api.get(url, params={"amount": 1000})).json()
        return {item["path"]: item["type"] for item in listed["results"]}

    @staticmethod
    def _done(response):
        assert response.is_success, response.text
        return response


@contextmanager
def new_repository(api):
    name = f"web-{uuid.uuid4().hex[:12]}"
    creation = {"name": name, "storage_namespace": f"local://{name}"}
    response = api.post("/repositories", json=creation)
    assert response.is_success, response.text
    yield Sandbox(api, name)
    api.delete(f"/repositories/{name}")


@pytest.fixture
def repository(api):
    """An empty repository of the test's own."""
    with new_repository(api) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def shared_repository(api):
    """A repository of the module's own."""
    with new_repository(api) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, which finds what keeps people from using a page."""
    return (PROJECT / "web/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def page_functions():
    """Functions of the page that write snippets."""
    if not can_run_page_functions():
        pytest.skip("Node.js and the packages of web/ are needed: `make web` installs them")
    with running_page_functions() as functions:
        yield functions


@pytest.fixture(scope="session")
def snippet_variables(site, tmp_path_factory):
    """The environment of programs that snippets are for."""
    return snippet_environment(site, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def interpreter(snippet_variables):
    """A Python that runs snippets."""
    with running_interpreter(snippet_variables) as python:
        yield python
