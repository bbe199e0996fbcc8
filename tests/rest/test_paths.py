"""Paths as people really have them: stored under exactly the bytes asked for, or refused."""

from __future__ import annotations

from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

STRANGE = [
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


@pytest.mark.parametrize("path", STRANGE, ids=ascii)
def test_unusual_paths_are_stored_unchanged(api, home, path):
    content = path.encode()
    query = f"path={quote(path, safe='')}"
    made = api.post(f"{home}/branches/main/objects?{query}", content=content)
    assert (made.status_code, made.json()["path"]) == (201, path)
    assert api.get(f"{home}/refs/main/objects?{query}").content == content
    assert api.get(f"{home}/refs/main/objects/stat?{query}").json()["path"] == path
    assert api.head(f"{home}/refs/main/objects?{query}").status_code == 200
    listing = api.get(f"{home}/refs/main/objects/ls", params={"prefix": path, "amount": 1})
    assert listing.json()["results"][0]["path"] == path


def test_strange_paths_through_a_commit(api, repository):
    home = f"/repositories/{repository}"
    wanted = sorted(STRANGE, key=str.encode)
    for path in STRANGE:
        api.post(f"{home}/branches/main/objects?path={quote(path, safe='')}", content=b"x")
    diff = api.get(f"{home}/branches/main/diff", params={"amount": 1000}).json()["results"]
    assert [item["path"] for item in diff] == wanted
    assert api.post(f"{home}/branches/main/commits", json={"message": "x"}).status_code == 201
    listing = api.get(f"{home}/refs/main@/objects/ls", params={"amount": 1000}).json()["results"]
    assert [item["path"] for item in listing] == wanted
    body = {"paths": STRANGE}
    assert api.post(f"{home}/branches/main/objects/delete", json=body).json() == {"errors": []}
    assert api.get(f"{home}/refs/main/objects/ls").json()["results"] == []


@pytest.mark.parametrize("path", ["x" * 1025, "é" * 513], ids=["ascii", "accents"])
def test_1025_bytes_are_too_many(api, home, path):
    refused = api.post(f"{home}/branches/main/objects", params={"path": path}, content=b"x")
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("argument path: ")


@pytest.mark.parametrize("query", ["path=%FF", "path=a%ED%A0%80", "path=%C3"])
def test_what_is_no_utf8_is_refused(api, home, query):
    for answer in (
        api.post(f"{home}/branches/main/objects?{query}", content=b"x"),
        api.get(f"{home}/refs/main/objects?{query}"),
        api.delete(f"{home}/branches/main/objects?{query}"),
    ):
        assert answer.status_code == 400
        assert answer.json() == {
            "message": 'parameter "path" in query has an error: value is not UTF-8'
        }


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(path=st.text(min_size=1, max_size=60))
def test_any_text(api: httpx2.Client, home: str, path: str):
    query = f"path={quote(path, safe='', errors='surrogatepass')}"
    made = api.post(f"{home}/branches/main/objects?{query}", content=b"x")
    if any("\ud800" <= character <= "\udfff" for character in path):
        assert made.status_code == 400
    else:
        assert (made.status_code, made.json()["path"]) == (201, path)
        assert api.get(f"{home}/refs/main/objects/stat?{query}").json()["path"] == path


@pytest.mark.parametrize(
    "name", ["a%20b", "%00", "%F0%9F%98%80", "a%2Fb", "..%2f..", "~", "@{x}", "%"]
)
@pytest.mark.parametrize("place", ["branches", "tags", "commits", "refs"])
def test_strange_names_in_the_address(api, home, place, name):
    suffix = "/commits" if place == "refs" else ""
    answer = api.get(f"{home}/{place}/{name}{suffix}")
    assert answer.status_code in {400, 404}
    assert set(answer.json()) == {"message"}
