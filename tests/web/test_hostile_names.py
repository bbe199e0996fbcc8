"""Names and texts of users are shown as they are: they run nothing and lead nowhere else."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from support.browser.conditions import settle, wait_until
from support.repository_calls import call

SCRIPT = "<script>window.attacked = 1</script>"
IMAGE = "<img src=x onerror='window.attacked = 1'>"
TOLD = re.compile("no such|nothing at|not found|not valid", re.IGNORECASE)
PATHS = (
    IMAGE,
    SCRIPT.replace("/", "\u2215"),
    "javascript:window.attacked = 1",
    "'\"`${window.attacked = 1}{{7*7}}",
    "a b+c&d=e%2F#?.txt",
    "%3Cscript%3E",
    "..",
    "\u202egpj.exe",
    "ünïcode 海 🌊",
    "x" * 900,
)


@pytest.fixture
def hostile(repository):
    """A repository whose paths, messages and metadata attack the pages."""
    repository.put("README.md", f"# Title\n\n{IMAGE}\n{SCRIPT}\n".encode())
    repository.put("page.html", f"<p>{SCRIPT}{IMAGE}</p>".encode())
    for path in PATHS:
        repository.put(f"{IMAGE}/{path}", b"content")
    commit = {"message": f"{IMAGE}{SCRIPT}", "metadata": {IMAGE: SCRIPT}}
    url = f"{repository.path}/branches/main/commits"
    assert repository.api.post(url, json=commit).is_success
    return repository


def rows(page):
    return page.get_by_role("grid", name="Objects").locator("[data-row] a")


def assert_unharmed(page, repository):
    assert page.evaluate("window.attacked") is None
    assert page.url.split("?", 1)[0].endswith(("/object", "/objects", "/changes"))
    assert f"/repositories/{repository.name}/" in page.url


def test_hostile_paths_are_listed_as_text(page, hostile):
    page.goto(f"/repositories/{hostile.name}/objects?ref=main&path={quote(IMAGE + '/', safe='')}")
    expect(rows(page)).to_have_count(len(PATHS))
    shown = set(rows(page).all_text_contents())
    assert {text.strip() for text in shown} == {path.strip() for path in PATHS}
    assert_unharmed(page, hostile)


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
@pytest.mark.sample(2)
def test_hostile_path_leads_to_its_object(page, hostile, path):
    page.goto(f"/repositories/{hostile.name}/objects?ref=main&path={quote(IMAGE + '/', safe='')}")
    rows(page).nth(sorted(PATHS, key=str.encode).index(path)).click()
    expect(page.get_by_role("link", name="Download").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").first.click()
    assert download.value.path().read_bytes() == b"content"
    page.get_by_role("link", name="Information").click()
    expect(page.get_by_role("definition").first).to_have_text(f"{IMAGE}/{path}".strip())
    assert_unharmed(page, hostile)


def test_hostile_texts_of_commits_and_files_run_nothing(page, hostile):
    page.goto(f"/repositories/{hostile.name}/objects?ref=main")
    expect(page.get_by_role("region", name="README.md")).to_contain_text("Title")
    assert_unharmed(page, hostile)
    for path in ("README.md", "page.html"):
        page.goto(f"/repositories/{hostile.name}/object?ref=main&path={path}&tab=history")
        expect(page.get_by_role("table")).to_contain_text(IMAGE)
        assert_unharmed(page, hostile)
        page.goto(f"/repositories/{hostile.name}/object?ref=main&path={path}")
        expect(page.get_by_role("link", name="Download").first).to_be_visible()
        settle(page)
        assert_unharmed(page, hostile)


def test_hostile_changes_are_shown_and_reverted(page, hostile):
    for path in PATHS:
        hostile.put(f"{IMAGE}/{path}", b"changed")
    page.goto(f"/repositories/{hostile.name}/changes?ref=main")
    links = page.get_by_role("treegrid").get_by_role("link")
    expect(links).to_have_count(len(PATHS))
    page.get_by_role("button", name=f"Actions on {IMAGE}/", exact=True).click()
    page.get_by_role("menuitem", name="Revert this folder").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert").click()
    expect(page.get_by_text("No uncommitted changes")).to_be_visible()
    assert_unharmed(page, hostile)
    assert hostile.changes() == {}


def test_hostile_address_is_an_error_that_is_told(page, hostile):
    for address in (
        f"/repositories/{quote(IMAGE)}/objects",
        f"/repositories/{hostile.name}/objects?ref={quote(IMAGE)}",
        f"/repositories/{hostile.name}/object?ref=main&path={quote(SCRIPT)}",
        "/repositories/%ff%fe/objects",
        "/no/such/page",
    ):
        page.goto(address)
        expect(page.get_by_text(TOLD)).not_to_have_count(0)
        assert page.evaluate("window.attacked") is None


@pytest.mark.slow  # a size of the page
def test_long_names_fit_a_narrow_page(open_page, site, repository):
    name, more = "n" * 200, "m" * 200
    repository.branch(name)
    repository.put(f"{more}/{more}", branch=name)
    repository.commit(more, branch=name)
    pull = {"title": more, "source_branch": name, "destination_branch": "main"}
    pull = call(repository, "POST", "pulls", pull)["id"]
    page = open_page(site, viewport={"width": 320, "height": 640})
    for view in (
        f"objects?ref={name}",
        f"changes?ref={name}",
        f"commits?ref={name}",
        f"query?ref={name}&sql={more}",
        f"compare?ref=main&compare={name}&merge=1",
        f"pulls/{pull}?merge=1",
    ):
        page.goto(f"/repositories/{repository.name}/{view}")
        settle(page)
        wait_until(page, "document.documentElement.scrollWidth === 320")
