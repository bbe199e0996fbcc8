"""axe-core finds nothing wrong on any page, in light and dark, wide and as narrow as 320 pixels."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def shown(shared_repository):
    """A repository with something on each page."""
    repository = shared_repository
    repository.put("README.md", b"# The sea\n\n*Text*, `code`, [a link](data/a.csv).\n")
    repository.put("data/a.csv", b"place,metres\nMariana,10935\n")
    repository.commit("First depths")
    repository.put("data/b.csv", b"place,metres\nJava,7192\n")
    repository.delete("data/a.csv")
    return repository


PAGES = {
    "sign in": ("/auth/login", ""),
    "repositories": ("/repositories", ""),
    "create repository": ("/repositories", "button:Create repository"),
    "data": ("{repository}/objects?ref=main", ""),
    "empty folder": ("{repository}/objects?ref=main&path=none/", ""),
    "missing reference": ("{repository}/objects?ref=none", ""),
    "upload": ("{repository}/objects?ref=main", "button:Upload"),
    "actions on an object": ("{repository}/objects?ref=main", "button:Actions on README.md"),
    "references": ("{repository}/objects?ref=main", "button:Reference: main"),
    "palette": ("{repository}/objects?ref=main", "key:Control+k"),
    "object": ("{repository}/object?ref=main&path=README.md", ""),
    "history of an object": ("{repository}/object?ref=main&path=README.md&tab=history", ""),
    "information": ("{repository}/object?ref=main&path=README.md&tab=information", ""),
    "metadata": ("{repository}/object?ref=main&path=README.md&tab=metadata", ""),
    "changes": ("{repository}/changes?ref=main", ""),
    "commit": ("{repository}/changes?ref=main", "button:Commit"),
    "not found": ("/no/such/page", ""),
}


@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_violations_and_fits_the_width(open_page, site, shown, axe, name):
    path, action = PAGES[name]
    page = open_page(site, signed_in=name != "sign in")
    page.goto(path.format(repository=f"/repositories/{shown.name}"))
    expect(page.locator("h1").first).to_be_attached()
    page.wait_for_load_state("networkidle")
    act(page, action)
    page.evaluate(axe)
    violations = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        result = page.evaluate(
            "rules => axe.run(document, { runOnly: rules, resultTypes: ['violations'] })", RULES
        )
        for violation in result["violations"]:
            where = [node["html"] for node in violation["nodes"][:3]]
            violations.append((scheme, violation["id"], where))
    assert violations == []
    for width in (1920, 640, 320):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def act(page, action):
    kind, _, name = action.partition(":")
    if kind == "button":
        page.get_by_role("button", name=name, exact=True).first.click()
        expect(page.locator("dialog, [popover]").first).to_be_visible()
    elif kind == "key":
        page.keyboard.press(name)
        expect(page.locator("dialog").first).to_be_visible()
