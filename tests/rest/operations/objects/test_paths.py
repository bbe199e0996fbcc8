"""Unusual paths are stored unchanged, byte by byte, or refused."""

from __future__ import annotations

from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

UNUSUAL = [
    "//",
    "/leading",
    "a//b",
    "a/../b",
    "..",
    ".",
    "./a",
    "trailing/",
    "per%cent",
    "%2F",
    "%",
    "a+b c",
    "a?b#c&d=e;f",
    "\N{WATER BUFFALO}/\N{DROPLET}",
    "e\N{COMBINING ACUTE ACCENT}",
    "tab\tnewline\n",
    "nul\0",
    "\x7f\x1b[31m",
    "back\\slash",
    '"quotes"',
    "<&>\N{LINE SEPARATOR}",
    "\N{REPLACEMENT CHARACTER}",
    "x" * 1024,
    "é" * 512,
    "_lakefs/x",
]


@pytest.fixture(scope="module")
def home(new_repository):
    return f"/repositories/{new_repository()}"


@pytest.mark.parametrize("path", UNUSUAL, ids=ascii)
@pytest.mark.sample(8)
def test_unusual_paths_are_stored_unchanged(api, home, path):
    content = path.encode()
    query = f"path={quote(path, safe='')}"
    created = api.post(f"{home}/branches/main/objects?{query}", content=content)
    assert (created.status_code, created.json()["path"]) == (201, path)
    assert api.get(f"{home}/refs/main/objects?{query}").content == content
    assert api.get(f"{home}/refs/main/objects/stat?{query}").json()["path"] == path
    assert api.head(f"{home}/refs/main/objects?{query}").status_code == 200
    listing = api.get(f"{home}/refs/main/objects/ls", params={"prefix": path, "amount": 1})
    assert listing.json()["results"][0]["path"] == path


def test_unusual_paths_are_committed_and_listed(api, repository):
    home = f"/repositories/{repository}"
    wanted = sorted(UNUSUAL, key=str.encode)
    for path in UNUSUAL:
        api.post(f"{home}/branches/main/objects?path={quote(path, safe='')}", content=b"x")
    diff = api.get(f"{home}/branches/main/diff", params={"amount": 1000}).json()["results"]
    assert [item["path"] for item in diff] == wanted
    assert api.post(f"{home}/branches/main/commits", json={"message": "x"}).status_code == 201
    listing = api.get(f"{home}/refs/main@/objects/ls", params={"amount": 1000}).json()["results"]
    assert [item["path"] for item in listing] == wanted
    body = {"paths": UNUSUAL}
    assert api.post(f"{home}/branches/main/objects/delete", json=body).json() == {"errors": []}
    assert api.get(f"{home}/refs/main/objects/ls").json()["results"] == []


@pytest.mark.parametrize("path", ["x" * 1025, "é" * 513], ids=["ascii", "accents"])
def test_a_path_of_1025_bytes_is_refused(api, home, path):
    refused = api.post(f"{home}/branches/main/objects", params={"path": path}, content=b"x")
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("argument path: ")


@pytest.mark.parametrize("query", ["path=%FF", "path=a%ED%A0%80", "path=%C3"])
def test_a_path_that_is_not_utf8_is_refused(api, home, query):
    for response in (
        api.post(f"{home}/branches/main/objects?{query}", content=b"x"),
        api.get(f"{home}/refs/main/objects?{query}"),
        api.delete(f"{home}/branches/main/objects?{query}"),
    ):
        assert response.status_code == 400
        assert response.json() == {
            "message": 'parameter "path" in query has an error: value is not UTF-8'
        }


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(path=st.text(min_size=1, max_size=60))
def test_any_text_is_a_path_unless_it_has_surrogates(api: httpx2.Client, home: str, path: str):
    query = f"path={quote(path, safe='', errors='surrogatepass')}"
    created = api.post(f"{home}/branches/main/objects?{query}", content=b"x")
    if any("\ud800" <= character <= "\udfff" for character in path):
        assert created.status_code == 400
    else:
        assert (created.status_code, created.json()["path"]) == (201, path)
        assert api.get(f"{home}/refs/main/objects/stat?{query}").json()["path"] == path


@pytest.mark.parametrize(
    "name", ["a%20b", "%00", "%F0%9F%98%80", "a%2Fb", "..%2f..", "~", "@{x}", "%"]
)
@pytest.mark.parametrize("collection", ["branches", "tags", "commits", "refs"])
@pytest.mark.sample(11)
def test_unusual_names_in_urls_are_client_errors(api, home, collection, name):
    suffix = "/commits" if collection == "refs" else ""
    response = api.get(f"{home}/{collection}/{name}{suffix}")
    assert response.status_code in {400, 404}
    assert set(response.json()) == {"message"}
