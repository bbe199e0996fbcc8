"""Archives over HTTP: one response with a length, of readable objects only."""

from __future__ import annotations

import io
import tarfile

import pytest


@pytest.fixture
def place(api, repository):
    for path in ("a.csv", "deep/b", "deep/e/c"):
        url = f"/repositories/{repository}/branches/main/objects"
        assert api.post(url, params={"path": path}, content=path.encode()).status_code == 201
    return f"/repositories/{repository}/refs/main/objects/archive"


def files(response):
    assert response.status_code == 200, response.text
    with tarfile.open(fileobj=io.BytesIO(response.content)) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive if each.isreg()}


def test_objects_and_folders_are_one_file_to_download(api, repository, place):
    response = api.get(place, params={"path": ["a.csv", "deep/"]})
    assert files(response) == {"a.csv": b"a.csv", "deep/b": b"deep/b", "deep/e/c": b"deep/e/c"}
    assert int(response.headers["content-length"]) == len(response.content)
    assert response.headers["content-type"] == "application/x-tar"
    name = f"{repository}-main.tar"
    assert response.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in response.headers["content-security-policy"]
    assert files(api.get(place, params={"path": ""})) == files(response)


def test_the_name_of_the_file_has_no_characters_of_the_reference(api, place):
    hostile = place.replace("/main/", "/main@/")
    staged = api.get(hostile, params={"path": "a.csv"})
    assert staged.status_code == 404  # nothing is committed
    response = api.get(place.replace("/main/", "/main$/"), params={"path": "a.csv"})
    assert response.headers["content-disposition"].endswith('-main-.tar"')


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({}, 400),
        ({"path": "absent"}, 404),
        ({"path": "absent/"}, 404),
        ({"path": ["a.csv", "absent"]}, 404),
        ({"path": "/"}, 404),
    ],
)
def test_what_cannot_be_archived_is_said_before_anything_is_sent(api, place, params, status):
    response = api.get(place, params=params)
    assert response.status_code == status
    assert response.json()["message"]


def test_an_unsafe_path_is_refused(api, repository, place):
    url = f"/repositories/{repository}/branches/main/objects"
    assert api.post(url, params={"path": "deep/../../x"}, content=b"x").status_code == 201
    response = api.get(place, params={"path": "deep/"})
    assert response.status_code == 400
    assert "'deep/../../x' is not a valid path of a file" in response.json()["message"]
