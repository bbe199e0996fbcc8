"""The page at `/` and at the paths that only it knows."""

from __future__ import annotations

import re

import pytest

from anabranch.http.request_head import RequestHead
from anabranch.web.application import Application
from anabranch.web.security_headers import style_hash

PAGE = b"<!doctype html><title>Anabranch</title>"
NAVIGATION = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def application(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_bytes(PAGE)
    (tmp_path / "assets/page-DfW4kQxa.js").write_bytes(b"1")
    return Application(tmp_path)


def respond(application, path, *, method="GET", headers=NAVIGATION):
    head = RequestHead.sent(method, path, "", headers, scheme="http", client="")
    request = application.request(head)
    return None if request is None else request.respond_early()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/auth/login",
        "/repositories",
        "/repositories/flights/objects",
        "/repositories/fl%3Cscript%3E/compare",
        "/no/such/view",
        "/index.html",
        "/apis",
    ],
)
def test_a_navigation_gets_the_page(application, path):
    response = respond(application, path)
    assert (response.status, response.body) == (200, PAGE)


@pytest.mark.parametrize(
    "path", ["/assets/page-old.js", "/assets/", "/api/v2/repositories", "/api"]
)
def test_paths_of_programs_and_of_old_builds_are_not_the_page(application, path):
    assert respond(application, path) is None


@pytest.mark.parametrize("accept", ["", "*/*", "application/json"])
def test_an_unknown_path_is_not_the_page_for_programs(application, accept):
    assert respond(application, "/flights/main/a.csv", headers={"accept": accept}) is None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_the_page_is_only_read(application, method):
    assert respond(application, "/", method=method) is None


def test_any_client_gets_the_root(application):
    assert respond(application, "/", headers={}).body == PAGE


def test_the_page_allows_scripts_of_this_server_only(application):
    policy = dict(respond(application, "/").headers)["Content-Security-Policy"]
    first, own_files = policy.split(", ")
    directives = {name: sources for name, *sources in (each.split() for each in first.split("; "))}
    assert directives["default-src"] == ["'none'"]
    for kind in ("script-src", "style-src", "connect-src", "worker-src"):
        assert directives[kind] == ["'self'"]
    limited = dict(each.split() for each in own_files.split("; "))
    kinds = ("script-src", "style-src", "worker-src")  # not of objects, elsewhere on the server
    assert limited == dict.fromkeys(kinds, "*:*/assets/")
    assert directives["frame-ancestors"] == directives["base-uri"] == ["'none'"]
    assert "unsafe" not in policy


def test_a_checkout_without_a_build_says_how_to_build(tmp_path):
    response = respond(Application(tmp_path / "none"), "/", headers={})
    assert b"<code>make web</code>" in response.body
    style = re.search(b"<style>(.*)</style>", response.body)[1].decode()
    policy = dict(response.headers)["Content-Security-Policy"]
    assert f"style-src {style_hash(style)};" in policy
    assert respond(Application(tmp_path / "none"), "/repositories") is None
