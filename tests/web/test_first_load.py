"""What the first page costs, and what its headers allow."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from support.browser.conditions import settle

MAX_BYTES = 120_000


def test_first_load_is_small_and_from_the_server_alone(new_page, site, repository):
    page = new_page
    repository.put("a.csv")
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    sizes, urls = {}, {}
    session.on(
        "Network.responseReceived", lambda e: urls.update({e["requestId"]: e["response"]["url"]})
    )
    session.on(
        "Network.loadingFinished", lambda e: sizes.update({e["requestId"]: e["encodedDataLength"]})
    )
    page.goto(f"/repositories/{repository.name}/objects?ref=main")
    expect(page.get_by_role("link", name="a.csv")).to_be_visible()
    settle(page)
    assert all(url.startswith(f"{site.url}/") for url in urls.values())
    loaded = sum(size for request, size in sizes.items() if "/api/v1/" not in urls.get(request, ""))
    assert 10_000 < loaded < MAX_BYTES


@pytest.mark.parametrize("path", ["/", "/auth/login", "/repositories/none/objects"])
def test_inline_scripts_do_not_run(open_page, site, path):
    page = open_page(site, signed_in=False)
    page.goto(path)
    expect(page.get_by_label("Access key ID")).to_be_visible()
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.attacked = 1";
          document.body.append(script);
          const image = document.createElement("img");
          image.setAttribute("onerror", "window.attacked = 1");
          image.src = "/nothing";
          document.body.append(image);
        }"""
    )
    settle(page)
    assert page.evaluate("window.attacked") is None
    refused = [problem for problem in open_page.problems if "Content Security Policy" in problem]
    assert len(refused) >= 2
    open_page.problems.clear()
