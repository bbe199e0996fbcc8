"""Versions of objects over HTTP: reads of one version while the branch changes."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest


@pytest.fixture
def places(repository):
    root = f"/repositories/{repository}"
    return f"{root}/branches/main/objects", f"{root}/refs/main/objects"


def put(api, places, path, content, **headers):
    created = api.post(places[0], params={"path": path}, content=content, headers=headers)
    assert created.status_code == 201
    return created.json()


def pinned(api, places, path, **headers):
    response = api.get(places[1], params={"path": path, "pin": "true"}, headers=headers)
    assert response.status_code in {200, 206}
    return response


def test_a_version_is_read_although_the_branch_has_another_one(api, places):
    stats = put(api, places, "a", b"first", **{"x-lakefs-meta-by": "ada"})
    opened = pinned(api, places, "a", Range="bytes=0-1")
    assert opened.content == b"fi"
    assert json.loads(urlsafe_b64decode(opened.headers["X-Anabranch-Object"])) == stats
    put(api, places, "a", b"second")
    params = {"path": "a", "version": opened.headers["X-Anabranch-Version"]}
    assert api.get(places[1], params=params).content == b"first"
    part = api.get(places[1], params=params, headers={"Range": "bytes=2-"})
    assert (part.status_code, part.content) == (206, b"rst")
    assert api.delete(places[0], params={"path": "a"}).status_code == 204
    assert api.get(places[1], params=params).content == b"first"


def test_responses_have_a_version_only_if_it_is_asked_for(api, places):
    put(api, places, "a", b"1")
    headers = api.get(places[1], params={"path": "a"}).headers
    assert "X-Anabranch-Version" not in headers
    assert "X-Anabranch-Object" not in headers


def test_long_properties_are_left_out(api, places):
    put(api, places, "a", b"1", **{"x-lakefs-meta-text": "x" * 2000})
    opened = pinned(api, places, "a")
    assert "X-Anabranch-Object" not in opened.headers
    assert len(opened.headers["X-Anabranch-Version"]) < 400


def test_a_version_is_valid_for_its_path_and_reference(api, places, new_repository):
    put(api, places, "a", b"1")
    put(api, places, "b", b"2")
    version = pinned(api, places, "a").headers["X-Anabranch-Version"]
    other = f"/repositories/{new_repository()}/refs/main/objects"
    changed = urlsafe_b64encode(b"\0" + urlsafe_b64decode(version)[1:]).decode()
    dev = places[1].replace("/main/", "/main@/")
    wrong = [("b", version, places[1]), ("a", changed, places[1])]
    wrong += [("a", version, other), ("a", version, dev)]
    for path, token, place in [*wrong, ("a", "x", places[1]), ("a", "é", places[1])]:
        refused = api.get(place, params={"path": path, "version": token})
        assert (refused.status_code, refused.headers["X-Anabranch-Kind"]) == (
            400,
            "invalid_version",
        ), path


def test_metadata_that_headers_cannot_hold_are_stored_as_they_are(api, places):
    metadata = {"Größe": "1\n2", "x": ""}
    encoded = urlsafe_b64encode(json.dumps(metadata).encode()).decode()
    stats = put(api, places, "a", b"1", **{"X-Anabranch-Metadata": encoded})
    assert stats["metadata"] == metadata
    for text in ("e30", "eyJhIjogMX0=", "W10="):
        refused = api.post(
            places[0], params={"path": "b"}, content=b"1", headers={"X-Anabranch-Metadata": text}
        )
        assert refused.status_code == 400, text
        assert "X-Anabranch-Metadata" in refused.json()["message"]
