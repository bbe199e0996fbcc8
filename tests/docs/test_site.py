"""`make docs` builds all pages, with a search that works from the files and loads nothing from
elsewhere; what is broken ends the build.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
from support.checkout import ROOT, run_git
from support.services.chromium import headless_shell_program, running_chromium
from support.session.environments import environment

sys.path.insert(0, str(ROOT / "tools" / "docs_site"))

import navigation

pytestmark = pytest.mark.slow

PAGES = ["README.md", navigation.INDEX]
PAGES += [page.path for pages in navigation.parts().values() for page in pages]
PAGES += [page.path for page in navigation.notes()]
COPIED = ("*.md", "docs", "tools", "deploy", "src", "kernel", "Makefile", "LICENSE", "*.txt")
TAG = re.compile(r"<(?:script|img|iframe|source|link|object|video|audio)\b[^>]*>")
ADDRESS = re.compile(r"""(?:src|href|srcset|data)=["']?((?:https?:)?//[^"' >]+)""")
IN_STYLE = re.compile(r"""(?:@import|url\()\s*["']?((?:https?:)?//[^"')]+)""")


def make_docs(checkout, folder):
    """Builds the site of a checkout."""
    return subprocess.run(
        ["make", "docs", f"SITE={folder}"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    environment("docs", "docs")
    folder = tmp_path_factory.mktemp("docs") / "site"
    made = make_docs(ROOT, folder)
    assert made.returncode == 0, made.stderr
    return folder


def test_each_page_is_built_and_stands_beside_its_text(site):
    for page in PAGES:
        html = (site / page).with_suffix(".html").read_text(encoding="utf-8")
        assert all(f'<span class="caption-text">{part}</span>' in html for part in navigation.PARTS)
        assert (site / page).read_bytes() == (ROOT / page).read_bytes()
    assert (site / "llms.txt").read_text(encoding="utf-8") == navigation.llms_text()
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()


def test_no_page_loads_anything_from_elsewhere(site):
    loaded = set()
    for path in site.rglob("*.html"):
        for tag in TAG.findall(path.read_text(encoding="utf-8")):
            loaded.update(ADDRESS.findall(tag))
    for path in site.rglob("*.css"):
        loaded.update(IN_STYLE.findall(path.read_text(encoding="utf-8")))
    assert loaded == set()
    assert ADDRESS.findall('<script src="https://cdn.example/a.js">')
    assert IN_STYLE.findall("@import url('//fonts.example/css')")


def test_the_search_index_has_each_page(site):
    script = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(script.removeprefix("Search.setIndex(").removesuffix(")"))
    assert {page.removesuffix(".md") for page in PAGES} == set(index["docnames"])
    for word, name in (
        ("sweep", "docs/design/0011-quarantine"),
        ("retent", "docs/garbage-collection"),
    ):
        assert index["docnames"].index(name) in index["terms"][word]  # words by their stems


def test_a_browser_finds_a_page_from_the_files_alone(site):
    program = headless_shell_program()
    if program is None:
        pytest.skip("Chromium is not installed")
    with running_chromium(program) as chromium, chromium.driven() as browser:
        page = browser.new_page()
        requested = []
        page.on("request", lambda request: requested.append(request.url))
        page.goto(f"{site.as_uri()}/search.html?q=quarantine")
        page.get_by_role("link", name="Garbage collection", exact=True).last.wait_for()
        page.locator("#search-results li a", has_text="Garbage collection").first.click()
        page.locator("h1", has_text="Garbage collection").wait_for()
        assert [url for url in requested if not url.startswith("file:")] == []
        assert any("searchindex.js" in url for url in requested)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("docs/extra.md", "# A page in no part\n", "docs/extra"),
        ("docs/glossary.md", "# Glossary\n\n[Gone](gone.md)\n", "gone.md"),
        ("docs/glossary.md", "# Glossary\n\n[Gone](s3.md#no-such-heading)\n", "no-such-heading"),
    ],
    ids=["page", "link", "heading"],
)
def test_what_is_broken_ends_the_build(tmp_path, file, text, message):
    environment("docs", "docs")
    checkout = tmp_path / "checkout"
    for name in run_git(ROOT, "ls-files", "-co", "--exclude-standard", *COPIED).splitlines():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, checkout / name)
    (checkout / "examples").symlink_to("src/anabranch/examples")
    (checkout / file).write_text(text, encoding="utf-8")
    made = make_docs(checkout, tmp_path / "site")
    assert made.returncode != 0
    (warning,) = [line for line in made.stderr.splitlines() if "WARNING" in line]
    assert message in warning


def test_a_folder_that_is_not_a_site_is_left_as_it_is(tmp_path):
    environment("docs", "docs")
    (tmp_path / "kept").write_text("mine", encoding="utf-8")
    made = make_docs(ROOT, tmp_path)
    assert made.returncode != 0
    assert "is not a site" in made.stderr
    assert (tmp_path / "kept").read_text(encoding="utf-8") == "mine"
