"""Properties of all operations: order of checks, headers, malformed bodies."""

from __future__ import annotations

import json

import httpx2
import pytest

NO_ENDPOINT = {"message": "invalid API endpoint"}
UNKNOWN_USER = {"message": "error authenticating request"}


@pytest.fixture(scope="module")
def anonymous(server):
    with httpx2.Client(base_url=server.api) as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nope"),
        ("GET", ""),
        ("GET", "/repositories/"),
        ("GET", "/repositories//branches"),
        ("GET", "/repositories/x/branches/main/extra/long"),
        ("PATCH", "/repositories"),
        ("PUT", "/healthcheck"),
        ("HEAD", "/repositories"),
        ("OPTIONS", "/repositories"),
    ],
)
def test_unknown_paths_and_methods_are_not_found(api, anonymous, method, path):
    for client in (api, anonymous):
        response = client.request(method, path)
        assert response.status_code == 404
        if method != "HEAD":
            assert response.json() == NO_ENDPOINT
            assert response.headers["content-type"] == "application/json"


def test_authentication_comes_before_validation(api, anonymous):
    for client, status in ((anonymous, 401), (api, 400)):
        response = client.get("/repositories/x/refs/main/objects/stat")
        assert response.status_code == status
        response = client.post("/repositories", json={})
        assert response.status_code == status
    response = anonymous.post("/repositories/x/branches", json={"name": "a", "source": "b"})
    assert (response.status_code, response.json()) == (401, UNKNOWN_USER)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/repositories"),
        ("GET", "/repositories/x"),
        ("GET", "/config"),
        ("GET", "/auth/groups"),
        ("POST", "/repositories/x/branches/main/objects?path=a"),
        ("GET", "/repositories/x/refs/main/objects?path=a"),
    ],
)
def test_anonymous_requests_are_unauthorized(anonymous, method, path):
    for headers in ({}, {"authorization": "Basic eDp5"}, {"authorization": "Bearer x"}):
        response = anonymous.request(method, path, headers=headers)
        assert (response.status_code, response.json()) == (401, UNKNOWN_USER)


def test_head_errors_have_only_a_status(anonymous):
    response = anonymous.head("/repositories/x/refs/main/objects?path=a")
    assert (response.status_code, response.content) == (401, b"")


@pytest.mark.parametrize(
    ("content", "headers", "reason"),
    [
        (b"", {}, "value is required but missing"),
        (b"abc", {}, "failed to decode request body"),
        (b'{"name":', {}, "failed to decode request body"),
        (b"\xff\xfe", {}, "failed to decode request body"),
        (b"[]", {}, "value must be an object"),
        (b'{"name":1,"source":"main"}', {}, 'Error at "/name": value must be a string'),
        (b'{"name":"a","source":"main"}', {"content-type": "text/plain"}, "unexpected value"),
        (b"[" * 100_000, {}, ""),
    ],
)
def test_an_invalid_body_is_refused_with_the_reason(api, repository, content, headers, reason):
    headers = {"content-type": "application/json"} | headers
    url = f"/repositories/{repository}/branches"
    response = api.post(url, content=content, headers=headers)
    assert response.status_code == 400
    assert response.json()["message"].startswith("request body has an error: ")
    assert reason in response.json()["message"]


def test_a_body_over_the_limit_has_status_413(api, repository):
    body = json.dumps({"name": "x" * 9_000_000, "source": "main"}).encode()
    url = f"/repositories/{repository}/branches"
    response = api.post(url, content=body, headers={"content-type": "application/json"})
    assert response.status_code == 413


def test_a_large_body_is_accepted(api, repository):
    body = {"metadata": {str(number): "x" * 1000 for number in range(2000)}}
    url = f"/repositories/{repository}/metadata"
    assert api.post(url, json=body).status_code == 204
    assert api.get(url).json() == body["metadata"]


@pytest.mark.parametrize("path", ["/healthcheck", "/repositories", "/nope"])
def test_responses_have_request_ids(api, path):
    first, second = api.get(path), api.get(path)
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    named = api.get(path, headers={"x-request-id": "my-own-1"})
    assert named.headers["x-request-id"] == "my-own-1"
    invalid = api.get(path, headers={"x-request-id": "y" * 200})
    assert invalid.headers["x-request-id"] != "y" * 200


def test_errors_have_a_kind_and_a_hint(api, repository):
    response = api.post(f"/repositories/{repository}/branches/main/commits", json={"message": "x"})
    assert response.json() == {"message": "commit: no changes"}
    assert response.headers["x-anabranch-kind"] == "no_changes"
    assert response.headers["x-anabranch-hint"]
