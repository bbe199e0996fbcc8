"""The page that tests use one after the other has nothing of the tests before."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from support.browser.conditions import is_limited
from support.browser.kept_page import KeptPage


@pytest.fixture
def kept(site):
    return KeptPage(f"{site.url}/favicon.svg")


def test_what_a_test_leaves_is_taken_away(open_page, site, kept):
    page = open_page(site)
    size = page.viewport_size
    kept.watch(page)
    page.goto("/repositories")
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    page.evaluate("() => { localStorage.a = 'b'; sessionStorage.a = 'b'; }")
    page.set_viewport_size({"width": 320, "height": 700})
    page.emulate_media(color_scheme="dark")
    kept.give_back(page, clean=kept.is_clean(page))
    if is_limited(page):  # with `--throttle`, or `--latency`
        assert kept.take() is None
        return
    assert kept.take() is page
    assert page.context.cookies() == []
    assert page.viewport_size == size
    page.goto("/repositories")
    expect(page.get_by_label("Access key ID")).to_be_visible()
    left = "() => [localStorage.a, sessionStorage.a, matchMedia('(prefers-color-scheme: dark)')]"
    assert page.evaluate(f"({left})().map(each => String(each?.matches ?? each))") == [
        "undefined",
        "undefined",
        "false",
    ]


@pytest.mark.slow  # the fixture of these tests alone
def test_a_page_with_more_than_that_is_closed(open_page, site, kept):
    for change in (
        lambda page: page.route("**/*", lambda route: route.continue_()),
        lambda page: page.context.route("**/*", lambda route: route.continue_()),
        lambda page: page.on("request", lambda _: None),
        lambda page: page.context.new_page(),
        lambda page: page.context.new_cdp_session(page),
        lambda page: page.expose_function("given", lambda: 1),
    ):
        page = open_page(site)
        kept.watch(page)
        change(page)
        kept.give_back(page, clean=kept.is_clean(page))
        assert page.is_closed()
        assert kept.take() is None
