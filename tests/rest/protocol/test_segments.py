"""References in URL paths that are escaped once, as by most clients, or twice, as by Go's."""

from __future__ import annotations

import http.client
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.rest.protocol.segments import read_segment


def once(text):
    return quote(text, safe="")


def twice(text):
    return once(once(text))


@pytest.fixture(scope="module")
def home(api, new_repository):
    """A repository with two commits and a branch."""
    home = f"/repositories/{new_repository()}"
    for number in (1, 2):
        api.post(f"{home}/branches/main/objects?path=f{number}", content=b"x")
        created = api.post(f"{home}/branches/main/commits", json={"message": f"commit {number}"})
        assert created.status_code == 201
    api.post(f"{home}/branches", json={"name": "dev", "source": "main"})
    return home


@pytest.fixture
def raw(server, api):
    """Sends a request without changing its path, and returns the status."""

    def send(method, path, body=None):
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        request = next(api.auth.sync_auth_flow(api.build_request("GET", "/")))
        headers = {"Authorization": request.headers["authorization"]}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, f"/api/v1{path}", body, headers)
        status = connection.getresponse().status
        connection.close()
        return status

    return send


# every operation that reads a reference in its path
READS = [
    "/commits/{}",
    "/refs/{}/commits",
    "/refs/{}/objects/ls",
    "/refs/{}/objects?path=f1",
    "/refs/{}/objects/stat?path=f1",
    "/refs/{}/objects/underlyingProperties?path=f1",
    "/refs/{}/diff/main",
    "/refs/main/diff/{}",
    "/refs/{}/merge/dev",
]


@pytest.mark.parametrize("path", READS)
def test_an_expression_escaped_twice_is_resolved(raw, home, path):
    for spelling in ("main^1", "main%5E1", "main%255E1", "main%255e1", "main~1", "main%257E1"):
        assert raw("GET", home + path.format(spelling)) == 200, spelling
    assert raw("GET", home + path.format("main%25255E1")) == 404


def test_a_merge_source_may_be_escaped_twice(api, raw, home):
    created = api.post(f"{home}/branches", json={"name": "merged", "source": "main"})
    assert created.status_code == 201
    assert raw("POST", f"{home}/refs/main%255E1/merge/merged", '{"allow_empty": true}') == 200


NAMES = [
    "tagü",
    "a;b",
    "a+b",
    "a&b=c",
    "50%",
    "50%off",
    "x%41",
    "p%20q",
    "v1,2",
    "a@b",
    "%zz",
    "水",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(4)
def test_a_tag_is_found_and_deleted_escaped_once_or_twice(api, raw, home, name):
    for escape in (once, twice):
        created = api.post(f"{home}/tags", json={"id": name, "ref": "main"})
        assert created.status_code == 201, created.text
        assert raw("GET", f"{home}/tags/{escape(name)}") == 200
        if "@" not in name:  # which begins a view
            assert raw("GET", f"{home}/commits/{escape(name)}~1") == 200
        assert raw("DELETE", f"{home}/tags/{escape(name)}") == 204
        assert raw("GET", f"{home}/tags/{escape(name)}") == 404


def test_a_branch_name_with_a_scope_may_be_escaped_twice(api, raw, home):
    assert api.post(f"{home}/branches", json={"name": "me:x", "source": "main"}).status_code == 201
    assert raw("GET", f"{home}/branches/me%253Ax") == 200
    assert raw("DELETE", f"{home}/branches/me%253Ax") == 204


def test_query_parameters_are_decoded_once(api, home):
    assert api.put(f"{home}/branches/dev/hard_reset?ref=main%255E1").status_code == 404
    for path in ("a%5Eb", "a^b", "a%255Eb"):
        api.post(f"{home}/branches/dev/objects?path={once(path)}", content=path.encode())
    for path in ("a%5Eb", "a^b", "a%255Eb"):
        response = api.get(f"{home}/refs/dev/objects?path={once(path)}")
        assert response.text == path


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_a_name_without_percent_signs_survives_a_second_escape(name):
    if "%" in name:
        return
    assert read_segment("ref", name) == name
    read = read_segment("tag", once(name))
    assert read in {name, once(name)}


@pytest.mark.parametrize("text", ["%41", "%zz", "%", "ü%5E", "%FF", "%00", "^%5E", "%2F", "%20"])
def test_text_that_no_client_escapes_twice_is_not_decoded_again(text):
    assert read_segment("ref", f"main{text}") == f"main{text}"


def test_user_names_may_hold_spaces():
    assert read_segment("userId", "jane%20doe") == "jane doe"
    assert read_segment("tag", "jane%20doe") == "jane%20doe"
