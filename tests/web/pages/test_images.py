"""Images: built from a Lakefile, listed, and looked at."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import expect


@pytest.fixture
def source(repository):
    """A repository with two objects, one of them in a folder."""
    repository.put("a.csv", b"a\n")
    repository.put("raw/b.csv", b"bb\n")
    repository.commit()
    return repository


@pytest.fixture
def tag(api):
    tag = f"v{uuid.uuid4().hex[:8]}"
    yield tag
    api.delete(f"/images/{tag}")


def build(api, tag, lakefile):
    response = api.post(f"/images/{tag}", json={"lakefile": lakefile})
    assert response.status_code == 201, response.text


def test_image_is_built_from_a_lakefile_after_a_dry_run(page, api, source, tag):
    page.goto("/images/build")
    page.get_by_label("Lakefile").fill(f"FROM lakefs://{source.name}/main\nLABEL author=jane\n")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("2 objects, 5 B")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="Line 1: ")).to_contain_text("is pinned")
    assert api.get(f"/images/{tag}").status_code == 404
    page.get_by_label("Tag").fill(tag)
    page.get_by_role("button", name="Build image").click()
    expect(page.get_by_role("heading", name=tag)).to_be_visible()
    image = api.get(f"/images/{tag}").json()
    assert (image["objects"], image["labels"]) == (2, {"author": "jane"})
    page.get_by_role("link", name="Browse the data").click()
    expect(page.get_by_role("link", name="a.csv")).to_be_visible()


@pytest.mark.parametrize(
    ("lakefile", "line", "message"),
    [
        ("# base\n\nFETCH lakefs://x/main\n", 3, "expected FROM, ADD, LABEL or ARG"),
        ("FROM lakefs://sea/main/raw/\n", 1, "expected a whole reference"),
        ("ARG WHAT\nADD lakefs://x/main/${WHAT}/ a/\n", 1, "WHAT"),
    ],
)
@pytest.mark.sample(1)
def test_errors_of_a_lakefile_are_told_at_their_lines(page, lakefile, line, message):
    page.goto("/images/build")
    field = page.get_by_label("Lakefile")
    field.fill(lakefile)
    page.get_by_role("button", name="Dry run").click()
    problem = page.get_by_role("listitem").filter(has_text=f"Line {line}: ")
    expect(problem).to_contain_text(message)
    expect(field).to_have_attribute("aria-invalid", "true")
    problem.get_by_role("button").click()
    selected = field.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)")
    assert selected == lakefile.splitlines()[line - 1]
    field.fill("FROM scratch\n")
    expect(problem).to_have_count(0)


@pytest.mark.slow  # one refusal of the API
def test_strict_build_refuses_branches(page, api, source, tag):
    page.goto("/images/build")
    page.get_by_label("Lakefile").fill(f"FROM lakefs://{source.name}/main\n")
    page.get_by_label("Tag").fill(tag)
    page.get_by_label("Strict").check()
    page.get_by_role("button", name="Build image").click()
    expect(page.get_by_text(re.compile("Line 1: .*main")).first).to_be_visible()
    assert api.get(f"/images/{tag}").status_code == 404


@pytest.mark.slow  # web/tests/pages/images/image-build.test.ts
def test_build_arguments_replace_their_names(page, api, source, tag):
    page.goto("/images/build")
    lakefile = f"ARG FOLDER\nADD lakefs://{source.name}/main/${{FOLDER}}/ data/\n"
    page.get_by_label("Lakefile").fill(lakefile)
    page.get_by_label("Tag").fill(tag)
    page.get_by_role("button", name="Add a key").click()
    page.get_by_role("textbox", name="Key 1").fill("FOLDER")
    page.get_by_role("textbox", name="Value 1").fill("raw")
    page.get_by_role("button", name="Build image").click()
    expect(page.get_by_role("heading", name=tag)).to_be_visible()
    sources = page.get_by_role("table", name="Sources of the image")
    expect(sources).to_contain_text("data/")
    assert api.get(f"/images/{tag}").json()["arguments"] == {"FOLDER": "raw"}


def test_image_tells_what_its_sources_are_pinned_to(page, api, source, tag):
    build(api, tag, f"FROM lakefs://{source.name}/main\n")
    head = source.head()["id"]
    page.goto(f"/images/tags/{tag}")
    page.get_by_role("link", name=f"Commit {head[:12]} of {source.name}").click()
    expect(page).to_have_url(re.compile(f"/{source.name}/commits/{head}$"))


def test_images_are_found_by_label_and_deleted(page, api, source, tag):
    label = f"job={tag}"
    build(api, tag, f"FROM lakefs://{source.name}/main\nLABEL {label}\n")
    build(api, f"{tag}-other", f"FROM lakefs://{source.name}/main\n")
    page.goto(f"/images?label={label}")
    table = page.get_by_role("table", name="Images")
    expect(table.locator("tbody tr")).to_have_count(1)
    table.get_by_role("button", name=f"Actions on {tag}", exact=True).click()
    page.get_by_role("menuitem", name="Delete image").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete image").click()
    expect(page.get_by_text("There is no such image")).to_be_visible()
    assert api.get(f"/images/{tag}").status_code == 404
    assert api.delete(f"/images/{tag}-other").is_success


@pytest.mark.slow  # web/tests/pages/images/image-build.test.ts
def test_lakefile_of_an_image_begins_another(page, api, source, tag):
    lakefile = f"FROM lakefs://{source.name}/main\n"
    build(api, tag, lakefile)
    page.goto(f"/images/tags/{tag}")
    page.get_by_role("link", name="Build another from it").click()
    expect(page.get_by_label("Lakefile")).to_have_value(lakefile)
